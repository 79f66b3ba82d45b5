package decompile

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// rawPayload is bytes of a packet of which nothing is known but that the first four of a transport header are ports.
func rawPayload(base expr.PayloadBase, offset, bits int) *syntax.Payload {
	p := &syntax.Payload{
		Common: syntax.Common{Type: syntax.Sized(syntax.TypeBytes, bits), Order: syntax.BigEndian, Bits: bits}, Base: base, Offset: offset,
	}
	if base == expr.TransportHeader && bits == 16 && (offset == 0 || offset == 16) {
		assign(p, syntax.HeaderTH, &syntax.HeaderTH.Fields[offset/16])
	}
	return p
}

// fieldAt is the field of a header, or of the one that it is stacked on, that a payload's bits are; nil if there is none.

func (r *rule) fieldAt(p *syntax.Payload) (*syntax.Header, *syntax.Field) {
	h := r.headers[layerOf(p.Base)]
	if h == nil {
		return nil, nil
	}
	offset := p.Offset - r.offsets[layerOf(p.Base)]
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.Offset == offset && f.Bits == p.Bits && r.fits(h, f) {
			return h, f
		}
	}
	if h == syntax.HeaderVLAN && offset < 0 {
		for i := range syntax.HeaderEther.Fields {
			if f := &syntax.HeaderEther.Fields[i]; f.Offset == p.Offset && f.Bits == p.Bits {
				return syntax.HeaderEther, f
			}
		}
	}
	return nil, nil
}

// complete finds out what field a payload is.
func (r *rule) complete(p *syntax.Payload) {
	if h, f := r.fieldAt(p); f != nil {
		assign(p, h, f)
	}
}

func assign(p *syntax.Payload, h *syntax.Header, f *syntax.Field) {
	p.Header, p.Field = h, f
	p.Type, p.Order = f.Type, f.Order
}

// fits says whether a field is in the packet: not those of the pseudo-headers of families, and one of ICMP in messages of the type that was
// asked for.
func (r *rule) fits(h *syntax.Header, f *syntax.Field) bool {
	if h == syntax.HeaderInet || h == syntax.HeaderNetdev {
		return false
	}
	if !r.hasICMPType {
		return true
	}
	types := icmpFields[h][f.Name]
	if types == nil {
		return true
	}
	for _, t := range types {
		if t == r.icmpType {
			return true
		}
	}
	return false
}

// icmpFields are the types of messages that have a field.
var icmpFields = map[*syntax.Header]map[string][]uint64{
	syntax.HeaderICMP: {"id": {0, 8}, "sequence": {0, 8}, "gateway": {5}, "mtu": {3}},
	syntax.HeaderICMPv6: {
		"id": {128, 129}, "sequence": {128, 129}, "mtu": {2}, "parameter-problem": {4}, "max-delay": {130},
	},
}

// payloadMatch compares bytes of the packet.
func (r *rule) payloadMatch(at int, rel *syntax.Relational, p *syntax.Payload) {
	v, isValue := rel.Right.(*syntax.Value)
	if isValue && (rel.Op == syntax.OpEq || rel.Op == syntax.OpNeq) {
		r.expand(at, rel, p, v)
		return
	}
	r.complete(p)
	settle(rel.Right, p.Type, p.Order)
	r.dropNeeded(p)
}

// expand makes comparisons of fields of one of bytes that may be several.
func (r *rule) expand(at int, rel *syntax.Relational, p *syntax.Payload, v *syntax.Value) {
	pieces := r.pieces(p)
	rest := v.Num
	left := v.Bits
	for i, piece := range pieces {
		left -= piece.Bits
		value := &syntax.Value{Common: syntax.Common{Bits: piece.Bits}, Num: rest.Right(uint(max(left, 0))).And(allOnes(piece.Bits))}
		var right syntax.Expr = value
		if f := piece.Field; f != nil && piece.Bits < f.Bits {
			value.Num = value.Num.Left(uint(f.Bits - piece.Bits))
			value.Bits = f.Bits
			right = &syntax.Prefix{Common: syntax.Common{Bits: f.Bits}, Of: value, Len: piece.Bits}
			piece.Bits = f.Bits
		}
		settle(right, piece.Type, piece.Order)
		here := at
		one := &syntax.Relational{Op: rel.Op, Left: piece, Right: right}
		if i == 0 {
			r.stmts[at] = &syntax.Match{Expr: one}
		} else {
			here = r.emit(&syntax.Match{Expr: one})
		}
		if rel.Op == syntax.OpEq && right == syntax.Expr(value) {
			r.learn(piece, value.Num)
		}
		r.dropNeeded(piece)
		if rel.Op == syntax.OpEq && piece.Field != nil {
			r.needPiece(piece, value.Num.Lo, here)
		}
	}
}

