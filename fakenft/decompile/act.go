package decompile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// act appends the statement of an expression that does something.
func (r *rule) act(e expr.Expr) {
	switch e := e.(type) {
	case *expr.NAT:
		r.nat(e)
	case *expr.Masq:
		r.emit(&syntax.NAT{Kind: syntax.Masquerade, Port: r.ports(e.ProtoMin, e.ProtoMax), Flags: e.Flags &^ expr.NATProtoSpecified})
	case *expr.Redir:
		r.emit(&syntax.NAT{Kind: syntax.Redirect, Port: r.ports(e.ProtoMin, e.ProtoMax), Flags: e.Flags &^ expr.NATProtoSpecified})
	case *expr.Reject:
		r.reject(e)
	case *expr.Dynset:
		r.dynset(e)
	case *expr.Objref:
		r.objref(e)
	case *expr.QueueTo:
		r.queue(e)
	case *expr.Dup:
		s := &syntax.DupStmt{}
		if e.Addr != 0 {
			s.Addr = r.operand(e.Addr, r.addressType(), syntax.BigEndian)
			if r.family == nftables.Netdev {
				s.Addr = r.operand(e.Addr, syntax.TypeIfindex, syntax.HostOrder)
			}
		}
		if e.Dev != 0 {
			s.Dev = r.operand(e.Dev, syntax.TypeIfindex, syntax.HostOrder)
		}
		r.emit(s)
	case *expr.Fwd:
		s := &syntax.FwdStmt{Family: e.Family, Dev: r.operand(e.Dev, syntax.TypeIfindex, syntax.HostOrder)}
		if e.Addr != 0 {
			s.Addr = r.operand(e.Addr, addressTypeOf(e.Family), syntax.BigEndian)
		}
		r.emit(s)
	case *expr.Tproxy:
		s := &syntax.TproxyStmt{Family: e.Family}
		if e.Addr != 0 {
			s.Addr = r.operand(e.Addr, addressTypeOf(e.Family), syntax.BigEndian)
		}
		if e.Port != 0 {
			s.Port = r.operand(e.Port, syntax.TypeInetService, syntax.BigEndian)
		}
		if r.family == nftables.IPv4 || r.family == nftables.IPv6 {
			s.Family = 0
		}
		r.emit(s)
	default:
		s := statement(e)
		if s == nil {
			s = &syntax.OpaqueStmt{Kind: e.Name()}
		}
		r.emit(s)
	}
}

func addressTypeOf(family uint8) *syntax.Datatype {
	if family == nfprotoIPv6 {
		return syntax.TypeIPv6Addr
	}
	return syntax.TypeIPv4Addr
}

func (r *rule) addressType() *syntax.Datatype { return addressTypeOf(uint8(r.family)) }

// operand is what a register holds, as a value of a type.
func (r *rule) operand(reg expr.Register, t *syntax.Datatype, order syntax.ByteOrder) syntax.Expr {
	e := r.post(r.get(reg))
	settle(e, t, order)
	return e
}

// setMeta and setCT write what the kernel knows of a packet or connection.
func (r *rule) setMeta(e *expr.Meta) {
	t, bits, order := syntax.MetaType(e.Key)
	r.emit(&syntax.SetMeta{Key: e.Key, Value: fit(r.operand(e.Sreg, t, order), bits)})
}

func (r *rule) setCT(e *expr.CT) {
	t, bits, order := syntax.CTType(e.Key)
	value := fit(r.operand(e.Sreg, t, order), bits)
	if v, isValue := value.(*syntax.Value); isValue && isFlags(t) {
		value = flagList(v)
	}
	r.emit(&syntax.SetCT{Key: e.Key, Dir: e.Dir, Value: value})
}

// fit gives a value the size of what it is written to.
func fit(e syntax.Expr, bits int) syntax.Expr {
	if v, isValue := e.(*syntax.Value); isValue && bits > 0 && v.Text == "" {
		v.Bits = bits
	}
	return e
}

// setPayload writes into a header. Of bytes of which some bits stay as they are, the others are the field.
func (r *rule) setPayload(e *expr.Payload) {
	p := rawPayload(e.Base, int(e.Offset)*8, int(e.Len)*8)
	value := r.get(e.Sreg)
	r.complete(p)
	if p.Field == nil {
		if n, ok := r.setBits(p, value); ok {
			r.dropNeeded(p)
			r.emit(&syntax.SetPayload{Field: p, Value: flagsOr(n)})
			return
		}
	}
	r.dropNeeded(p)
	value = r.post(value)
	settle(value, p.Type, p.Order)
	r.emit(&syntax.SetPayload{Field: p, Value: flagsOr(value)})
}

