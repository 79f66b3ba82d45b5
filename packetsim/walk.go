package packetsim

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// walk is one packet's way through a host: how its stack receives, routes, forwards, sends and delivers it, and the hooks by which it
// comes. What happens at the hooks is conntrack's and the tables'.
type walk struct {
	course    // the rest but for table is nothing of a walk that has ended
	h         *Host
	hooks     familyHooks // of the rulesets that the walk began with
	packet    skb
	tunnels   int
	table     tableWalk
	nft       nftWalk
	conntrack packetTracker
	answers   answers
}

// newWalk takes a walk that has ended, if there is one: most of them need no memory of their own then.
func (h *Host) newWalk(c Chance, told text, o *Outcome) *walk {
	var w *walk
	if last := len(h.idle) - 1; last >= 0 {
		w, h.idle = h.idle[last], h.idle[:last]
	} else {
		w = h.makeWalk()
	}
	w.chance, w.told, w.outcome = c, told, o
	w.outcome.Verdict, w.outcome.To = Drop, ToNone
	if w.tells() {
		if w.outcome.Steps == nil {
			w.outcome.Steps = []Step{}
		}
		w.tale = tale{}
	}
	return w
}

// makeWalk gives each part of a walk what it needs of the others and of the host.
func (h *Host) makeWalk() *walk {
	w := &walk{h: h}
	w.answers = answers{course: &w.course, host: h, hooks: &w.hooks}
	w.conntrack = packetTracker{&w.course, &h.conns}
	w.table = tableWalk{course: &w.course, tally: &h.tally, values: &h.values, indexing: &h.indexing,
		match: matcher{course: &w.course, host: h.name, memory: h.memory, conns: &h.conns, routes: &h.routing, tally: &h.tally}}
	w.table.targets = targets{course: &w.course, match: &w.table.match, answers: &w.answers, memory: h.memory,
		conns: &h.conns, routes: &h.routing}
	w.nft = nftWalk{
		nftRun: nftRun{nftMachine: nftMachine{course: &w.course, targets: &w.table.targets}, tally: &h.tally}, values: &h.nftValues,
	}
	return w
}

// endWalk keeps the walk for the next one.
func (h *Host) endWalk(w *walk) {
	w.chance, w.outcome, w.err, w.hooks, w.packet, w.tunnels = nil, nil, nil, familyHooks{}, skb{}, 0
	w.answers.made, w.answers.copied = 0, false
	w.table.end()
	w.nft.end()
	h.idle = append(h.idle, w)
}

// run checks the input and sends it on its way.
func (w *walk) run(in *inet.Input) error {
	if err := checkInput(in); err != nil {
		return err
	}
	s := &w.packet
	s.Packet, s.given = in.Packet, w.h.given
	if !isAnswer(in) {
		w.h.memory.tick++
	}
	if in.Local {
		if (s.Proto == inet.TCP || s.Proto == inet.UDP) && (s.Socket == nil || !s.Socket.Raw) {
			s.sums = sumPartial
		}
		w.send(s, s.Is6() && s.Socket != nil && (s.Socket.None || s.Socket.Kernel || s.Socket.Raw)) // it is asked when a socket is bound
	} else {
		s.in = w.h.byName[in.In]
		if s.in == nil {
			return fmt.Errorf("packet: there is no device %q", in.In)
		}
		if bridge := w.h.bridgeOf(s.in); bridge != nil {
			w.receiveFrame(s, bridge, in.NextHop)
		} else {
			w.receive(s)
		}
	}
	w.finish(s)
	return w.err
}

// checkInput refuses what is no packet.
func checkInput(in *inet.Input) error {
	switch {
	case !in.Dst.IsValid():
		return errors.New("packet: Dst is not set")
	case in.Dst.Is4In6() || in.Src.Is4In6():
		return errors.New("packet: an IPv4 address is written as IPv6: use netip.Addr.Unmap")
	case !in.Local && !in.Src.IsValid():
		return errors.New("packet: Src is not set")
	case in.Src.IsValid() && in.Src.Is6() != in.Dst.Is6():
		return fmt.Errorf("packet: Src %s and Dst %s are of different families", in.Src, in.Dst)
	case in.Local && in.In != "":
		return fmt.Errorf("packet: it is local and also comes in by %s: want one of them", in.In)
	case in.Proto == inet.ICMP && in.Dst.Is6(), in.Proto == inet.ICMPv6 && in.Dst.Is4():
		return fmt.Errorf("packet: protocol %s is of the other family than %s", in.Proto, in.Dst)
	}
	return nil
}

