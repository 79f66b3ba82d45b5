package print

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// sortKey is the number that elements are listed by: that of a concatenation, and of a name, has its last byte weigh most.
type sortKey struct {
	hi, lo uint64
	long   []byte // of one that takes more than 16 bytes, the one that weighs most first
	item   syntax.Expr
}

func compareKeys(a, b sortKey) int {
	if c := cmp.Compare(a.hi, b.hi); c != 0 {
		return c
	}
	if c := cmp.Compare(a.lo, b.lo); c != 0 || a.long == nil && b.long == nil {
		return c
	}
	return bytes.Compare(a.long, b.long)
}

// sorter puts elements into the order in which nft lists them.
type sorter struct {
	*Options
	// keys are what elements were sorted by, to be used again.
	keys []sortKey
}

func (p *sorter) sorted(items []syntax.Expr, intervals bool) []syntax.Expr {
	if len(items) < 2 || p.Sorted {
		return items
	}
	if _, concat := keyPart(items[0]).(*syntax.Concat); concat && intervals {
		return items // nft leaves them in the kernel's order
	}
	keys := slices.Grow(p.keys[:0], len(items))
	inOrder := true
	for i, item := range items {
		keys = append(keys, keyOf(item, intervals))
		inOrder = inOrder && (i == 0 || compareKeys(keys[i-1], keys[i]) < 0)
	}
	p.keys = keys
	if inOrder {
		return items
	}
	// Of equal ones, such as flags that have the lowest bit in common, the last one comes first.
	slices.Reverse(keys)
	slices.SortStableFunc(keys, compareKeys)
	sorted := make([]syntax.Expr, len(keys))
	for i := range keys {
		sorted[i] = keys[i].item
	}
	return sorted
}

// keyOf is the key of an element. A catch-all is the last one.
func keyOf(item syntax.Expr, intervals bool) sortKey {
	e := representative(item)
	k := sortKey{item: item}
	switch e := e.(type) {
	case *syntax.Concat:
		k.concat(e)
	case *syntax.Value:
		if isText(e) {
			k.text(e.Text, intervals)
			break
		}
		k.hi, k.lo = e.Num.Hi, e.Num.Lo
	case *syntax.Catchall:
		all := syntax.Ones(128)
		if t := e.Type; t != nil && len(t.Parts) == 0 && !t.Is(syntax.TypeString) && e.Bits > 0 {
			all = syntax.Ones(e.Bits) // as the greatest value
			k.hi, k.lo = all.Hi, all.Lo
			break
		}
		k.hi, k.lo = all.Hi, all.Lo
		k.long = bytes.Repeat([]byte{0xff}, 64)
	}
	return k
}

// keyPart is the key of an element.
func keyPart(e syntax.Expr) syntax.Expr {
	for {
		switch x := e.(type) {
		case *syntax.Element:
			e = x.Key
		case *syntax.Mapping:
			e = x.Key
		default:
			return e
		}
	}
}

// representative is the part of an element that it is sorted by.
func representative(e syntax.Expr) syntax.Expr {
	for {
		switch x := e.(type) {
		case *syntax.Element:
			e = x.Key
		case *syntax.Mapping:
			e = x.Key
		case *syntax.Prefix:
			e = x.Of
		case *syntax.Range:
			e = x.Min
		case *syntax.Binop:
			e = x.Left
		default:
			return e
		}
	}
}

func isText(v *syntax.Value) bool {
	return v.Type != nil && (v.Type.ID == syntax.TypeIfname.ID || v.Type.ID == syntax.TypeString.ID)
}

func (k *sortKey) text(s string, first bool) {
	for i := range min(len(s), 16) {
		at := 15 - i
		if !first {
			at = i
		}
		if at < 8 {
			k.lo |= uint64(s[i]) << (8 * at)
		} else {
			k.hi |= uint64(s[i]) << (8 * (at - 8))
		}
	}
}

// concat makes the key of the bytes of all parts, read as one number whose first byte weighs least.
func (k *sortKey) concat(c *syntax.Concat) {
	var buf [64]byte
	b := buf[:0]
	for _, part := range c.Parts {
		if v, ok := representative(part).(*syntax.Value); ok {
			b = appendPart(b, v)
		}
	}
	if len(b) > 16 {
		slices.Reverse(b)
		k.long = bytes.Clone(b)
		return
	}
	for i, x := range b {
		if i < 8 {
			k.lo |= uint64(x) << (8 * i)
		} else {
			k.hi |= uint64(x) << (8 * (i - 8))
		}
	}
}

func appendPart(b []byte, v *syntax.Value) []byte {
	size := partBits(v) / 8
	if isText(v) {
		b = append(b, v.Text[:min(len(v.Text), size)]...)
		for i := len(v.Text); i < size; i++ {
			b = append(b, 0)
		}
		return b
	}
	number := bytesOf(v.Num)
	at := len(b)
	b = append(b, number[16-min(size, 16):]...)
	if orderOf(v) == syntax.HostOrder {
		slices.Reverse(b[at:])
	}
	return b
}

func partBits(v *syntax.Value) int {
	n := v.Bits
	if v.Type != nil && v.Type.Bits != 0 {
		n = v.Type.Bits
	}
	return syntax.Bytes(n) * 8
}

func orderOf(v *syntax.Value) syntax.ByteOrder {
	if v.Type != nil && v.Type.Order != syntax.NoOrder {
		return v.Type.Order
	}
	return v.Order
}
