package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// deleteIntervals takes ranges out of a set. Each must be there as it is: nft 1.0.6 splits ranges of a set that joins them, but says then
// that the part does not exist. It deletes the elements that it takes for the kernel's, and adds all others of the set again: those
// that the set is declared with, which a first deletion finds and leaves, are the kernel's from then on.
func (c *intervalChecker) deleteIntervals(set *syntax.SetDecl, elements *syntax.Set) bool {
	toRanges(elements.Items)
	if set.AutoMerge {
		kept, _ := merge(withExisting(nil, elements))
		elements.Items = elements.Items[:0]
		for _, m := range kept {
			elements.Items = append(elements.Items, m.item)
		}
	}
	existing := c.tx.existing(set)
	if c.failsWithCatchall(set, existing, elements) {
		return false
	}
	asked := elements.Items
	elements.Items = nil
	deletion := deletion{list: existing.list, joins: set.AutoMerge}
	for _, item := range asked {
		if missing := deletion.find(item); missing != nil {
			existing.list = deletion.list
			return c.wrong("element does not exist", missing.Info().Loc)
		}
	}
	elements.Items = deletion.gone
	again := &syntax.Set{Common: elements.Common}
	for i := range deletion.list {
		if m := &deletion.list[i]; !m.kernel {
			again.Items, m.kernel = append(again.Items, syntax.Clone(m.item)), true
		}
	}
	existing.keep(deletion.list)
	if len(again.Items) > 0 {
		c.cmd.After = append(c.cmd.After, &syntax.Command{
			Op: syntax.OpAdd, Kind: syntax.KindElements, Loc: c.cmd.Loc, Handle: c.cmd.Handle, Set: set, Elements: again,
		})
	}
	return true
}

// failsWithCatchall refuses deletions of an element for all other keys, and any from a map with one.
func (c *intervalChecker) failsWithCatchall(set *syntax.SetDecl, existing *members, elements *syntax.Set) bool {
	at := slices.IndexFunc(elements.Items, isCatchall)
	if at >= 0 {
		return !c.wrong("chainwalk does not support deleting an element for all other keys from the intervals of "+set.Handle.Name+
			", where nft 1.0.6 fails", elements.Items[at].Info().Loc)
	}
	if isMap(set.Flags) && slices.ContainsFunc(existing.list, func(m member) bool { return isCatchall(m.item) }) {
		return !c.wrong("chainwalk does not support deleting intervals from "+set.Handle.Name+
			", which has an element for all other keys, where nft 1.0.6 fails", elements.Loc)
	}
	return false
}

// deletion looks for elements among those of a set, and takes away those that it finds.
type deletion struct {
	list []member
	gone []syntax.Expr
	// joins: the set has auto-merge.
	joins bool
	// ordered says that the list is in order, that no two elements begin at the same place, and that none is missing.
	ordered bool
}

// find takes an element out of the list. It returns one that is missing: this one, or one that an earlier deletion has not found.
func (d *deletion) find(item syntax.Expr) (missing syntax.Expr) {
	if !d.ordered {
		d.ordered = !slices.ContainsFunc(d.list, func(m member) bool { return m.missing })
		for i := 1; i < len(d.list) && d.ordered; i++ {
			d.ordered = byBeginning(d.list[i-1], d.list[i]) < 0
		}
	}
	wanted := member{item: item, missing: true}
	if d.ordered {
		if at, found := slices.BinarySearchFunc(d.list, wanted, byBeginning); found && sameEnds(d.list[at].item, item) {
			d.takes(at)
			return nil
		}
	}
	d.ordered = false
	d.list = slices.Insert(d.list, 0, wanted)
	d.sort()
	prev := -1
	for i := 0; i < len(d.list); i++ {
		switch m := d.list[i]; {
		case isCatchall(m.item):
			continue
		case !m.missing:
			prev = i
			continue
		case prev < 0:
			return m.item
		case !sameEnds(d.list[prev].item, m.item):
			if d.joins {
				d.cut(prev, i)
			}
			return m.item
		}
		d.list = slices.Delete(d.list, i, i+1)
		i--
		if d.takes(prev) {
			i--
		}
		prev = -1
	}
	return nil
}

// cut takes a part out of an element that has it, which is said to be missing nevertheless. What is left of the element is not the
// kernel's, and comes first in the list, what is behind the part comes last.
func (d *deletion) cut(from, part int) {
	m, gone := d.list[from], d.list[part].item
	begin, end, _ := endsOf(m.item)
	first, last, _ := endsOf(gone)
	before, behind := begin.Num.Cmp(first.Num), end.Num.Cmp(last.Num)
	if before > 0 || behind < 0 || before == 0 && behind == 0 {
		return
	}
	d.list = slices.Delete(d.list, part, part+1)
	d.list = slices.Delete(d.list, from, from+1)
	rest := member{item: syntax.Clone(m.item)}
	kept := elementOf(rest.item).Key.(*syntax.Range)
	if before < 0 && behind > 0 {
		tail := member{item: syntax.Clone(m.item)}
		elementOf(tail.item).Key.(*syntax.Range).Min = moved(last, last.Num.Next())
		d.list = append(d.list, tail)
	}
	if before < 0 {
		kept.Max = moved(first, first.Num.Previous())
	} else {
		kept.Min = moved(last, last.Num.Next())
	}
	d.list = slices.Insert(d.list, 0, rest)
}

func moved(v *syntax.Value, to syntax.Num) *syntax.Value {
	v = new(*v)
	v.Num = to
	return v
}

// takes takes an element away if it is the kernel's.
func (d *deletion) takes(at int) bool {
	m := d.list[at]
	if m.kernel {
		d.gone = append(d.gone, m.item)
		d.list = slices.Delete(d.list, at, at+1)
	}
	return m.kernel
}

func (d *deletion) sort() {
	slices.Reverse(d.list)
	slices.SortStableFunc(d.list, byBeginning)
}

func sameEnds(a, b syntax.Expr) bool {
	fromA, toA, _ := endsOf(a)
	fromB, toB, _ := endsOf(b)
	return fromA.Num == fromB.Num && toA.Num == toB.Num
}