// isAnswer says that the host's stack sends the packet because of the one that was delivered to it just now.
func isAnswer(in *inet.Input) bool {
	return in.Local && in.Socket != nil && (in.Socket.Kernel || in.Socket.None)
}

// receive takes a packet that came in by s.in. On lo it may have its route already.
func (w *walk) receive(s *skb) {
	if !s.in.Up {
		w.drop(ReasonDeviceDown)
		return
	}
	s.came = s.in
	if err := checkReceive(s, s.in); err != nil {
		w.refuse(err)
		return
	}
	if w.pass(s, preRouting, s.in, nil) {
		w.route(s)
	}
}

// route finds out where a packet that passed PREROUTING goes.
func (w *walk) route(s *skb) {
	if !s.routed {
		var err error
		s.path, err = w.h.routeInput(&s.Packet, s.in, w.chance)
		if w.tells() {
			w.tellRoute(s.path, err, Routing{})
		}
		if err != nil {
			w.routeError(s, err)
			return
		}
		s.routed = true
	}
	switch {
	case s.path.local:
		w.deliver(s)
	case s.path.typ == RouteMulticast: // by lo
		if w.hears(s) {
			w.deliver(s)
		} else {
			w.drop(ReasonNotMember)
		}
	default:
		w.forward(s)
	}
}

func (w *walk) deliver(s *skb) {
	if !w.pass(s, input, s.in, nil) {
		return
	}
	if s.sumIsWrong() {
		w.drop(ReasonChecksum)
		return
	}
	if dev := w.h.vxlanOf(&s.Packet); dev != nil {
		w.decapsulate(s, dev)
		return
	}
	w.outcome.Verdict, w.outcome.To = Accept, ToLocal
}

// forward is ip_forward and ip6_forward.
func (w *walk) forward(s *skb) {
	if s.Is6() && (s.Src.IsUnspecified() || s.Src.IsLoopback()) {
		w.drop(ReasonBadAddress)
		return
	}
	if s.cameToMany() {
		w.drop(ReasonFrameToMany)
		return
	}
	if s.Is6() && s.Src.IsLinkLocalUnicast() {
		w.routeError(s, ReasonBeyondScope)
		return
	}
	if s.HopLimit() <= 1 {
		w.routeError(s, ReasonTTLExceeded)
		return
	}
	if s.exceeds(s.path.out) {
		w.routeError(s, ReasonTooLong)
		w.outcome.Why = fmt.Sprintf("%d bytes are more than the MTU of %s", s.Size(), s.path.out.Name)
		return
	}
	s.TTL = s.HopLimit() - 1
	s.sums &^= sumComplete | sumKept // skb_forward_csum
	if w.pass(s, forward, s.in, s.path.out) && w.pass(s, postRouting, s.in, s.path.out) {
		w.leave(s)
	}
}

// exceeds says whether a packet is too long for the device that it is forwarded to, and must not be cut (ip_exceeds_mtu in
// net/ipv4/ip_forward.c, ip6_pkt_too_big in net/ipv6/ip6_output.c). A device whose MTU is not known takes all.
func (s *skb) exceeds(out *device) bool {
	switch {
	case out.MTU == 0:
		return false
	case s.Is6():
		return s.Size() > max(out.MTU, minMTU6)
	}
	return s.DontFragment && s.Size() > out.MTU
}

// minMTU6 is the least MTU of IPv6 (IPV6_MIN_MTU).
const minMTU6 = 1280

// send takes a packet of the host itself. With anySrc its source need not be the host's.
func (w *walk) send(s *skb, anySrc bool) {
	s.local = true
	src, err := w.h.routeOutputTo(&flow{dst: s.Dst, src: s.Src, mark: s.Mark, in: loopbackName, chance: w.chance}, anySrc, &s.path)
	if w.tells() {
		w.tellRoute(s.path, err, Routing{Src: chosenSource(s.Src, src)})
	}
	if err != nil {
		w.refuse(err)
		return
	}
	s.Src, s.routed = src, true
	switch {
	case s.TTL != 0 || s.Spent:
	case s.path.typ == RouteMulticast:
		s.TTL = groupTTL
	default:
		s.TTL = uint8(w.h.conf.defaultTTL)
	}
	w.sendRouted(s)
}

// groupTTL is what a socket sends to a group with, if no program has asked for another (IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS).
const groupTTL = 1

