package decompile

import (
	"reflect"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// match appends a comparison, and finds out what it compares.
func (r *rule) match(rel *syntax.Relational) {
	at := r.emit(&syntax.Match{Expr: rel})
	r.relational(at, rel)
	r.mergeRange(len(r.stmts) - 1)
}

func (r *rule) relational(at int, rel *syntax.Relational) {
	if p, isPayload := rel.Left.(*syntax.Payload); isPayload {
		r.payloadMatch(at, rel, p)
		return
	}
	if b, isBinop := rel.Left.(*syntax.Binop); isBinop {
		if field, ok := r.shiftedField(b); ok {
			// nft has given the value the type of bytes before it sees which field they are.
			bytes := syntax.Sized(syntax.TypeBytes, bitsOf(field))
			if _, isExthdr := field.(*syntax.Exthdr); isExthdr {
				bytes = syntax.TypeInvalid
			}
			settle(rel.Right, bytes, syntax.BigEndian)
			rel.Left = field
		}
	}
	if p, isPayload := rel.Left.(*syntax.Payload); !isPayload || p.Field == nil {
		rel.Left = r.post(rel.Left)
	}
	left := rel.Left.Info()
	if c, isCT := rel.Left.(*syntax.CT); isCT {
		r.typeCT(c, rel.Right)
	}
	settle(rel.Right, left.Type, left.Order)
	if v, isValue := rel.Right.(*syntax.Value); isValue && v.Type == syntax.TypeString && v.Bits < left.Bits {
		v.Type = syntax.Sized(syntax.TypeString, left.Bits) // the beginning of a name
	}
	switch left := rel.Left.(type) {
	case *syntax.Meta:
		if l, says := metaLayer(left.Key); says {
			r.layerMatch(at, rel, l)
		}
		r.flags(rel)
	case *syntax.CT:
		if l, says := ctLayer(left.Key); says {
			r.layerMatch(at, rel, l)
		}
		r.flags(rel)
	case *syntax.Binop:
		r.binopMatch(at, rel, left)
	default:
		r.flags(rel)
	}
}

// flags writes flags that all must be set with "|".
func (r *rule) flags(rel *syntax.Relational) {
	if v, isValue := rel.Right.(*syntax.Value); isValue && isFlags(v.Type) {
		rel.Right = joined(v)
	}
}

// typeCT gives addresses and ports of connections their type, which their keys do not say.
func (r *rule) typeCT(c *syntax.CT, right syntax.Expr) {
	switch c.Key {
	case expr.CTSrc, expr.CTDst:
		if c.Type != nil && c.Type != syntax.TypeInvalid {
			return
		}
		bits := right.Info().Bits
		if in, isRange := right.(*syntax.Range); isRange {
			bits = in.Min.Info().Bits
		}
		if ref, isRef := right.(*syntax.SetRef); isRef && ref.Set != nil && ref.Set.Key != nil {
			bits = bitsOf(ref.Set.Key)
		}
		c.Bits, c.Order = bits, syntax.BigEndian
		c.Type, c.NFProto = syntax.TypeIPv4Addr, nfprotoIPv4
		if bits > 32 || r.headers[networkLayer] == syntax.HeaderIP6 {
			c.Type, c.NFProto = syntax.TypeIPv6Addr, nfprotoIPv6
		}
	}
}

// post finds out what is loaded, below operators and in concatenations.
func (r *rule) post(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Payload:
		r.complete(e)
		r.dropNeeded(e)
	case *syntax.Exthdr:
		r.dropByOption(e)
	case *syntax.Unary:
		of := r.post(e.Of)
		if _, isBinop := of.(*syntax.Binop); isBinop {
			// It stays, as nft then looks no further at the operator, and writes no "==".
			e.Of, e.Type, e.Order = of, of.Info().Type, otherOrder(of.Info().Order)
			return e
		}
		of.Info().Order = otherOrder(of.Info().Order)
		return of
	case *syntax.Binop:
		e.Left = r.post(e.Left)
		left := e.Left.Info()
		settle(e.Right, left.Type, left.Order)
		e.Type, e.Order = left.Type, left.Order
	case *syntax.Concat:
		for i := range e.Parts {
			e.Parts[i] = r.postPart(e.Parts[i])
		}
		e.Bits = bitsOf(e)
	case *syntax.Map:
		e.Key = r.postKey(e)
	case *syntax.Hash:
		if e.Of != nil {
			e.Of = r.post(e.Of)
		}
	}
	return e
}

func otherOrder(o syntax.ByteOrder) syntax.ByteOrder {
	if o == syntax.HostOrder {
		return syntax.BigEndian
	}
	return syntax.HostOrder
}

