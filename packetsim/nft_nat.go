package packetsim

import (
	"encoding/binary"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// nat is nat (net/netfilter/nft_nat.c).
func (t *nftRun) nat(x *expr.NAT) {
	if x.Source {
		t.outcome.SourceTranslated = true
	}
	if (x.Family == ipv6Family) != t.s.Is6() || x.Flags&expr.NATProtoOffset != 0 {
		t.notWalked(x, "of the other family, or of shifted ports")
		return
	}
	to := natFlags(x.Flags)
	if x.AddrMin != 0 {
		to.MinAddr = t.addr(x.AddrMin)
		to.MaxAddr = to.MinAddr
		if x.AddrMax != 0 {
			to.MaxAddr = t.addr(x.AddrMax)
		}
	}
	if x.Flags&expr.NATNetmap != 0 {
		to.MinAddr = t.netmap(x.Source, &to)
		to.MaxAddr = to.MinAddr
	}
	t.ports(&to, x.ProtoMin, x.ProtoMax)
	if t.err != nil {
		return
	}
	side := conntrack.Destination
	if x.Source {
		side = conntrack.Source
	}
	t.bound(t.targets.bind(t.s.conn, side, &conntrack.Range{NATRange: to}))
}

// natTo translates the destination to an address and a port.
func (t *nftRun) natTo(op *nftOp) {
	six := t.s.Is6()
	size := 4
	if six {
		size = 16
	}
	at, from := int(op.sreg), int(op.dreg)
	if (op.field == ipv6Family) != six || !t.regs.knows(at, size) || !t.regs.knows(from, 2) {
		t.nat(t.expr(op).(*expr.NAT))
		return
	}
	var to netip.Addr
	if six {
		to = netip.AddrFrom16([16]byte(t.regs.data[at : at+16]))
	} else {
		to = netip.AddrFrom4([4]byte(t.regs.data[at : at+4]))
	}
	t.bound(t.targets.dnatTo(t.s.conn, to, binary.BigEndian.Uint16(t.regs.data[from:])))
}

// bound is the verdict of a translation.
func (t *nftRun) bound(f fate) {
	if t.code = expr.Drop; f == accepted {
		t.code = expr.Accept
	}
}

func natFlags(f expr.NATFlags) netfilter.NATRange {
	return netfilter.NATRange{Random: f&expr.NATProtoRandom != 0, RandomFully: f&expr.NATProtoFullRandom != 0,
		Persistent: f&expr.NATPersistent != 0}
}

// addr is an address in a register, of the packet's family.
func (t *nftRun) addr(r expr.Register) netip.Addr {
	size := 4
	if t.s.Is6() {
		size = 16
	}
	at := r.Offset()
	if !t.regs.knows(at, size) {
		t.fail(errRegisterUnknown)
	}
	addr, _ := netip.AddrFromSlice(t.regs.bytes(at, size))
	return addr
}

// ports takes the range of ports from registers; 0: there is none.
func (t *nftRun) ports(to *netfilter.NATRange, low, high expr.Register) {
	if low == 0 {
		return
	}
	to.HasPorts, to.MinPort = true, t.port(low)
	to.MaxPort = to.MinPort
	if high != 0 {
		to.MaxPort = t.port(high)
	}
}

func (t *nftRun) port(r expr.Register) uint16 {
	if !t.regs.knows(r.Offset(), 2) {
		t.fail(errRegisterUnknown)
	}
	return binary.BigEndian.Uint16(t.regs.bytes(r.Offset(), 2))
}

// netmap is the address with the network of the range (nft_nat_setup_netmap).
func (t *nftRun) netmap(source bool, to *netfilter.NATRange) netip.Addr {
	addr := t.s.Dst
	if source {
		addr = t.s.Src
	}
	low, high := to.MinAddr.AsSlice(), to.MaxAddr.AsSlice()
	for i := range low {
		low[i] = ^(low[i] ^ high[i])
	}
	mask, _ := netip.AddrFromSlice(low)
	return mapAddr(addr, to.MinAddr, mask)
}

// masquerade is masq (net/netfilter/nft_masq.c).
func (t *nftRun) masquerade(x *expr.Masq) {
	to := natFlags(x.Flags)
	t.ports(&to, x.ProtoMin, x.ProtoMax)
	t.outcome.SourceTranslated = true
	t.bound(t.targets.masquerade(t.s, to))
}

// redirect is redir (net/netfilter/nft_redir.c).
func (t *nftRun) redirect(x *expr.Redir) {
	to := natFlags(x.Flags)
	t.ports(&to, x.ProtoMin, x.ProtoMax)
	t.bound(t.targets.redirect(t.s, to))
}

// reject answers the packet, which is dropped (net/netfilter/nft_reject_inet.c).
func (t *nftWalk) reject(x *expr.Reject) {
	s := t.s
	if !t.routesBack() {
		t.outcome.Verdict, t.outcome.To, t.outcome.RejectWith = Reject, ToNone, rejectText(x, s.Is6())
		return
	}
	if x.Kind == expr.RejectTCPReset {
		if s.Proto == inet.TCP {
			t.targets.reject(s, withReset)
		}
		return
	}
	code := x.Code
	if x.Kind == expr.RejectICMPX {
		if int(x.Code) >= len(rejectCodesX) {
			t.notWalked(x, "an unknown code")
			t.blame()
			return
		}
		code = rejectCodesX[x.Code][familyIndex(&s.Packet)]
	}
	t.targets.rejectWith(s, code)
}

// routesBack gives a packet that is rejected before it has a route the one to its sender (nf_reject_fill_skb_dst in
// net/ipv4/netfilter/nf_reject_ipv4.c). It is false if there is none.
func (t *nftWalk) routesBack() bool {
	s := t.s
	if s.hook != preRouting || s.routed {
		return true
	}
	to, _, err := t.targets.routes.routeOutput(&flow{dst: s.Src, in: loopbackName, chance: t.chance}, true)
	if err != nil {
		return false
	}
	s.path, s.routed = to, true
	return true
}

// rejectCodesX are the codes of IPv4 and IPv6 of what inet has one word for (nft_reject_icmp_code, nft_reject_icmpv6_code).
var rejectCodesX = [...][2]uint8{
	{0, 0},  // no route
	{3, 4},  // port unreachable
	{1, 3},  // host unreachable
	{13, 1}, // administratively prohibited
}

// rejectText is how REJECT calls an answer, in the words of --reject-with.
func rejectText(x *expr.Reject, six bool) string {
	code, family := x.Code, 0
	p := inet.Packet{Proto: inet.ICMP, ICMPType: unreachableType(six)}
	if six {
		p.Proto, family = inet.ICMPv6, 1
	}
	switch {
	case x.Kind == expr.RejectTCPReset:
		return withReset
	case x.Kind == expr.RejectICMPX && int(code) < len(rejectCodesX):
		code = rejectCodesX[code][family]
	}
	p.ICMPCode = code
	return ErrorName(&p)
}
