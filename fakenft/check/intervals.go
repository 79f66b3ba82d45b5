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

// member is an element and whether the kernel has it.
type member struct {
	item   syntax.Expr
	kernel bool
}

// withExisting puts new elements among those of the kernel, in order; of those that begin at the same place before those, so that a new
// element takes the place of one of the kernel, with its comment, where elements are joined.
func (c *intervalChecker) withExisting(set *syntax.SetDecl, elements *syntax.Set) []member {
	toRanges(elements.Items)
	sortRanges(elements.Items)
	var all []member
	for _, item := range elements.Items {
		all = append(all, member{item, false})
	}
	existing := c.tx.existing(set)
	if existing == nil {
		return all
	}
	news := all
	all = make([]member, 0, len(news)+len(existing.list))
	for _, item := range existing.list { // which are not in order if there are beginnings of names
		m := member{item, !existing.declared[item]}
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

// overlap refuses elements that overlap without being equal.
func (c *intervalChecker) overlap(set *syntax.SetDecl, elements *syntax.Set) bool {
	all := c.withExisting(set, elements)
	ok := c.overlapping(all)
	if existing := c.tx.existing(set); existing != nil {
		existing.declared = nil
		existing.take(all)
		c.declares(set, elements, existing)
	}
	return ok
}

// declares notes that the elements that a set is declared with are none of the kernel's.
func (c *intervalChecker) declares(set *syntax.SetDecl, elements *syntax.Set, existing *members) {
	if set.Elements != syntax.Expr(elements) || c.tx.known(set) != set {
		return
	}
	existing.declared = map[syntax.Expr]bool{}
	for _, item := range existing.list {
		existing.declared[item] = true
	}
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
			if !same && from.Num.Cmp(last) <= 0 {
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
	existing := c.tx.existing(set)
	all := c.withExisting(set, elements)
	kept, gone := merge(all)
	var stay []syntax.Expr
	elements.Items = nil
	for _, m := range kept {
		if !m.kernel {
			elements.Items = append(elements.Items, m.item)
		}
		stay = append(stay, m.item)
	}
	known := c.tx.known(set)
	if _, made := c.tx.sent[known]; made && known.Elements != nil && len(gone) > 0 {
		return c.wrong("chainwalk does not support joining elements of "+set.Handle.Name+
			" with others again in the transaction that makes it with elements", elements.Loc)
	}
	if existing != nil {
		if existing.declared != nil {
			known.Elements = &syntax.Set{Common: known.Elements.(*syntax.Set).Common, Items: stay} // what it is sent with
		}
		existing.list, existing.declared = stay, nil
		c.declares(set, elements, existing)
	}
	if len(gone) > 0 {
		c.cmd.Before = append(c.cmd.Before, &syntax.Command{
			Op: syntax.OpDelete, Kind: syntax.KindElements, Loc: elements.Loc, Handle: set.Handle, Set: set,
			Elements: &syntax.Set{Common: elements.Common, Items: gone},
		})
	}
	return true
}

// merge joins what overlaps or touches. gone are elements of the kernel that were joined with others.
func merge(all []member) (kept []member, gone []syntax.Expr) {
	for _, m := range all {
		from, to, ok := endsOf(m.item)
		if !ok || len(kept) == 0 {
			kept = append(kept, m)
			continue
		}
		prev := &kept[len(kept)-1]
		_, last, isRange := endsOf(prev.item)
		switch begin, _, _ := endsOf(prev.item); {
		case !isRange, from.Num.Cmp(last.Num) > 0 && last.Num.Next() != from.Num:
			kept = append(kept, m)
			continue
		case prev.kernel && m.kernel && from.Num.Cmp(begin.Num) < 0: // the beginning of a name behind a whole one
			gone = append(gone, prev.item)
			from.Num = begin.Num
			prev.item = m.item
			continue
		case last.Num.Cmp(to.Num) >= 0: // within
			if m.kernel {
				gone = append(gone, m.item)
			}
			continue
		}
		// It goes on behind prev.
		switch {
		case prev.kernel:
			gone = append(gone, prev.item)
			begin, _, _ := endsOf(prev.item)
			r := elementOf(m.item).Key.(*syntax.Range)
			if m.kernel {
				gone = append(gone, m.item)
				joined := syntax.Clone(m.item)
				r = elementOf(joined).Key.(*syntax.Range)
				m = member{item: joined}
			}
			r.Min = new(*begin)
			*prev = m
		default:
			if m.kernel {
				gone = append(gone, m.item)
			}
			elementOf(prev.item).Key.(*syntax.Range).Max = new(*to)
		}
	}
	return kept, gone
}
