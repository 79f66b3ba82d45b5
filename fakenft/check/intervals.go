package check

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// intervalChecker compares the elements of sets with intervals with each other and with those that are there.
type intervalChecker struct {
	*notes
	*state
	tx *transaction
}

// intervals makes ranges of all elements of a set, in order, and merges or compares them with those that the kernel has.
func (c *intervalChecker) intervals(set *syntax.SetDecl, elements *syntax.Set) bool {
	switch c.cmd.Op {
	case syntax.OpAdd, syntax.OpCreate, syntax.OpInsert, syntax.OpReplace:
		if set.AutoMerge {
			return c.autoMerge(set, elements)
		}
		return c.overlap(set, elements)
	case syntax.OpDelete:
		return c.deleteIntervals(set, elements)
	}
	return true
}

// toRanges makes the key of each element a Range. Names become numbers of 16 bytes whose first weighs most.
func toRanges(items []syntax.Expr) {
	for _, item := range items {
		el := elementOf(item)
		if el == nil {
			continue
		}
		switch key := el.Key.(type) {
		case *syntax.Prefix:
			from := key.Of.(*syntax.Value)
			to := new(*from)
			to.Num = from.Num.Or(syntax.Ones(key.Bits - key.Len))
			el.Key = &syntax.Range{Common: key.Common, Min: from, Max: to}
		case *syntax.Value:
			var from, to *syntax.Value
			if key.Type.Is(syntax.TypeString) {
				from, to = nameRange(key)
			} else {
				from, to = new(*key), new(*key)
			}
			el.Key = &syntax.Range{Common: from.Common, Min: from, Max: to}
		}
	}
}

// nameRange are the first and the last name that a name or the beginning of one stands for, as numbers.
func nameRange(v *syntax.Value) (from, to *syntax.Value) {
	size := v.Type.Bits / 8
	if size == 0 {
		size = syntax.Bytes(v.Bits)
	}
	text := make([]byte, size)
	copy(text, v.Text)
	k := v.Common
	k.Bits, k.Order = size*8, syntax.BigEndian
	from = &syntax.Value{Common: k, Num: syntax.NumOfBytes(text), Text: v.Text}
	to = &syntax.Value{Common: k, Num: from.Num, Text: v.Text}
	if isWildcard(v) {
		to.Num = from.Num.Or(syntax.Ones(size*8 - v.Bits))
		to.Text = string(to.Num.Bytes(size))
	}
	return from, to
}

// shortenBeginnings makes the beginnings of names that the kernel has the numbers that nft 1.0.6 takes them for: those of their bytes and
// an asterisk, without the bytes behind them. They stay where they are among the others, though they are smaller than all whole names.
func shortenBeginnings(items []syntax.Expr) {
	for _, item := range items {
		if from, to, ok := endsOf(item); ok && from.Num != to.Num && from.Type.Is(syntax.TypeString) {
			from.Num = syntax.NumOfBytes([]byte(from.Text + "*"))
			to.Num = from.Num
		}
	}
}

func endsOf(item syntax.Expr) (from, to *syntax.Value, ok bool) {
	el := elementOf(item)
	if el == nil {
		return nil, nil, false
	}
	r, ok := el.Key.(*syntax.Range)
	if !ok {
		return nil, nil, false
	}
	return r.Min.(*syntax.Value), r.Max.(*syntax.Value), true
}

