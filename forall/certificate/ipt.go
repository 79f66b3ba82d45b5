package certificate

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// ipt reads a rule of iptables, which the packet that was walked met or missed.
func (r *reader) ipt(dialect netfilter.Dialect, table, chain string, number int, met bool) error {
	rule, err := r.host.iptRule(dialect, table, chain, number)
	if err != nil {
		return err
	}
	q := iptReading{reader: r}
	q.rule(rule)
	if q.unread == "" && !isHarmless(rule) {
		q.unread = q.unsaid
	}
	if err := r.judge(q.failed, q.unread, met); err != nil || !met || r.cut != nil {
		return err
	}
	return r.iptTarget(rule.Target)
}

// judge says what a rule's conditions mean for the cell: where one fails for all packets, what the others cut plays no part.
func (r *reader) judge(failed bool, unread string, met bool) error {
	switch {
	case failed && met:
		return fmt.Errorf("%s: the walk meets it, but no packet does by its conditions (please report this mistake of chainwalk)", r.by)
	case failed:
		r.cut = nil
	case r.cut != nil: // its parts are looked at, for some of which another condition may fail
	case unread != "":
		return fmt.Errorf("%s: it cannot be checked what %s", r.by, unread)
	}
	return nil
}

// iptReading is what was read of a rule's conditions.
type iptReading struct {
	*reader
	failed bool
	unread string // what cannot be read
	unsaid string // what the class does not say
}

// isHarmless says whether it makes no difference to a packet's fate whether it meets a rule.
func isHarmless(r *xtables.Rule) bool {
	for _, m := range r.Matches {
		if _, remembers := m.(*match.Recent); remembers {
			return false
		}
	}
	switch r.Target.(type) {
	case nil, *target.Log, *target.NFLOG, *target.Audit:
		return true
	}
	return false
}

// says notes that the class does not say something.
func (q *iptReading) says(nothingOf string) {
	if q.unsaid == "" {
		q.unsaid = q.class.unsaid(nothingOf)
	}
}

func (q *iptReading) take(a answer) { q.failed = q.failed || a == fails }

func (q *iptReading) takeNot(a answer) { q.failed = q.failed || a == holds }

func (q *iptReading) cannot(what string) {
	if q.unread == "" {
		q.unread = what
	}
}

func (q *iptReading) rule(r *xtables.Rule) {
	q.addr(dst, r.Dst)
	q.addr(src, r.Src)
	if r.In != nil {
		q.take(q.byDevice(func(name string) bool { return isDevice(r.In, name) }))
	}
	if n := r.Proto.Number; n != 0 && n < 256 {
		q.take(q.test(proto, []span{one(number(uint64(n)))}, r.Proto.Invert))
	}
	for _, m := range r.Matches {
		q.match(m)
	}
}

func isDevice(m *xtables.IfaceMatch, name string) bool {
	if m.Prefix {
		return strings.HasPrefix(name, m.Name) != m.Invert
	}
	return (name == m.Name) != m.Invert
}

// addr is -s or -d.
func (q *iptReading) addr(f field, m *xtables.AddrMatch) {
	if m == nil {
		return
	}
	bits, isPrefix := 0, true
	for i, octet := range m.Mask.AsSlice() {
		for bit := range 8 {
			if octet&(0x80>>bit) != 0 {
				isPrefix = isPrefix && bits == 8*i+bit
				bits++
			}
		}
	}
	if !isPrefix {
		q.cannot("a mask says that is no prefix")
		return
	}
	in := []span{spanOf(netip.PrefixFrom(m.Addr, bits))}
	if netip.PrefixFrom(m.Addr, bits).Masked().Addr() != m.Addr {
		in = nil // bits that the mask hides are set
	}
	q.take(q.test(f, in, m.Invert))
}

func (q *iptReading) ports(f field, m xtables.PortRange, invert bool) {
	q.take(q.test(f, []span{{number(uint64(m.Min)), number(uint64(m.Max))}}, invert))
}

func (q *iptReading) proto(n uint64) { q.take(q.test(proto, []span{one(number(n))}, false)) }

// match reads a match. Those of which nothing is said are the same for all packets of a class: marks, what conntrack knows of a first
// packet, draws, what nobody has counted or remembered before.
func (q *iptReading) match(m xtables.Match) {
	switch m := m.(type) {
	case *match.TCP:
		q.proto(6)
		q.ports(srcPort, m.SrcPorts, m.InvSrc)
		q.ports(dstPort, m.DstPorts, m.InvDst)
		if !q.class.hasFlags && (m.FlagMask != 0 || m.FlagComp != 0 || m.InvFlags) {
			q.says("the flags of TCP packets are")
		}
		if !q.class.whole && (m.Option != 0 || m.InvOption) {
			q.says("the options of TCP packets are")
		}
	case *match.UDP:
		q.proto(17)
		q.ports(srcPort, m.SrcPorts, m.InvSrc)
		q.ports(dstPort, m.DstPorts, m.InvDst)
	case *match.SCTP:
		q.proto(132)
		q.ports(srcPort, m.SrcPorts, m.InvSrc)
		q.ports(dstPort, m.DstPorts, m.InvDst)
	case *match.ICMP:
		q.take(q.test(proto, []span{one(number(1)), one(number(58))}, false))
		if !m.Any && !q.class.pings {
			q.says("the type of ICMP packets is")
		}
	case *match.Multiport:
		q.multiport(m)
	case *match.State:
		q.state(m)
	case *match.Conntrack:
		q.conntrack(m)
	case *match.IPRange:
		q.addrRange(dst, m.Dst)
		q.addrRange(src, m.Src)
	case *match.Addrtype:
		q.addrtype(m)
	case *match.RPFilter:
		q.rpfilter(m)
	case *match.Devgroup, *match.Physdev:
		q.take(q.oneDevice())
	case *match.Connmark, *match.Helper, *match.Connbytes, *match.Connlabel, *match.Connlimit:
		if q.mayHaveConn() {
			q.says("the match " + m.Name() + " says")
		}
	case *match.Length:
		if !q.class.whole {
			q.says("the length of packets is")
		}
	case *match.Comment, *match.Mark, *match.Statistic, *match.NFAcct, *match.Recent, *match.Limit, *match.Hashlimit,
		*match.Quota, *match.Policy, *match.Time, *match.TTL, *match.TOS, *match.DSCP, *match.Owner:
	default:
		q.cannot("the match " + m.Name() + " says")
	}
}