// sendRouted takes a packet of the host that has its route out.
func (w *walk) sendRouted(s *skb) {
	if !w.pass(s, output, nil, s.path.out) {
		return
	}
	if s.leavesForMany() {
		w.sendToMany(s)
		return
	}
	if !w.pass(s, postRouting, s.held, s.path.out) { // ip_output and ip6_output take the device that the packet still has
		return
	}
	if s.path.out.Name != loopbackName {
		w.leave(s)
		return
	}
	s.in, s.Socket = s.path.out, nil // the one that takes it is another
	w.answers.copied = false         // it is taken when all else is done
	w.receive(s)
}

// leave hands the packet to the device.
func (w *walk) leave(s *skb) {
	if s.path.out.VXLAN != nil {
		w.encapsulate(s)
		return
	}
	o := w.outcome
	if port := w.h.portTo(s.path.out, s.path.nextHop); port != nil {
		o.Port = port.Name
	}
	o.Verdict, o.To, o.Out, o.NextHop = Accept, ToForward, s.path.out.Name, s.path.nextHop
}

// reroute looks up the route again after a change of OUTPUT (ip_route_me_harder): the source may be foreign now. The rest of
// the hook still sees the first device.
func (w *walk) reroute(s *skb) bool {
	_, err := w.h.routeOutputTo(&flow{dst: s.Dst, src: s.Src, mark: s.Mark, in: loopbackName, chance: w.chance}, true, &s.path)
	if w.tells() {
		w.notice(s, "")
		w.tellRoute(s.path, err, Routing{Again: true})
	}
	if err != nil {
		w.refuse(err)
		return false
	}
	return true
}

// pass takes the packet through a hook. It is false if the packet goes no further.
func (w *walk) pass(s *skb, at hook, in, out *device) bool {
	s.hook, s.in, s.out = at, in, out
	w.outcome.Passed |= oneHook(at, s.Is6())
	if w.tells() {
		w.tellHook(s, at)
	}
	if s.hooks = w.hooksOf(&s.Packet); s.hooks == nil {
		return true
	}
	return s.hooks.entries.run(w, s, at)
}

// mangle runs a table mangle, after which a packet of the host may need another route. One that nf_tables queued gets none
// (nf_route_table_hook4 in net/netfilter/nft_chain_route.c).
func (w *walk) mangle(s *skb, base *baseChain) bool {
	w.table.targets.bypassed = false
	before := routedByOf(s)
	if !w.table.run(s, base) {
		return false
	}
	if s.TOS != before.tos || s.HopLimit() != before.ttl { // which do not tell the sum of all bytes either
		s.sums &^= sumKept
	}
	if w.table.targets.bypassed && base.rules.Dialect() == netfilter.NFT {
		return true
	}
	return w.rerouteAfter(s, &before)
}

// nftRoute runs a chain of nf_tables of the type route.
func (w *walk) nftRoute(s *skb, base *nftBase) bool {
	before := routedByOf(s)
	return w.nft.run(s, base) && w.rerouteAfter(s, &before)
}

// routedBy is what the route of a host's own packet depends on.
type routedBy struct {
	dst, src netip.Addr
	mark     uint32
	tos, ttl uint8
}

func routedByOf(s *skb) routedBy { return routedBy{s.Dst, s.Src, s.Mark, s.TOS, s.HopLimit()} }

// rerouteAfter gives a host's own packet another route, if a chain of OUTPUT has changed what that depends on.
func (w *walk) rerouteAfter(s *skb, before *routedBy) bool {
	now := routedByOf(s)
	if !s.Is6() {
		now.ttl = before.ttl
	}
	return s.hook != output || now == *before || w.reroute(s)
}

// finish writes down what the packet is at the end.
func (w *walk) finish(s *skb) {
	o := w.outcome
	o.Packet = s.Packet
	o.Final = FinalOf(&s.Packet)
	if s.drawn && o.To == ToForward {
		o.Final.SrcPort = 0
	}
	if s.conn == nil || s.dir != conntrack.Original || s.relation == isRelated {
		return
	}
	o.Masqueraded = s.conn.SrcNAT
	if s.conn.DstNAT && w.told&tellDNAT != 0 {
		o.DNAT = w.h.texts.addrPort(&s.conn.Tuples[conntrack.Reply])
	}
	if s.conn.ChosenPort && o.To == ToForward {
		o.Final.SrcPort = 0
	}
}

// FinalOf is the packet's header as trace reports it.
func FinalOf(p *inet.Packet) Final {
	return Final{Proto: p.Proto, Src: p.Src, SrcPort: p.SrcPort, Dst: p.Dst, DstPort: p.DstPort, Mark: p.Mark}
}