// postPart does so with a part of a concatenation. nft finds the field that a mask leaves, but does not see that it is shifted.
func (r *rule) postPart(e syntax.Expr) syntax.Expr {
	b, isBinop := e.(*syntax.Binop)
	if !isBinop {
		return r.post(e)
	}
	switch b.Op {
	case syntax.OpAnd:
		if field, ok := r.masked(b); ok {
			return field
		}
	case syntax.OpRight:
		inner, isMask := b.Left.(*syntax.Binop)
		if isMask && inner.Op == syntax.OpRight {
			b.Left = r.postPart(inner)
			b.Type, b.Order = b.Left.Info().Type, b.Left.Info().Order
			return b
		}
		if !isMask || inner.Op != syntax.OpAnd {
			break
		}
		if field, ok := r.masked(inner); ok {
			b.Left, b.Type, b.Order = field, field.Info().Type, field.Info().Order
			return b
		}
	}
	return r.post(e)
}

// masked is the field that a mask leaves.
func (r *rule) masked(b *syntax.Binop) (field syntax.Expr, ok bool) {
	field, _, ok = r.unmasked(b)
	if p, isPayload := field.(*syntax.Payload); ok && isPayload {
		r.dropNeeded(p)
	}
	return field, ok
}

// shiftedField is the field that a mask leaves of bytes and that is shifted to their end.
func (r *rule) shiftedField(b *syntax.Binop) (field syntax.Expr, ok bool) {
	masked, isBinop := b.Left.(*syntax.Binop)
	by, isValue := b.Right.(*syntax.Value)
	if b.Op != syntax.OpRight || !isBinop || masked.Op != syntax.OpAnd || !isValue {
		return nil, false
	}
	mask, isMask := masked.Right.(*syntax.Value)
	if !isMask {
		return nil, false
	}
	if shift, _, ok := run(mask.Num); !ok || uint64(shift) != by.Num.Lo {
		return nil, false
	}
	return r.masked(masked)
}

// postKey is the key of a map. Of bits of a header that a mask leaves, the map's keys are bits as well.
func (r *rule) postKey(m *syntax.Map) syntax.Expr {
	b, isBinop := m.Key.(*syntax.Binop)
	m.Key = r.post(m.Key)
	if !isBinop || b.Op != syntax.OpAnd {
		return m.Key
	}
	p, isPayload := b.Left.(*syntax.Payload)
	if !isPayload {
		return m.Key
	}
	if left, shift, ok := r.unmasked(b); ok {
		m.Mappings = shifted(m.Mappings, shift, left)
		r.dropNeeded(p)
		return left
	}
	return m.Key
}

// unmasked is the field that a mask leaves of a payload, with the mask's lowest bit.
func (r *rule) unmasked(b *syntax.Binop) (left syntax.Expr, shift int, ok bool) {
	mask, isValue := b.Right.(*syntax.Value)
	if !isValue {
		return nil, 0, false
	}
	switch left := b.Left.(type) {
	case *syntax.Payload:
		shift, ok = r.trim(left, mask.Num)
		return left, shift, ok
	case *syntax.Exthdr:
		shift, ok = trimExthdr(left, mask.Num)
		return left, shift, ok
	}
	return nil, 0, false
}

// trimExthdr finds the field of an optional header that a mask leaves.
func trimExthdr(x *syntax.Exthdr, mask syntax.Num) (shift int, ok bool) {
	shift, count, ok := run(mask)
	if !ok {
		return 0, false
	}
	start := x.Offset + x.Bits - shift - count
	for _, h := range exthdrHeaders(&expr.Exthdr{Op: x.Op, Type: x.RawType}) {
		for i := range h.Fields {
			if f := &h.Fields[i]; f.Offset == start && f.Bits == count {
				x.Header, x.Field, x.Offset, x.Bits = h, f, start, count
				x.Type, x.Order = f.Type, f.Order
				return shift, true
			}
		}
	}
	return 0, false
}

// shifted is an expression of numbers whose lowest bits are not there, as values of a field.
func shifted(e syntax.Expr, shift int, field syntax.Expr) syntax.Expr {
	info := field.Info()
	switch e := e.(type) {
	case *syntax.Value:
		c := *e
		c.Num = e.Num.Right(uint(shift))
		c.Type, c.Order, c.Bits = info.Type, info.Order, info.Bits
		return &c
	case *syntax.Range:
		c := *e
		c.Min, c.Max = shifted(e.Min, shift, field), shifted(e.Max, shift, field)
		return &c
	case *syntax.Prefix:
		c := *e
		c.Of = shifted(e.Of, shift, field)
		return &c
	case *syntax.Element:
		c := *e
		c.Key = shifted(e.Key, shift, field)
		return &c
	case *syntax.Mapping:
		c := *e
		c.Key = shifted(e.Key, shift, field)
		return &c
	case *syntax.Set:
		c := *e
		c.Items = make([]syntax.Expr, len(e.Items))
		for i, item := range e.Items {
			c.Items[i] = shifted(item, shift, field)
		}
		return &c
	case *syntax.SetRef:
		if e.Set == nil || e.Set.Flags&nftables.SetAnonymous == 0 || e.Set.Elements == nil {
			return e
		}
		decl, c := *e.Set, *e
		decl.Elements = shifted(decl.Elements, shift, field)
		c.Set = &decl
		return &c
	}
	return e
}

