package decompile

import (
	"bytes"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func metaKey(n uint32) expr.MetaKey     { return expr.MetaKey(n) }
func ctKey(n uint32) expr.CTKey         { return expr.CTKey(n) }
func fibResult(n uint32) expr.FibResult { return expr.FibResult(n) }
func fibFlags(n uint32) expr.FibFlags   { return expr.FibFlags(n) }

// fill gives a declaration its elements.
func (d *Decompiler) fill(s *set) {
	if d.filled[s.Handle.Name] {
		return
	}
	d.filled[s.Handle.Name] = true
	s.Elements = &syntax.Set{Common: *s.Key.Info(), Items: d.items(s, d.source.Elements(s.Handle.Name))}
}

// Elements are elements of a set as they are written: what "get element" shows.
func (d *Decompiler) Elements(name string, elements []*nftables.Element) []syntax.Expr {
	s := d.declared(name)
	if s == nil {
		return nil
	}
	return d.items(s, elements)
}

func (d *Decompiler) items(s *set, elements []*nftables.Element) []syntax.Expr {
	if s.Flags&nftables.SetInterval != 0 && s.Flags&nftables.SetConcat == 0 && len(s.spec.FieldLens) == 0 {
		return d.intervals(s, elements)
	}
	items := make([]syntax.Expr, 0, len(elements))
	for _, e := range elements {
		items = append(items, d.item(s, e, keyOf(s, e)))
	}
	return items
}

func keyOf(s *set, e *nftables.Element) syntax.Expr {
	switch {
	case e.Flags&nftables.ElementCatchall != 0:
		return &syntax.Catchall{Common: *s.Key.Info()}
	case e.KeyEnd != nil:
		return between(s.Key.Info(), s.keyParts, e.Key, e.KeyEnd)
	default:
		return datum(s.Key.Info(), s.keyParts, e.Key)
	}
}

// datum is the value that bytes are, of a type that may have parts.
func datum(info *syntax.Common, parts []syntax.Common, b []byte) syntax.Expr {
	if parts != nil {
		c := &syntax.Concat{Common: *info, Parts: make([]syntax.Expr, 0, len(parts))}
		for i := range parts {
			size := syntax.Bytes(parts[i].Bits)
			if size > len(b) {
				break
			}
			c.Parts = append(c.Parts, one(&parts[i], b[:size]))
			b = b[min(len(b), syntax.Padded(parts[i].Bits)/8):]
		}
		return c
	}
	return one(info, b)
}

func one(info *syntax.Common, b []byte) syntax.Expr {
	v := raw(b)
	settleValue(v, info.Type, info.Order)
	if isFlags(v.Type) {
		return joined(v)
	}
	return v
}

// partsOf are type, order and size of each part of a concatenation; nil for others.
func partsOf(of syntax.Expr) []syntax.Common {
	if c, isConcat := of.(*syntax.Concat); isConcat {
		parts := make([]syntax.Common, len(c.Parts))
		for i, part := range c.Parts {
			parts[i] = *part.Info()
		}
		return parts
	}
	t := of.Info().Type
	if t == nil || len(t.Parts) < 2 {
		return nil
	}
	parts := make([]syntax.Common, len(t.Parts))
	for i, part := range t.Parts {
		parts[i] = syntax.Common{Type: part, Order: part.Order, Bits: part.Bits}
	}
	return parts
}

// between is the range of two keys, part by part of a concatenation, whose numbers are in the network's order.
func between(info *syntax.Common, parts []syntax.Common, from, to []byte) syntax.Expr {
	if parts == nil {
		return rangeOf(info, from, to)
	}
	c := &syntax.Concat{Common: *info, Parts: make([]syntax.Expr, 0, len(parts))}
	for i := range parts {
		size := syntax.Bytes(parts[i].Bits)
		if size > len(from) || size > len(to) {
			break
		}
		c.Parts = append(c.Parts, rangeOf(&parts[i], from[:size], to[:size]))
		next := syntax.Padded(parts[i].Bits) / 8
		from, to = from[min(len(from), next):], to[min(len(to), next):]
	}
	return c
}

// rangeOf is a range, or the prefix or value that it is.
func rangeOf(info *syntax.Common, from, to []byte) syntax.Expr {
	in := *info
	isText := in.Type != nil && in.Type.Is(syntax.TypeString)
	if in.Order == syntax.HostOrder && !isText {
		in.Order = syntax.BigEndian
	}
	if bytes.Equal(from, to) {
		return one(&in, from)
	}
	if isText {
		return textRange(&in, from, to)
	}
	return prefixOf(&syntax.Range{Common: in, Min: one(&in, from), Max: one(&in, to)})
}

// textRange is the beginning that all texts of a range have.
func textRange(info *syntax.Common, from, to []byte) syntax.Expr {
	same := 0
	for same < len(from) && from[same] == to[same] {
		same++
	}
	v := raw(from[:same])
	settleText(v, info.Type)
	if same == 0 {
		v.Bits = 8
		v.Text = ""
	}
	return v
}

// prefixOf is the prefix that a range is, if its type is written with prefixes; else the range.
func prefixOf(in *syntax.Range) syntax.Expr {
	least, isValue := in.Min.(*syntax.Value)
	most, isValueToo := in.Max.(*syntax.Value)
	if !isValue || !isValueToo || !withPrefixes(least.Type) {
		return in
	}
	differing := least.Num.Xor(most.Num)
	size := bitLen(differing)
	if differing != allOnes(size) || !least.Num.And(differing).IsZero() {
		return in
	}
	return &syntax.Prefix{Common: in.Common, Of: least, Len: least.Bits - size}
}

// item is an element with what belongs to it: a bare key if there is nothing.
func (d *Decompiler) item(s *set, e *nftables.Element, key syntax.Expr) syntax.Expr {
	item := key
	if element := d.described(s, e, key); element != nil {
		item = element
	}
	switch {
	case e.Object != "":
		name := &syntax.Value{Common: syntax.Common{Type: syntax.TypeString, Bits: 8 * len(e.Object)}, Text: e.Object}
		return &syntax.Mapping{Common: *key.Info(), Key: item, Data: name}
	case e.Data == nil || !s.Map:
		return item
	case e.Data.Verdict != nil:
		return &syntax.Mapping{Common: *key.Info(), Key: item, Data: verdict(e.Data.Verdict)}
	}
	var data syntax.Expr
	if b := e.Data.Bytes; s.IntervalData && len(b) == s.dataSize {
		data = between(s.Data.Info(), s.dataParts, b[:len(b)/2], b[len(b)/2:])
	} else {
		data = datum(s.Data.Info(), s.dataParts, b)
	}
	return &syntax.Mapping{Common: *key.Info(), Key: item, Data: data}
}

// described is an element that has more than its key; nil for one that has not.
func (d *Decompiler) described(s *set, e *nftables.Element, key syntax.Expr) *syntax.Element {
	if len(e.UserData) == 0 && !e.HasTimeout && e.Deadline.IsZero() && len(e.Exprs) == 0 {
		return nil
	}
	element := &syntax.Element{Common: *key.Info(), Key: key}
	has := false
	if len(e.UserData) > 0 {
		user := nftables.DecodeUserData(nftables.ElementUserData, e.UserData)
		element.Comment, element.HasComment = user.Comment, user.HasComment
		has = user.HasComment
	}
	if e.Timeout != 0 && e.Timeout != s.spec.Timeout {
		element.Timeout, element.HasTimeout = uint64(e.Timeout/time.Millisecond), true
		has = true
	}
	if !e.Deadline.IsZero() {
		element.Expires, element.HasExpires = uint64(max(e.Deadline.Sub(d.now), 0)/time.Millisecond), true
		has = true
	}
	if len(e.Exprs) > 0 {
		element.Stmts = statements(e.Exprs)
		has = true
	}
	if !has {
		return nil
	}
	return element
}

// intervals joins elements that begin intervals with those that end them.
func (d *Decompiler) intervals(s *set, elements []*nftables.Element) []syntax.Expr {
	sorted := slices.Clone(elements)
	// At one key, the end of the interval before comes first.
	slices.SortStableFunc(sorted, func(a, b *nftables.Element) int {
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return int(b.Flags&nftables.ElementIntervalEnd) - int(a.Flags&nftables.ElementIntervalEnd)
	})
	items := make([]syntax.Expr, 0, len(elements)/2)
	info := *s.Key.Info()
	for i, e := range sorted {
		switch {
		case e.Flags&nftables.ElementCatchall != 0:
			items = append(items, d.item(s, e, keyOf(s, e)))
			continue
		case e.Flags&nftables.ElementIntervalEnd != 0:
			continue
		}
		to := bytes.Repeat([]byte{0xff}, len(e.Key))
		if i+1 < len(sorted) {
			to = before(sorted[i+1].Key)
		}
		items = append(items, d.item(s, e, rangeOf(&info, e.Key, to)))
	}
	return items
}

// before is the key before another one.
func before(key []byte) []byte {
	b := slices.Clone(key)
	for i := len(b) - 1; i >= 0; i-- {
		b[i]--
		if b[i] != 0xff {
			break
		}
	}
	return b
}
