package packetsim

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// rejectCodes are the codes of the ICMP "destination unreachable" messages by their names in --reject-with.
var rejectCodes = map[string]uint8{
	"icmp-net-unreachable": 0, "icmp-host-unreachable": 1, "icmp-proto-unreachable": 2, "icmp-port-unreachable": 3,
	"icmp-net-prohibited": 9, "icmp-host-prohibited": 10, "icmp-admin-prohibited": 13,
	"icmp6-no-route": 0, "icmp6-adm-prohibited": 1, "icmp6-addr-unreachable": 3, "icmp6-port-unreachable": 4,
	"icmp6-policy-fail": 5, "icmp6-reject-route": 6,
}

const withReset = "tcp-reset"

// ErrorName is the word for what an ICMP error says, as Outcome.RejectWith has it: that of REJECT's --reject-with where there is one, else
// icmp-time-exceeded and the like, or icmp-3/4 for what has no word. Of a packet that is no ICMP error it is empty.
func (p *Packet) ErrorName() string {
	if !p.IsICMPError() {
		return ""
	}
	family := "icmp"
	if p.Proto == ICMPv6 {
		family = "icmp6"
	}
	for name, code := range rejectCodes {
		if p.ICMPType == unreachableType(p.Proto == ICMPv6) && code == p.ICMPCode && strings.HasPrefix(name, family+"-") {
			return name
		}
	}
	for _, r := range routeReasons {
		switch {
		case p.Proto == ICMP && r.with != "" && r.type4 == p.ICMPType && r.code4 == p.ICMPCode:
			return r.with
		case p.Proto == ICMPv6 && r.type6 == p.ICMPType && r.code6 == p.ICMPCode:
			return r.with6
		}
	}
	return fmt.Sprintf("%s-%d/%d", family, p.ICMPType, p.ICMPCode)
}

// unreachableType is the type of "destination unreachable".
func unreachableType(six bool) uint8 {
	if six {
		return ICMPv6Unreachable
	}
	return ICMPUnreachable
}

// reject is -j REJECT with an answer, by its word in --reject-with (net/ipv4/netfilter/nf_reject_ipv4.c and its IPv6 twin).
func (w *walk) reject(s *skb, with string) fate {
	w.outcome.Verdict, w.outcome.To, w.outcome.RejectWith = Reject, ToNone, with
	if with == withReset {
		w.sendReset(s)
		return stopped
	}
	code, known := rejectCodes[with]
	if !known {
		return w.unsupported("REJECT --reject-with " + with)
	}
	if !s.rejectsSum() {
		w.sendError(s, unreachableType(s.Is6()), code)
	}
	return stopped
}

// icmpReason is the ICMP message that answers a routing error.
type icmpReason struct {
	with  string
	type4 uint8
	code4 uint8
	with6 string
	type6 uint8
	code6 uint8
}

// routeReasons are the routing errors that the sender is told (ip_error, ip6_pkt_discard, ip_forward); the others drop silently.
var routeReasons = map[error]icmpReason{
	errNoRoute:          {"icmp-net-unreachable", ICMPUnreachable, 0, "icmp6-no-route", ICMPv6Unreachable, 0},
	errRouteUnreachable: {"icmp-host-unreachable", ICMPUnreachable, 1, "icmp6-no-route", ICMPv6Unreachable, 0},
	errRouteProhibited:  {"icmp-admin-prohibited", ICMPUnreachable, 13, "icmp6-adm-prohibited", ICMPv6Unreachable, 1},
	errTimeExceeded:     {"icmp-time-exceeded", ICMPTimeExceeded, 0, "icmp6-time-exceeded", ICMPv6TimeExceeded, 0},
	errBeyondScope:      {"", 0, 0, "icmp6-beyond-scope", ICMPv6Unreachable, 2},
}

// routeError ends the walk of a packet that came in and cannot be routed.
func (w *walk) routeError(s *skb, err error) {
	if errors.Is(err, errGroupUnknown) {
		w.fail(err)
		return
	}
	why, told := routeReasons[err]
	if !told || (s.Dst.Is4() && !s.in.conf.forwarding) {
		w.drop(err.Error())
		return
	}
	o := w.outcome
	with, typ, code := why.with, why.type4, why.code4
	if s.Is6() {
		with, typ, code = why.with6, why.type6, why.code6
	}
	o.Verdict, o.To, o.RejectWith, o.Reason = Reject, ToNone, with, err.Error()
	w.sendError(s, typ, code)
}