// layerMatch learns what header comes above a layer, and which matches this one implies.
func (r *rule) layerMatch(at int, rel *syntax.Relational, l layer) {
	v, isValue := rel.Right.(*syntax.Value)
	if rel.Op != syntax.OpEq || !isValue {
		return
	}
	r.learn(rel.Left, v.Num)
	r.dropFamily(l, rel.Left, v.Num.Lo)
	r.need(l, at)
}

// binopMatch makes flags, prefixes and fields of comparisons with a mask.
func (r *rule) binopMatch(at int, rel *syntax.Relational, b *syntax.Binop) {
	mask, isMask := b.Right.(*syntax.Value)
	value, isValue := rel.Right.(*syntax.Value)
	if b.Op != syntax.OpAnd || !isMask {
		joinMasks(b)
		r.flags(rel)
		return
	}
	equality := rel.Op == syntax.OpEq || rel.Op == syntax.OpNeq
	switch {
	case equality && isValue && isFlags(value.Type):
		r.flagMatch(at, rel, b, mask, value)
		return
	case isValue && withPrefixes(b.Left.Info().Type):
		if length, ok := prefixLen(mask.Num, mask.Bits); ok {
			rel.Left = b.Left
			rel.Right = &syntax.Prefix{Common: value.Common, Of: value, Len: length}
			return
		}
	}
	if left, shift, ok := r.unmasked(b); ok {
		rel.Left, rel.Right = left, shifted(rel.Right, shift, left)
		if p, isPayload := left.(*syntax.Payload); isPayload {
			r.dropNeeded(p)
		}
		return
	}
	if x, isExthdr := b.Left.(*syntax.Exthdr); isExthdr && x.Op == expr.ExthdrIPv6 {
		unknownField(x)
	}
	joinMasks(b)
	r.flags(rel)
}

// joinMasks writes the flags that operators are applied to with "|".
func joinMasks(e syntax.Expr) {
	b, isBinop := e.(*syntax.Binop)
	if !isBinop {
		return
	}
	joinMasks(b.Left)
	if v, isValue := b.Right.(*syntax.Value); isValue && isFlags(v.Type) {
		b.Right = joined(v)
	}
}

// flagMatch compares flags below a mask.
func (r *rule) flagMatch(at int, rel *syntax.Relational, b *syntax.Binop, mask, value *syntax.Value) {
	switch {
	case value.Num.IsZero():
		neg := rel.Op == syntax.OpEq
		rel.Op = syntax.OpImplicit
		if neg {
			rel.Op = syntax.OpNeg
		}
		rel.Left, rel.Right = b.Left, flagList(mask)
	case value.Num == mask.Num && len(flagsOf(mask)) < 2:
	default:
		r.stmts[at] = &syntax.Match{Expr: &syntax.FlagCmp{
			Common: *b.Left.Info(), Invert: rel.Op == syntax.OpNeq, Of: b.Left, Value: flagList(value), Mask: flagList(mask),
		}}
	}
}

// mergeRange makes a range of two comparisons that follow each other. nft sees that both load something of the same kind and does not look
// whether it is the same: "tcp dport >= 3 tcp sport <= 8" is listed as "tcp sport 3-8".
func (r *rule) mergeRange(at int) {
	prev := r.last
	r.last = at + 1
	if prev == 0 || r.stmts[prev-1] == nil || prev-1 == at {
		return
	}
	first, second := relationalOf(r.stmts[prev-1]), relationalOf(r.stmts[at])
	if first == nil || second == nil {
		return
	}
	op := syntax.OpEq
	var least, most syntax.Expr
	switch {
	case first.Op == syntax.OpGte && second.Op == syntax.OpLte:
		least, most = first.Right, second.Right
	case first.Op == syntax.OpLt && second.Op == syntax.OpGt:
		op, least, most = syntax.OpNeq, first.Right, second.Right
	default:
		return
	}
	if reflect.TypeOf(loaded(first.Left)) != reflect.TypeOf(loaded(second.Left)) {
		return
	}
	info := *second.Left.Info()
	info.Bits = second.Right.Info().Bits
	if v, isValue := least.(*syntax.Value); isValue && v.Text == "" {
		v.Type, v.Order = info.Type, info.Order
	}
	merged := &syntax.Relational{Op: op, Left: second.Left, Right: &syntax.Range{Common: info, Min: least, Max: most}}
	r.stmts[prev-1] = &syntax.Match{Expr: merged}
	r.stmts = r.stmts[:at]
	r.last = prev
}

// loaded is what is loaded, before its bytes are put into the other order.
func loaded(e syntax.Expr) syntax.Expr {
	if u, isUnary := e.(*syntax.Unary); isUnary {
		return u.Of
	}
	return e
}

func relationalOf(s syntax.Stmt) *syntax.Relational {
	m, isMatch := s.(*syntax.Match)
	if !isMatch {
		return nil
	}
	rel, _ := m.Expr.(*syntax.Relational)
	return rel
}
