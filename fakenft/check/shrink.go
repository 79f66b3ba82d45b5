package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// deleteIntervals takes ranges out of a set. In one that joins intervals a part of a range may go: the whole range goes then, and what is
// left of it is added again by another command.
func (c *Checker) deleteIntervals(set *syntax.SetDecl, elements *syntax.Set) bool {
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
	existing := c.existing(set)
	have := existing.items()
	fresh := map[syntax.Expr]bool{}
	var gone []syntax.Expr
	for _, item := range elements.Items {
		left, removed, ok := c.cut(set, have, item, fresh)
		if !ok {
			return false
		}
		have = left
		if removed != nil && !fresh[removed] {
			gone = append(gone, removed)
		}
	}
	existing.set(have)
	var stay []syntax.Expr
	for _, item := range have {
		if fresh[item] {
			stay = append(stay, clone(item))
		}
	}
	elements.Items = gone
	if len(stay) > 0 {
		c.cmd.After = append(c.cmd.After, &syntax.Command{
			Op: syntax.OpAdd, Kind: syntax.KindElements, Loc: c.cmd.Loc, Handle: c.cmd.Handle, Set: set,
			Elements: &syntax.Set{Common: elements.Common, Items: stay},
		})
	}
	return true
}

// cut takes one range out of those of a set.
func (c *Checker) cut(set *syntax.SetDecl, have []syntax.Expr, item syntax.Expr, fresh map[syntax.Expr]bool) (left []syntax.Expr, gone syntax.Expr, ok bool) {
	from, to, isRange := endsOf(item)
	if !isRange {
		return have, item, true
	}
	at := slices.IndexFunc(have, func(other syntax.Expr) bool {
		a, b, ok := endsOf(other)
		return ok && a.Num.Cmp(from.Num) <= 0 && b.Num.Cmp(to.Num) >= 0
	})
	if at < 0 {
		return nil, nil, c.wrong("element does not exist", elementOf(item).Loc)
	}
	whole := have[at]
	a, b, _ := endsOf(whole)
	before, after := a.Num != from.Num, b.Num != to.Num
	if (before || after) && !set.AutoMerge {
		return nil, nil, c.wrong("element does not exist", elementOf(item).Loc)
	}
	left = slices.Clone(have[:at])
	if before {
		left = append(left, piece(whole, a.Num, from.Num.Previous(), fresh))
	}
	if after {
		left = append(left, piece(whole, to.Num.Next(), b.Num, fresh))
	}
	return append(left, have[at+1:]...), whole, true
}

// piece is an element with other ends.
func piece(of syntax.Expr, from, to syntax.Num, fresh map[syntax.Expr]bool) syntax.Expr {
	item := clone(of)
	r := elementOf(item).Key.(*syntax.Range)
	r.Min.(*syntax.Value).Num, r.Max.(*syntax.Value).Num = from, to
	fresh[item] = true
	return item
}