// sendError sends an ICMP error about the packet, unless Linux sends none (icmp_send in net/ipv4/icmp.c, icmp6_send in net/ipv6/icmp.c).
func (w *walk) sendError(s *skb, typ, code uint8) {
	if s.IsICMPError() || s.Proto == ICMP && s.ICMPType > lastICMPType || s.goesToMany() || s.cameToMany() || s.Src.IsUnspecified() ||
		s.Src.IsMulticast() {
		return
	}
	quoted := s.Packet
	answer := Packet{Proto: ICMP, Dst: s.Src, ICMPType: typ, ICMPCode: code, Inner: &quoted, Socket: &Socket{Kernel: true}}
	reflect := w.h.conf.fwmarkReflect
	if s.Is6() {
		answer.Proto, reflect = ICMPv6, w.h.conf.fwmarkReflect6
	} else {
		answer.TOS = s.TOS&errorTOSKept | errorTOS
	}
	if reflect {
		answer.Mark = s.Mark
	}
	if s.Is6() && w.h.hasAddress(s.Dst) || s.Dst.Is4() && s.routed && s.path.local {
		answer.Src = s.Dst
	} else if s.Is6() && s.came != nil {
		answer.Src = w.h.errorSource6(s)
	}
	w.answer(answerOf(s, answer), false)
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
func answerOf(s *skb, answer Packet) *skb {
	p := &skb{Packet: answer, conn: s.conn, attached: s.relation == isUntracked}
	if s.conn != nil {
		p.relation, p.dir = isRelated, 1-s.dir
	}
	return p
}

// sendReset sends a TCP reset as if from the packet's destination (nf_send_reset). It belongs to the
// packet's connection.
func (w *walk) sendReset(s *skb) {
	if s.Proto != TCP {
		w.fail(errors.New("rule: REJECT with tcp-reset meets a packet that is not TCP"))
		return
	}
	if s.TCPFlags&RST != 0 || !s.sumHolds() || s.goesToMany() {
		return
	}
	answer := Packet{Proto: TCP, Src: s.Dst, SrcPort: s.DstPort, Dst: s.Src, DstPort: s.SrcPort, TCPFlags: RST | ACK,
		Socket: &Socket{None: true}}
	if s.TCPFlags&ACK != 0 {
		answer.TCPFlags = RST
	}
	answer.Numbers = resetNumbers(&s.Packet)
	if s.Is6() && w.h.conf.fwmarkReflect6 || s.Dst.Is4() && w.h.conf.fwmarkReflect {
		answer.Mark = s.Mark
	}
	w.h.closeTCP(s.conn)
	w.answer(answerOf(s, answer), true)
}

// answer sends a packet that the host makes because of the one it walks, and adds it to the outcome.
func (w *walk) answer(p *skb, anySrc bool) {
	f := &flow{dst: p.Dst, src: p.Src, mark: p.Mark, in: loopbackName, chance: w.chance}
	if _, src, err := w.h.routeOutput(f, anySrc); err == nil {
		p.Src = src
	}
	w.emit(Reply{Packet: p.Packet}, p, func(sub *walk) { sub.send(p, anySrc) })
}

// maxMade is the number of packets, each made because of the one before it, after which a walk is taken for endless.
const maxMade = 32

var errEndless = errors.New("not supported: a packet is copied or answered again and again")

// emit walks a packet out that the host has made, and adds it to the outcome.
func (w *walk) emit(made Reply, p *skb, send func(sub *walk)) {
	if w.made == maxMade {
		w.fail(errEndless)
		return
	}
	made.After = len(w.outcome.Steps)
	before := len(w.outcome.Replies)
	w.outcome.Replies = append(w.outcome.Replies, made)
	reply := &w.outcome.Replies[before]
	sub := w.h.newWalk(w.chance, w.told, &reply.Outcome)
	sub.hooks, sub.copied, sub.made = w.hooks, w.copied || made.Copy && !made.Looped, w.made+1
	defer w.h.endWalk(sub)
	send(sub)
	sub.finish(p)
	if sub.err != nil {
		w.outcome.Replies = w.outcome.Replies[:before]
		w.fail(fmt.Errorf("%s in answer: %w", made.Packet.Proto, sub.err))
		return
	}
	if !made.Packet.Src.IsValid() {
		reply.Packet.Src = unspecified(made.Packet.Dst)
	}
}