func (q *iptReading) multiport(m *match.Multiport) {
	var in []span
	for _, p := range m.Ports {
		in = append(in, span{number(uint64(p.Min)), number(uint64(p.Max))})
	}
	q.take(q.test(proto, []span{one(number(6)), one(number(17)), one(number(132))}, false))
	switch m.Side {
	case match.MultiportDest:
		q.take(q.test(dstPort, in, m.Invert))
	case match.MultiportSource:
		q.take(q.test(srcPort, in, m.Invert))
	default:
		either := q.test(dstPort, in, false)
		if either == fails {
			either = q.test(srcPort, in, false)
		}
		if m.Invert {
			q.takeNot(either)
		} else {
			q.take(either)
		}
	}
}

func (q *iptReading) addrRange(f field, m *match.AddrRange) {
	if m != nil {
		q.take(q.test(f, []span{{valueOf(m.Min), valueOf(m.Max)}}, m.Invert))
	}
}

// addrtype asks for the types of addresses.
func (q *iptReading) addrtype(m *match.Addrtype) {
	t := q.host.terrain
	device := func(in string) string {
		switch {
		case m.LimitIfaceIn:
			return in
		case m.LimitIfaceOut:
			return q.out
		}
		return ""
	}
	type types struct {
		types match.AddrTypeSet
		field field
		out   string
	}
	ask := func(f field, set match.AddrTypeSet) {
		if set == 0 {
			return
		}
		out := ""
		if m.LimitIfaceOut {
			out = q.out
		}
		_ = q.fixedBy(&asked{what: types{set, f, out}, in: m.LimitIfaceIn, src: f == src, of: func(dst, src netip.Addr, in string) any {
			if f == field(3) {
				dst = src
			}
			return t.HasType(dst, device(in), set)
		}})
	}
	ask(dst, m.DstTypes)
	ask(src, m.SrcTypes)
}

func (q *iptReading) rpfilter(m *match.RPFilter) {
	t, hook, mark := q.host.terrain, netfilter.PreRouting, q.mark
	q.take(q.fixedBy(&asked{what: *m, mark: mark, in: true, src: true, of: func(dst, src netip.Addr, in string) any {
		p := packetsim.Place{Hook: hook, In: in}
		p.Packet.Dst, p.Packet.Src, p.Packet.Mark = dst, src, mark
		is, err := t.Matches(m, &p)
		return [2]any{is, err}
	}}))
}

// iptTarget reads what a target asks of the packets that meet it.
func (r *reader) iptTarget(t xtables.Target) error {
	switch t := t.(type) {
	case *target.Notrack, *target.CT:
		r.state = "" // it may be another one now
		return nil
	case *target.Connmark:
		if t.Mode == target.ConnmarkRestore && r.mayHaveConn() {
			return fmt.Errorf("%s: it cannot be checked what %s", r.by, r.class.unsaid("the mark of the connection is"))
		}
		return nil
	case nil, *xtables.TargetVerdict, *xtables.Jump, *xtables.Queue, *target.Mark, *target.Reject, *target.Log, *target.NFLOG,
		*target.Trace, *target.TEE, *target.Checksum, *target.Audit, *target.Classify, *target.Set, *target.TCPMSS,
		*target.TOS, *target.DSCP, *target.NFQUEUE, *target.Idletimer, *target.Rateest:
		return nil
	case *target.DNAT:
		return r.translation(&t.Range, t.BasePort != 0)
	case *target.SNAT:
		return r.translation(&t.Range, false)
	case *target.Redirect:
		_ = r.oneDevice()
		return r.translation(&t.Range, false)
	case *target.Masquerade:
		r.masquerade()
		return nil
	}
	return fmt.Errorf("%s: it cannot be checked what the target %s does", r.by, t.Name())
}

// translation asks what NAT asks: whether a protocol has ports. A range of addresses is chosen from by a hash of the packet.
func (r *reader) translation(to *netfilter.NATRange, shifts bool) error {
	if shifts || to.Shifted || to.MinAddr != to.MaxAddr {
		return fmt.Errorf("%s: it cannot be checked what it chooses from a range", r.by)
	}
	_ = r.oneProto()
	return nil
}

// masquerade asks for the address of the device by which packets leave.
func (r *reader) masquerade() {
	t, out, hop := r.host.terrain, r.out, r.hop
	type masquerade struct {
		out string
		hop netip.Addr
	}
	if hop == r.span(dst).first.addr(r.six) { // the packet that was walked is of the first destination
		hop = netip.Addr{} // each is its own next hop
	}
	if r.fixedBy(&asked{what: masquerade{out, hop}, of: func(dst, _ netip.Addr, _ string) any {
		if hop.IsValid() {
			return t.MasqueradeAddr(out, hop, dst)
		}
		return t.MasqueradeAddr(out, dst, dst)
	}}) == cuts {
		return
	}
	nobody := valueOf(netip.IPv6Unspecified())
	_ = r.test(src, []span{one(nobody)}, false)
	_ = r.oneProto()
}