// flagsOr is a value of flags as they are written with "|"; others stay as they are.
func flagsOr(e syntax.Expr) syntax.Expr {
	if v, isValue := e.(*syntax.Value); isValue && isFlags(v.Type) {
		return joined(v)
	}
	return e
}

// setBits finds the field that is written with a mask of what stays and the bits that are set.
func (r *rule) setBits(p *syntax.Payload, value syntax.Expr) (set *syntax.Value, ok bool) {
	var bits syntax.Num
	outer, isBinop := value.(*syntax.Binop)
	if !isBinop {
		return nil, false
	}
	if v, isValue := outer.Right.(*syntax.Value); isValue && (outer.Op == syntax.OpXor || outer.Op == syntax.OpOr) {
		bits = v.Num
		if outer, isBinop = outer.Left.(*syntax.Binop); !isBinop {
			// All bits of the field are set, so that the mask is all ones.
			return r.setField(p, bits, bits)
		}
	}
	mask, isValue := outer.Right.(*syntax.Value)
	if !isValue || outer.Op != syntax.OpAnd {
		return nil, false
	}
	return r.setField(p, mask.Num.Xor(allOnes(p.Bits)).Or(bits), bits)
}

func (r *rule) setField(p *syntax.Payload, field, bits syntax.Num) (*syntax.Value, bool) {
	shift, ok := r.trim(p, field)
	if !ok {
		return nil, false
	}
	return &syntax.Value{Common: syntax.Common{Type: p.Type, Order: p.Order, Bits: p.Bits}, Num: bits.Right(uint(shift))}, true
}

// ports is a port, or a range of them.
func (r *rule) ports(least, most expr.Register) syntax.Expr {
	if least == 0 {
		return nil
	}
	port := r.operand(least, syntax.TypeInetService, syntax.BigEndian)
	if most == 0 || most == least {
		return port
	}
	info := syntax.Common{Type: syntax.TypeInetService, Order: syntax.BigEndian, Bits: 16}
	return &syntax.Range{Common: info, Min: port, Max: r.operand(most, syntax.TypeInetService, syntax.BigEndian)}
}

func (r *rule) nat(e *expr.NAT) {
	s := &syntax.NAT{Kind: syntax.DNAT, Flags: e.Flags &^ expr.NATProtoSpecified}
	if e.Source {
		s.Kind = syntax.SNAT
	}
	if r.family == nftables.Inet {
		s.Family = e.Family
	}
	t := addressTypeOf(e.Family)
	if e.AddrMin != 0 {
		s.Addr = r.operand(e.AddrMin, t, syntax.BigEndian)
		if m, isMap := s.Addr.(*syntax.Map); isMap && r.natMap(s, e, m) {
			r.emit(s)
			return
		}
		if e.AddrMax != 0 && e.AddrMax != e.AddrMin {
			info := syntax.Common{Type: t, Order: syntax.BigEndian, Bits: t.Bits}
			s.Addr = &syntax.Range{Common: info, Min: s.Addr, Max: r.operand(e.AddrMax, t, syntax.BigEndian)}
		}
	}
	if e.Flags&expr.NATNetmap != 0 {
		s.Prefix = true
	}
	if in, isRange := s.Addr.(*syntax.Range); isRange {
		s.Addr = prefixOf(in)
	}
	s.Port = r.ports(e.ProtoMin, e.ProtoMax)
	r.emit(s)
}

// natMap says whether a map gives more than one address: it has the family written then, and what comes behind the address is not.
func (r *rule) natMap(s *syntax.NAT, e *expr.NAT, m *syntax.Map) bool {
	ref, isRef := m.Mappings.(*syntax.SetRef)
	if !isRef || ref.Set == nil || ref.Set.Data == nil {
		return false
	}
	t := ref.Set.Data.Info().Type
	isConcat := t != nil && len(t.Parts) > 1
	if !isConcat && !ref.Set.IntervalData {
		return false
	}
	s.Family = e.Family
	s.Concat, s.Interval = isConcat, ref.Set.IntervalData
	if e.Flags&expr.NATNetmap != 0 {
		s.Prefix = true
	}
	if !isConcat {
		s.Port = r.ports(e.ProtoMin, e.ProtoMax)
	}
	return true
}

