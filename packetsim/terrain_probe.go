package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Place is a packet at a hook, as a match or an expression sees it that asks for nothing else: no connection, no draw, no memory.
type Place struct {
	Packet inet.Packet
	Hook   netfilter.Hook
	// In and Out are the devices of the hook; empty: it has none.
	In, Out string
	// Local says that the host has made the packet, Routed that it has a route, which is Way.
	Local, Routed bool
	Way           Way
}

// skbAt is the packet at its place.
func (t *Terrain) skbAt(p *Place) *skb {
	s := &skb{Packet: p.Packet, hook: p.Hook, hooks: t.hooks, in: t.host.byName[p.In], out: t.host.byName[p.Out],
		local: p.Local, routed: p.Routed}
	if !p.Local {
		s.came = s.in
	}
	s.path = path{local: p.Way.Local, out: t.host.byName[p.Way.Out], nextHop: p.Way.NextHop, typ: p.Way.Type, realms: p.Way.Realms}
	return s
}

// Matches asks a match of iptables, as a walk does.
func (t *Terrain) Matches(m xtables.Match, p *Place) (bool, error) {
	var o Outcome
	w := t.host.newWalk(SeededChance(0), 0, &o)
	defer t.host.endWalk(w)
	holds := w.table.match.matches(t.skbAt(p), m)
	return holds, w.err
}

// Load asks an expression of nf_tables what it loads, so many bytes. It is false if the expression breaks the rule instead.
func (t *Terrain) Load(x expr.Expr, dreg expr.Register, size int, p *Place) (data []byte, ok bool, err error) {
	var o Outcome
	w := t.host.newWalk(SeededChance(0), 0, &o)
	defer t.host.endWalk(w)
	w.nft.s, w.nft.code = t.skbAt(p), expr.Continue
	w.nft.runExpr(x)
	if w.err == nil && !w.nft.regs.knows(dreg.Offset(), size) {
		w.err = errRegisterUnknown
	}
	data = append(data, w.nft.regs.bytes(dreg.Offset(), size)...)
	w.nft.regs = nftRegisters{}
	return data, w.nft.code == expr.Continue, w.err
}

// RejectWord is how an answer of nf_tables is called, in the words of --reject-with; empty for a code that nobody knows.
func RejectWord(x *expr.Reject, six bool) string {
	if x.Kind == expr.RejectICMPX && int(x.Code) >= len(rejectCodesX) {
		return ""
	}
	return rejectText(x, six)
}
