package forall

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// match adds what a match asks for. What no variable is about is a condition with a name.
func (q *cond) match(m xtables.Match, c *chain, number int) {
	switch m := m.(type) {
	case *match.Comment:
	case *match.TCP:
		q.tcp(m, c)
	case *match.UDP:
		q.protos(false, inet.UDP)
		q.portsOf(m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
	case *match.SCTP:
		q.protos(false, inet.SCTP)
		q.portsOf(m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
		if m.Chunks != nil {
			q.named(c.matchText(m))
		}
	case *match.ICMP:
		q.icmp(m)
	case *match.Multiport:
		q.multiport(m)
	case *match.State:
		q.holds((q.st.rel.bit()&m.States != 0) != m.Invert)
	case *match.Conntrack:
		q.conntrack(m, c, number)
	case *match.Mark:
		q.holds((q.st.mark&m.Mask == m.Value) != m.Invert)
	case *match.Connmark:
		q.connmark(m, c)
	case *match.IPRange:
		q.addrRange(m.Src, (*cond).src)
		q.addrRange(m.Dst, (*cond).dst)
	case *match.Addrtype:
		q.addrtype(m)
	default:
		q.matchMore(m, c, number)
	}
}

// matchMore is match for what draws and remembers, and for what has a name only.
func (q *cond) matchMore(m xtables.Match, c *chain, number int) {
	switch m := m.(type) {
	case *match.Statistic:
		if m.Mode != match.StatisticRandom {
			q.namedAt(c.matchText(m), c, number)
			return
		}
		w := q.b.drawOf(m.Probability)
		if m.Invert {
			w = w.Rest()
		}
		q.never = q.never || w.IsZero()
		q.draw(w)
	case *match.NFAcct:
		if m.Name() != "nfacct" {
			q.named(c.matchText(m))
		}
	case *match.Recent:
		if m.Mode == match.RecentSet && !m.Invert {
			return // it remembers the packet, and holds
		}
		q.named(c.matchText(m) + q.st.afterWrite())
	case *match.Set:
		q.named(c.matchText(m))
	case *match.Policy:
		q.pure(m)
	case *match.Devgroup:
		q.devgroup(m)
	case *xtables.OpaqueMatch:
		q.fails("the match " + m.Extension + ", which is not known")
	default:
		q.namedAt(c.matchText(m), c, number)
	}
}

// writes says whether a rule changes a list of recent as far as its other matches let it.
func (r *iptRule) writes() bool {
	for _, m := range r.Matches {
		if m, is := m.(*match.Recent); is && m.Mode != match.RecentRCheck {
			return true
		}
	}
	return false
}

// bit is how --state and --ctstate call the relation.
func (r relation) bit() match.CTState {
	return [...]match.CTState{unseen: match.CTInvalid, untracked: match.CTUntracked, templated: match.CTNew, fresh: match.CTNew,
		established: match.CTEstablished,
		related:     match.CTRelated}[r]
}

// flags is the flags of TCP packets of the class.
func (b *builder) flags() (flags uint8, known bool) {
	if b.ends == asReplies {
		return uint8(inet.SYN | inet.ACK), true
	}
	switch b.class {
	case New, Untracked:
		return uint8(inet.SYN), true
	case Established, Replying:
		return uint8(inet.ACK), true
	}
	return 0, false
}

func (q *cond) tcp(m *match.TCP, c *chain) {
	q.protos(false, inet.TCP)
	q.portsOf(m.SrcPorts, m.DstPorts, m.InvSrc, m.InvDst)
	if flags, known := q.b.flags(); known {
		q.holds((flags&m.FlagMask == m.FlagComp) != m.InvFlags)
	} else if m.FlagMask != 0 || m.FlagComp != 0 || m.InvFlags {
		q.named(c.matchText(&match.TCP{SrcPorts: anyPort, DstPorts: anyPort, FlagMask: m.FlagMask, FlagComp: m.FlagComp, InvFlags: m.InvFlags}))
	}
	if m.Option != 0 {
		q.named(c.matchText(&match.TCP{SrcPorts: anyPort, DstPorts: anyPort, Option: m.Option, InvOption: m.InvOption}))
	}
}

var anyPort = xtables.PortRange{Max: 65535}

// icmp asks for the type of echo requests, which the pings of first packets are.
func (q *cond) icmp(m *match.ICMP) {
	proto, echo := inet.ICMP, uint8(inet.ICMPEcho)
	if q.b.six {
		proto, echo = inet.ICMPv6, inet.ICMPv6Echo
	}
	q.protos(false, proto)
	switch {
	case m.Any:
		q.holds(!m.Invert)
	case q.b.ends == asReplies:
		q.holds((m.Type == q.b.pong() && m.CodeMin == 0) != m.Invert)
	case q.b.class == New || q.b.class == Established || q.b.class == Untracked:
		q.holds((m.Type == echo && m.CodeMin == 0) != m.Invert)
	default:
		q.fails("the type of an ICMP message of the class " + q.b.class.String())
	}
}

func (q *cond) multiport(m *match.Multiport) {
	q.need(vProto, portedProtos, false)
	in := ports(m.Ports...)
	switch m.Side {
	case match.MultiportDest:
		q.dstPort(in, m.Invert)
	case match.MultiportSource:
		q.srcPort(in, m.Invert)
	default:
		b := q.b
		dst, src := b.newCond(q.st), b.newCond(q.st)
		dst.dstPort(in, false)
		src.srcPort(in, false)
		q.also(b.then(dst.id(), b.s.One(yes), src.id()), m.Invert)
	}
}

func (q *cond) addrRange(m *match.AddrRange, ask func(*cond, diagram.Set, bool)) {
	if m != nil {
		ask(q, diagram.SetOf(diagram.Interval{First: valueOf(m.Min), Last: valueOf(m.Max)}), m.Invert)
	}
}

func (q *cond) connmark(m *match.Connmark, c *chain) {
	switch {
	case q.st.rel == templated:
		q.fails(ofTemplate)
	case !q.st.rel.tracked():
		q.holds(false)
	case !q.b.knowsEntry(q.st):
		q.named(c.matchText(m))
	default:
		q.holds((q.st.ctmark&m.Mask == m.Value) != m.Invert)
	}
}

// addrtype asks the terrain for the types of the addresses.
func (q *cond) addrtype(m *match.Addrtype) {
	b := q.b
	on := func(dev *packetsim.Device) diagram.ID {
		name := ""
		if dev != nil {
			name = dev.Name
		}
		own := b.newCond(q.st)
		if m.SrcTypes != 0 {
			has := b.where("addrtype "+name+" "+string(rune(m.SrcTypes)), func(v diagram.Value) bool {
				return b.t.HasType(addrOf(v, b.six), name, m.SrcTypes)
			})
			own.src(has, m.InvSrc)
		}
		if m.DstTypes != 0 {
			own.holds(b.t.HasType(b.views[q.st.view].addr, name, m.DstTypes) != m.InvDst)
		}
		return own.id()
	}
	switch {
	case m.LimitIfaceIn:
		q.more = append(q.more, b.eachIn(q.st, on))
	case m.LimitIfaceOut:
		q.more = append(q.more, on(b.out(q.st)))
	default:
		q.more = append(q.more, on(nil))
	}
}

// devgroup asks for the groups of the devices.
func (q *cond) devgroup(m *match.Devgroup) {
	b := q.b
	q.more = append(q.more, b.eachIn(q.st, func(in *packetsim.Device) diagram.ID {
		return b.answer(b.t.Matches(m, b.placeOf(q.st, in)))
	}))
}

// pure asks a match that looks at nothing of the packet.
func (q *cond) pure(m xtables.Match) {
	q.more = append(q.more, q.b.answer(q.b.t.Matches(m, q.b.placeOf(q.st, nil))))
}

// answer is what a walk says as a function.
func (b *builder) answer(holds bool, err error) diagram.ID {
	switch {
	case err != nil:
		return b.unmodelled(err.Error())
	case holds:
		return b.s.One(yes)
	}
	return b.s.One(no)
}

// placeOf is a packet in a state, but for what the variables say.
func (b *builder) placeOf(st *state, in *packetsim.Device) *packetsim.Place {
	p := &packetsim.Place{Hook: st.hook, Local: st.origin != fromWire, Routed: st.routed, Way: *b.way(st)}
	p.Packet.Mark = st.mark
	p.Packet.Dst, p.Packet.Src = netip.IPv4Unspecified(), netip.IPv4Unspecified()
	if b.six {
		p.Packet.Dst, p.Packet.Src = netip.IPv6Unspecified(), netip.IPv6Unspecified()
	}
	if st.view != anyView {
		p.Packet.Dst = b.views[st.view].addr
	}
	if in != nil {
		p.In = in.Name
	}
	if out := b.out(st); out != nil {
		p.Out = out.Name
	}
	return p
}