// reject says in which family's words it rejects, and leaves out the match of the family or protocol that this implies.
func (r *rule) reject(e *expr.Reject) {
	s := &syntax.Reject{Kind: int(e.Kind), ICMP: int(e.Code)}
	switch {
	case r.family == nftables.IPv4 || r.family == nftables.IPv6:
		s.Family = uint8(r.family)
		if e.Kind == expr.RejectTCPReset {
			r.drop(transportLayer)
		}
	case e.Kind != expr.RejectICMPX:
		network, known := r.headers[networkLayer], false
		if link := r.headers[linkLayer]; link != nil && network != nil {
			_, known = link.Number(network) // no family is said of what cannot follow
		}
		switch {
		case known && network == syntax.HeaderIP:
			s.Family = nfprotoIPv4
		case known && network == syntax.HeaderIP6:
			s.Family = nfprotoIPv6
		}
		r.drop(networkLayer)
		if s.Family == 0 && e.Kind == expr.RejectICMP {
			s.Kind = -1 // nft says no more than "reject" then
		}
	}
	r.emit(s)
}

func (r *rule) dynset(e *expr.Dynset) {
	decl := r.d.inRule(e.Set)
	if decl == nil {
		r.emit(&syntax.OpaqueStmt{Kind: e.Name()})
		return
	}
	key := r.post(r.key(e.Key, decl.keySize))
	var stmts []syntax.Stmt
	if len(decl.Stmts) == 0 { // the kernel gives no statements for a set that has some (nft_dynset_dump)
		stmts = statements(e.Exprs)
	}
	if e.Timeout != 0 {
		key = &syntax.Element{Common: *key.Info(), Key: key, Timeout: uint64(e.Timeout / time.Millisecond), HasTimeout: true}
	}
	ref := &syntax.SetRef{Name: e.Set, Set: decl.SetDecl}
	switch {
	case decl.Flags&nftables.SetAnonymous != 0 && len(stmts) > 0:
		r.emit(&syntax.MeterStmt{Name: e.Set, Key: key, Stmt: stmts[0], Size: decl.Size})
	case e.HasData:
		data := r.post(r.get(e.Data))
		if decl.Data != nil {
			info := decl.Data.Info()
			if info.Type != nil && len(info.Type.Parts) > 1 {
				data = r.post(r.key(e.Data, decl.dataSize))
			}
			settle(data, info.Type, info.Order)
		}
		r.emit(&syntax.MapUpdate{Op: e.Op, Set: ref, Key: key, Data: data, Stmts: stmts})
	default:
		r.emit(&syntax.SetUpdate{Op: e.Op, Set: ref, Key: key, Stmts: stmts})
	}
}

func (r *rule) objref(e *expr.Objref) {
	if e.Set == "" {
		name := &syntax.Value{Common: syntax.Common{Type: syntax.TypeString, Bits: 8 * len(e.Object)}, Text: e.Object}
		r.emit(&syntax.ObjectStmt{Type: e.Type, Object: name})
		return
	}
	decl := r.d.inRule(e.Set)
	if decl == nil {
		r.emit(&syntax.OpaqueStmt{Kind: e.Name()})
		return
	}
	m := &syntax.Map{Key: r.key(e.Sreg, decl.keySize), Mappings: &syntax.SetRef{Name: e.Set, Set: decl.SetDecl}}
	m.Key = r.postKey(m)
	r.emit(&syntax.ObjectStmt{Type: decl.Object, Object: m})
}

func (r *rule) queue(e *expr.QueueTo) {
	s := &syntax.QueueStmt{Flags: e.Flags}
	value := func(n uint16) syntax.Expr {
		return &syntax.Value{Common: syntax.Common{Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 16}, Num: syntax.Num{Lo: uint64(n)}}
	}
	switch {
	case e.Sreg != 0:
		s.To = r.operand(e.Sreg, syntax.TypeInteger, syntax.HostOrder)
	case e.Total > 1:
		s.To = &syntax.Range{Min: value(e.Num), Max: value(e.Num + e.Total - 1)}
	default:
		s.To = value(e.Num)
	}
	r.emit(s)
}