// sortRanges sorts elements by where they begin. Of those that begin at the same place the last one comes first, as nft has it. The
// catch-all is before all.
func sortRanges(items []syntax.Expr) {
	slices.Reverse(items)
	slices.SortStableFunc(items, func(a, b syntax.Expr) int {
		fromA, _, okA := endsOf(a)
		fromB, _, okB := endsOf(b)
		if !okA || !okB {
			return boolCompare(okA, okB)
		}
		return fromA.Num.Cmp(fromB.Num)
	})
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// withExisting puts new elements among those that a set has, in order; of those that begin at the same place before those, so that a new
// element takes the place of one of the kernel, with its comment, where elements are joined.
func withExisting(existing *members, elements *syntax.Set) []member {
	toRanges(elements.Items)
	sortRanges(elements.Items)
	news := make([]member, len(elements.Items))
	for i, item := range elements.Items {
		news[i] = member{item: item}
	}
	if existing == nil {
		return news
	}
	all := make([]member, 0, len(news)+len(existing.list))
	for _, m := range existing.list { // which are not in order if there are beginnings of names
		for len(news) > 0 && byBeginning(news[0], m) <= 0 {
			all, news = append(all, news[0]), news[1:]
		}
		all = append(all, m)
	}
	return append(all, news...)
}

// byBeginning compares where elements begin; the catch-all is before all.
func byBeginning(a, b member) int {
	fromA, _, okA := endsOf(a.item)
	fromB, _, okB := endsOf(b.item)
	if !okA || !okB {
		return boolCompare(okA, okB)
	}
	return fromA.Num.Cmp(fromB.Num)
}

// others are the elements that a set has already; nil for a set without a name, and for one that its elements are declared with.
func (c *intervalChecker) others(set *syntax.SetDecl, elements *syntax.Set) *members {
	if set.Elements == syntax.Expr(elements) && c.tx.known(set) == set {
		return nil
	}
	return c.tx.existing(set)
}

// settle leaves a command the elements that nft does not take for those of the kernel, and gives all to the set, where they are the
// kernel's from now on. Those that a set is declared with are not, and go with the next command that adds some.
func (c *intervalChecker) settle(set *syntax.SetDecl, elements *syntax.Set, all []member) bool {
	elements.Items = nil
	first := c.others(set, elements) == nil
	list := slices.Clone(all)
	for i, m := range all {
		if m.kernel {
			continue
		}
		elements.Items = append(elements.Items, m.item)
		if first {
			continue
		}
		if isCatchall(m.item) {
			return c.wrong("chainwalk does not support adding an element for all other keys to the intervals of "+set.Handle.Name+
				", where nft 1.0.6 fails", m.item.Info().Loc)
		}
		list[i].item, list[i].kernel = syntax.Clone(m.item), true
	}
	if existing := c.tx.existing(set); existing != nil {
		existing.keep(list)
	}
	return true
}

func isCatchall(item syntax.Expr) bool {
	el := elementOf(item)
	if el == nil {
		return false
	}
	_, is := el.Key.(*syntax.Catchall)
	return is
}

// overlap refuses elements that overlap without being equal.
func (c *intervalChecker) overlap(set *syntax.SetDecl, elements *syntax.Set) bool {
	all := withExisting(c.others(set, elements), elements)
	ok := c.overlapping(all)
	return c.settle(set, elements, all) && ok
}

func (c *intervalChecker) overlapping(all []member) bool {
	prev := -1
	for i, m := range all {
		from, to, isRange := endsOf(m.item)
		if !isRange {
			continue
		}
		if prev >= 0 {
			before, last := endsOfMember(all[prev])
			same := before == from.Num && last == to.Num
			within := before.Cmp(from.Num) <= 0 && last.Cmp(to.Num) >= 0 // an element that was cut may end before it begins
			if !same && (within || from.Num.Cmp(last) <= 0) {
				el := elementOf(m.item)
				switch {
				case all[prev].kernel:
					return c.wrong("interval overlaps with an existing one", readAt(el.Loc))
				case m.kernel:
					return c.wrong("interval overlaps with an existing one", elementOf(all[prev].item).Loc)
				}
				return c.wrong("conflicting intervals specified", el.Loc, all[prev].item.Info().Loc)
			}
		}
		prev = i
	}
	return true
}

// readAt is the place of an element, which may be one that nft has read from the kernel.
func readAt(at syntax.Loc) syntax.Loc {
	if at.Written() {
		return at
	}
	return syntax.Loc{In: syntax.Netlink}
}

func endsOfMember(m member) (from, to syntax.Num) {
	a, b, _ := endsOf(m.item)
	return a.Num, b.Num
}

// autoMerge joins elements that overlap or touch, with those of the kernel too, which go then.
func (c *intervalChecker) autoMerge(set *syntax.SetDecl, elements *syntax.Set) bool {
	if set.Flags&nftables.SetMap != 0 {
		toRanges(elements.Items)
		sortRanges(elements.Items)
		return true
	}
	kept, gone := merge(withExisting(c.others(set, elements), elements))
	if len(gone) > 0 {
		before := &c.cmd.Before
		if set.Elements == syntax.Expr(elements) {
			before = &set.Before
		}
		*before = append(*before, &syntax.Command{
			Op: syntax.OpDelete, Kind: syntax.KindElements, Loc: elements.Loc, Handle: set.Handle, Set: set,
			Elements: &syntax.Set{Common: elements.Common, Items: gone},
		})
	}
	return c.settle(set, elements, kept)
}

// merge joins what overlaps or touches. gone are elements of the kernel that were joined with others. Of two of the kernel nft takes the
// second one for both, and only the first one away.
func merge(all []member) (kept []member, gone []syntax.Expr) {
	last := -1 // of kept
	for _, m := range all {
		from, to, isRange := endsOf(m.item)
		if !isRange || last < 0 {
			kept = append(kept, m)
			if isRange {
				last = len(kept) - 1
			}
			continue
		}
		prev := &kept[last]
		begin, end, _ := endsOf(prev.item)
		switch {
		case begin.Num.Cmp(from.Num) <= 0 && end.Num.Cmp(to.Num) >= 0: // within
			if m.kernel {
				gone = append(gone, m.item)
			}
		case from.Num.Cmp(end.Num) > 0 && end.Num.Next() != from.Num:
			kept = append(kept, m)
			last = len(kept) - 1
		case prev.kernel:
			gone = append(gone, prev.item)
			elementOf(m.item).Key.(*syntax.Range).Min = new(*begin)
			kept = append(slices.Delete(kept, last, last+1), m)
			last = len(kept) - 1
		default:
			elementOf(prev.item).Key.(*syntax.Range).Max = new(*to)
			if m.kernel {
				gone = append(gone, m.item)
			}
		}
	}
	return kept, gone
}
