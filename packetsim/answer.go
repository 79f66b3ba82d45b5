package packetsim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// answers are the packets that the host makes because of the one that is walked: errors, resets, copies. Each is walked out by a walk of
// its own, whose outcome is a part of this one's.
type answers struct {
	*course
	host   *Host
	hooks  *familyHooks // of the rulesets that the walk began with
	made   int          // how many packets were made, each because of the one before it, of which this is the last
	copied bool         // the packet is a copy that TEE made, or one made because of it that has not come in: neither is copied
}

// sendError sends an ICMP error about the packet, unless Linux sends none (icmp_send in net/ipv4/icmp.c, icmp6_send in net/ipv6/icmp.c).
func (a *answers) sendError(s *skb, typ, code uint8) {
	if s.IsICMPError() || s.Proto == inet.ICMP && s.ICMPType > lastICMPType || s.goesToMany() || s.cameToMany() || s.Src.IsUnspecified() ||
		s.Src.IsMulticast() {
		return
	}
	quoted := s.Packet
	answer := inet.Packet{Proto: inet.ICMP, Dst: s.Src, ICMPType: typ, ICMPCode: code, Inner: &quoted, Socket: &inet.Socket{Kernel: true}}
	reflect := a.host.conf.fwmarkReflect
	if s.Is6() {
		answer.Proto, reflect = inet.ICMPv6, a.host.conf.fwmarkReflect6
	} else {
		answer.TOS = s.TOS&errorTOSKept | errorTOS
	}
	if reflect {
		answer.Mark = s.Mark
	}
	if s.Is6() && a.host.hasAddress(s.Dst) && !s.isElsewhere6() || s.Dst.Is4() && s.routed && s.path.local {
		answer.Src = s.Dst
	} else if s.Is6() && s.came != nil {
		answer.Src = a.host.errorSource6(s)
	}
	a.answer(answerOf(s, answer), false)
}

// isElsewhere6 says whether the packet came in by another device than the one that has its destination, which is of a link or of the host
// (ipv6_chk_addr in net/ipv6/addrconf.c).
func (s *skb) isElsewhere6() bool {
	return s.came != nil && (s.Dst.IsLoopback() || s.Dst.IsLinkLocalUnicast()) &&
		!slices.ContainsFunc(s.came.Addresses, func(a Address) bool { return a.Prefix.Addr() == s.Dst })
}

// goesToMany says whether the packet is for several machines, to none of which anybody answers with an error.
func (s *skb) goesToMany() bool {
	return s.path.isToMany() || s.Dst.IsMulticast()
}

// ICMP errors of IPv4 are for the control of networks, and keep a part of the TOS of what they are about (IPTOS_PREC_INTERNETCONTROL and
// IPTOS_TOS_MASK).
const (
	errorTOS     = 0xc0
	errorTOSKept = 0x1e
)

// lastICMPType is the last type that IPv4 knows (NR_ICMP_TYPES): packets of others get no answer.
const lastICMPType = 18

// errorSource6 is the source of an ICMPv6 error: the one of its route, else an address of the device that the packet came in by. It may be
// none.
func (h *routing) errorSource6(s *skb) netip.Addr {
	r, err := h.fib(s.Src).lookup(&flow{dst: s.Src, src: netip.IPv6Unspecified(), in: loopbackName})
	if err != nil || r.Src.IsValid() {
		return netip.Addr{}
	}
	return h.selectAddr6(s.came, s.Src)
}

// answerOf is an answer to the packet. It belongs to the packet's connection from the start, be it confirmed or not (nf_ct_attach). Of one
// that is not tracked it has no connection, and still is no packet without one to those who look for either (nf_conntrack_attach).
func answerOf(s *skb, answer inet.Packet) *skb {
	p := &skb{Packet: answer, conn: s.conn, attached: s.relation == isUntracked}
	if s.conn != nil {
		p.relation, p.dir = isRelated, 1-s.dir
	}
	return p
}

// sendReset sends a TCP reset as if from the packet's destination (nf_send_reset). It belongs to the
// packet's connection.
func (a *answers) sendReset(s *skb) {
	if s.Proto != inet.TCP {
		a.fail(errors.New("rule: REJECT with tcp-reset meets a packet that is not TCP"))
		return
	}
	// Of a packet of IPv4 its route counts, which before the routing is the one to its sender (nf_reject_fill_skb_dst in nf_reject_ipv4.c).
	if s.TCPFlags&inet.RST != 0 || !s.sumHolds() || s.path.isToMany() || s.Is6() && s.Dst.IsMulticast() {
		return
	}
	answer := inet.Packet{Proto: inet.TCP, Src: s.Dst, SrcPort: s.DstPort, Dst: s.Src, DstPort: s.SrcPort, TCPFlags: inet.RST | inet.ACK,
		Socket: &inet.Socket{None: true}}
	if s.TCPFlags&inet.ACK != 0 {
		answer.TCPFlags = inet.RST
	}
	answer.Numbers = inet.ResetNumbers(&s.Packet)
	if s.Is6() && a.host.conf.fwmarkReflect6 || s.Dst.Is4() && a.host.conf.fwmarkReflect {
		answer.Mark = s.Mark
	}
	a.host.conns.CloseTCP(s.conn)
	a.answer(answerOf(s, answer), true)
}

// answer sends a packet that the host makes because of the one it walks, and adds it to the outcome.
func (a *answers) answer(p *skb, anySrc bool) {
	f := &flow{dst: p.Dst, src: p.Src, mark: p.Mark, in: loopbackName, chance: a.chance}
	if _, src, err := a.host.routeOutput(f, anySrc); err == nil {
		p.Src = src
	}
	a.emit(Reply{Packet: p.Packet}, p, func(sub *walk) { sub.send(p, anySrc) })
}

// maxMade is the number of packets, each made because of the one before it, after which a walk is taken for endless.
const maxMade = 32

var errEndless = errors.New("not supported: a packet is copied or answered again and again")

// emit walks a packet out that the host has made, and adds it to the outcome.
func (a *answers) emit(made Reply, p *skb, send func(sub *walk)) {
	if a.made == maxMade {
		a.fail(errEndless)
		return
	}
	made.After = len(a.outcome.Steps)
	before := len(a.outcome.Replies)
	a.outcome.Replies = append(a.outcome.Replies, made)
	reply := &a.outcome.Replies[before]
	sub := a.host.newWalk(a.chance, a.told, &reply.Outcome)
	sub.hooks, sub.answers.made, sub.answers.copied = *a.hooks, a.made+1, a.copied || made.Copy && !made.Looped
	defer a.host.endWalk(sub)
	send(sub)
	sub.finish(p)
	if sub.err != nil {
		a.outcome.Replies = a.outcome.Replies[:before]
		a.fail(fmt.Errorf("%s in answer: %w", made.Packet.Proto, sub.err))
		return
	}
	if !made.Packet.Src.IsValid() {
		reply.Packet.Src = inet.Unspecified(made.Packet.Dst)
	}
}
