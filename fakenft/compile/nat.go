package compile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// translation is the operands of a statement of NAT; 0 for those that are not there.
type translation struct {
	addrMin, addrMax, protoMin, protoMax expr.Register
}

// nat translates addresses and ports (netlink_gen_nat_stmt in nft's src/netlink_linearize.c).
func (g *generator) nat(s *syntax.NAT) {
	var t translation
	if s.Addr != nil {
		g.natAddress(s, &t)
	}
	flags := s.Flags
	if s.Port != nil {
		flags |= expr.NATProtoSpecified
		g.natPort(s.Port, &t)
	}
	switch s.Kind {
	case syntax.Masquerade:
		g.emit(s.Loc, &expr.Masq{Flags: flags, ProtoMin: t.protoMin, ProtoMax: t.protoMax})
	case syntax.Redirect:
		g.emit(s.Loc, &expr.Redir{Flags: flags, ProtoMin: t.protoMin, ProtoMax: t.protoMax})
	default:
		g.emit(s.Loc, &expr.NAT{
			Source: s.Kind == syntax.SNAT, Family: s.Family, Flags: flags,
			AddrMin: t.addrMin, AddrMax: t.addrMax, ProtoMin: t.protoMin, ProtoMax: t.protoMax,
		})
	}
}

func (g *generator) natAddress(s *syntax.NAT, t *translation) {
	least := g.takeBits(wholeRegister)
	t.addrMin = least.register()
	switch addr := s.Addr.(type) {
	case *syntax.Range:
		most := g.takeBits(wholeRegister)
		t.addrMax = most.register()
		g.load(addr.Min, least)
		g.load(addr.Max, most)
	case *syntax.Prefix:
		most := g.takeBits(wholeRegister)
		t.addrMax = most.register()
		from, to := ends(addr, syntax.Bytes(bitsOf(addr.Of)))
		g.emit(addr.Loc, &expr.Immediate{Dreg: t.addrMin, Data: expr.Data{Bytes: from}})
		g.emit(addr.Loc, &expr.Immediate{Dreg: t.addrMax, Data: expr.Data{Bytes: to}})
	case *syntax.Map:
		g.load(addr, least)
		g.natMapped(s, addr, least, t)
	default:
		g.load(addr, least)
	}
}

// natMapped tells the operands of what a map gives: an address, or with its port, or ranges of them, whose second halves come behind
// the first.
func (g *generator) natMapped(s *syntax.NAT, m *syntax.Map, least slot, t *translation) {
	address := slots(32)
	if nftables.Family(s.Family) == nftables.IPv6 {
		address = slots(128)
	}
	decl := declOf(m.Mappings)
	if decl == nil || decl.Data == nil {
		return
	}
	withPort := isConcat(decl.Data)
	most := least + address
	if withPort {
		t.protoMin = most.register()
		most += slots(16)
	}
	if hasIntervals(decl) {
		t.addrMax = most.register()
		if withPort {
			t.protoMax = (most + address).register()
		}
	}
}

func (g *generator) natPort(port syntax.Expr, t *translation) {
	if r, isRange := port.(*syntax.Range); isRange {
		least := g.takeBits(wholeRegister)
		most := g.takeBits(wholeRegister)
		g.load(r.Min, least)
		g.load(r.Max, most)
		t.protoMin, t.protoMax = least.register(), most.register()
		return
	}
	t.protoMin = g.value(port)
}