// needPiece notes a comparison of a field that matches of other fields imply.
func (r *rule) needPiece(p *syntax.Payload, value uint64, at int) {
	switch {
	case p.Header.Next == p.Field:
		l := layerOf(p.Base)
		if next := p.Header.Following(value); next != nil && layerOf(next.Base) == l {
			l--
		}
		r.need(l, at)
	case isICMP(p.Header) && p.Field.Name == "type":
		r.icmpNeed, r.icmpLast = at+1, !isEcho(p.Header, value)
	}
}

// isEcho says whether a type of ICMP is that of an echo, or of its reply.
func isEcho(h *syntax.Header, number uint64) bool {
	return slices.Contains(icmpFields[h]["id"], number)
}

// pieces are the fields that a payload's bytes are, one behind the other; what is no field stays bytes.
func (r *rule) pieces(p *syntax.Payload) (list []*syntax.Payload) {
	l := layerOf(p.Base)
	offset, bits := p.Offset, p.Bits
	h := r.headers[l]
	start := r.offsets[l]
	if h == syntax.HeaderVLAN && offset < start {
		h, start = syntax.HeaderEther, 0
	}
	if h != nil {
		for i := range h.Fields {
			f := &h.Fields[i]
			if bits == 0 {
				break
			}
			if f.Offset != offset-start || !r.fits(h, f) || f.Bits > bits && hasField(h, f.Offset, bits) {
				continue
			}
			piece := &syntax.Payload{Common: syntax.Common{Bits: min(f.Bits, bits)}, Base: p.Base, Offset: offset}
			assign(piece, h, f)
			list = append(list, piece)
			offset += piece.Bits
			bits -= piece.Bits
		}
	}
	if bits > 0 {
		list = append(list, rawPayload(p.Base, offset, bits))
	}
	return list
}

// hasField says whether a header has a field of just these bits.
func hasField(h *syntax.Header, offset, bits int) bool {
	for i := range h.Fields {
		if h.Fields[i].Offset == offset && h.Fields[i].Bits == bits {
			return true
		}
	}
	return false
}

// trim finds the field whose bits a mask leaves of a payload: where the mask's lowest bit is; false if there is none.
func (r *rule) trim(p *syntax.Payload, mask syntax.Num) (shift int, ok bool) {
	shift, count, ok := run(mask)
	h := r.headers[layerOf(p.Base)]
	if !ok || h == nil {
		return 0, false
	}
	start := p.Offset - r.offsets[layerOf(p.Base)] + p.Bits - shift - count
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.Offset == start && f.Bits == count && r.fits(h, f) {
			p.Offset, p.Bits = start+r.offsets[layerOf(p.Base)], count
			assign(p, h, f)
			return shift, true
		}
	}
	return 0, false
}

// exthdr is what is loaded of an optional header.
func exthdr(e *expr.Exthdr) *syntax.Exthdr {
	x := &syntax.Exthdr{Op: e.Op, RawType: e.Type, Offset: int(e.Offset) * 8, Present: e.Present}
	x.Common = syntax.Common{Type: syntax.Sized(syntax.TypeInteger, int(e.Len)*8), Order: syntax.BigEndian, Bits: int(e.Len) * 8}
	headers := exthdrHeaders(e)
	if e.Present {
		if len(headers) > 0 {
			x.Header = headers[0]
		}
		x.Type, x.Order, x.Bits = syntax.TypeBoolean, syntax.HostOrder, 8
		return x
	}
	for _, h := range headers {
		for i := range h.Fields {
			f := &h.Fields[i]
			if f.Offset == x.Offset && f.Bits == x.Bits {
				x.Header, x.Field = h, f
				x.Type, x.Order = f.Type, f.Order
				return x
			}
		}
	}
	if e.Op == expr.ExthdrIPv6 {
		unknownField(x)
		x.Type = syntax.TypeInvalid
	}
	return x
}

// noField is what nft says of bytes of an extension header that are none of its fields, or that a mask is applied to.
var noField = syntax.Field{Name: "unknown"}

// unknownField forgets what field bytes of an extension header are.
func unknownField(x *syntax.Exthdr) {
	if all := syntax.ExtensionsOf(x.RawType); len(all) > 0 {
		x.Header, x.Field, x.Present = all[0], &noField, false
	}
}

func exthdrHeaders(e *expr.Exthdr) []*syntax.Header {
	var one *syntax.Header
	switch e.Op {
	case expr.ExthdrTCPOption:
		return syntax.TCPOptionsOf(e.Type)
	case expr.ExthdrIPv6:
		// Of the headers that share a number, nft finds the general one first, and then those that it knows last.
		list := slices.Clone(syntax.ExtensionsOf(e.Type))
		if len(list) > 1 {
			slices.Reverse(list[1:])
		}
		return list
	case expr.ExthdrIPv4:
		one = syntax.IPOptionOf(e.Type)
	case expr.ExthdrSCTP:
		one = syntax.SCTPChunkOf(e.Type)
	}
	if one == nil {
		return nil
	}
	return []*syntax.Header{one}
}
