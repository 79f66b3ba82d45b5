package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// deleteIntervals takes ranges out of a set. Each must be there as it is: nft 1.0.6 means to split ranges of a set that joins them, but
// says that the part does not exist.
func (c *intervalChecker) deleteIntervals(set *syntax.SetDecl, elements *syntax.Set) bool {
	toRanges(elements.Items)
	if set.AutoMerge {
		sortRanges(elements.Items)
		var all []member
		for _, item := range elements.Items {
			all = append(all, member{item: item})
		}
		kept, _ := merge(all)
		elements.Items = elements.Items[:0]
		for _, m := range kept {
			elements.Items = append(elements.Items, m.item)
		}
	}
	existing := c.tx.existing(set)
	have := slices.Clone(existing.items())
	gone := elements.Items
	if existing != nil && len(existing.missing) > 0 {
		gone = slices.Concat(gone, existing.missing)
		sortRanges(gone)
	}
	for i, item := range gone {
		from, to, isRange := endsOf(item)
		if !isRange {
			continue
		}
		at := slices.IndexFunc(have, func(other syntax.Expr) bool {
			a, b, ok := endsOf(other)
			return ok && a.Num == from.Num && b.Num == to.Num
		})
		if at < 0 {
			if existing != nil {
				existing.missing = slices.Clone(gone[i:])
				if existing.declared == nil {
					sortRanges(have)
					existing.list = have // what stands before is gone
				}
			}
			return c.wrong("element does not exist", item.Info().Loc)
		}
		have = slices.Delete(have, at, at+1)
	}
	if set.AutoMerge && existing != nil && existing.declared != nil && len(have) < len(existing.list) {
		return c.wrong("chainwalk does not support deleting elements that "+set.Handle.Name+
			", which joins its elements, is declared with in the same transaction", elements.Loc)
	}
	sortRanges(have)
	existing.set(have)
	if existing != nil {
		existing.declared = nil
	}
	return true
}
