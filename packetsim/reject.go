package packetsim

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
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
func ErrorName(p *inet.Packet) string {
	if !p.IsICMPError() {
		return ""
	}
	family := "icmp"
	if p.Proto == inet.ICMPv6 {
		family = "icmp6"
	}
	for name, code := range rejectCodes {
		if p.ICMPType == unreachableType(p.Proto == inet.ICMPv6) && code == p.ICMPCode && strings.HasPrefix(name, family+"-") {
			return name
		}
	}
	for _, r := range routeReasons {
		switch {
		case p.Proto == inet.ICMP && r.with != "" && r.type4 == p.ICMPType && r.code4 == p.ICMPCode:
			return r.with
		case p.Proto == inet.ICMPv6 && r.type6 == p.ICMPType && r.code6 == p.ICMPCode:
			return r.with6
		}
	}
	return fmt.Sprintf("%s-%d/%d", family, p.ICMPType, p.ICMPCode)
}

// unreachableType is the type of "destination unreachable".
func unreachableType(six bool) uint8 {
	if six {
		return inet.ICMPv6Unreachable
	}
	return inet.ICMPUnreachable
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
var routeReasons = map[Reason]icmpReason{
	ReasonNoRoute:          {"icmp-net-unreachable", inet.ICMPUnreachable, 0, "icmp6-no-route", inet.ICMPv6Unreachable, 0},
	ReasonRouteUnreachable: {"icmp-host-unreachable", inet.ICMPUnreachable, 1, "icmp6-no-route", inet.ICMPv6Unreachable, 0},
	ReasonRouteProhibited:  {"icmp-admin-prohibited", inet.ICMPUnreachable, 13, "icmp6-adm-prohibited", inet.ICMPv6Unreachable, 1},
	ReasonTTLExceeded:      {"icmp-time-exceeded", inet.ICMPTimeExceeded, 0, "icmp6-time-exceeded", inet.ICMPv6TimeExceeded, 0},
	ReasonTooLong:          {"icmp-frag-needed", inet.ICMPUnreachable, 4, "icmp6-packet-too-big", inet.ICMPv6PacketTooBig, 0},
	ReasonBeyondScope:      {"", 0, 0, "icmp6-beyond-scope", inet.ICMPv6Unreachable, 2},
}

// reject is -j REJECT with an answer, by its word in --reject-with (net/ipv4/netfilter/nf_reject_ipv4.c and its IPv6 twin).
func (tg *targets) reject(s *skb, with string) fate {
	if with == withReset {
		tg.outcome.Verdict, tg.outcome.To, tg.outcome.RejectWith = Reject, ToNone, with
		tg.answers.sendReset(s)
		return stopped
	}
	code, known := rejectCodes[with]
	if !known {
		return tg.unsupported("REJECT --reject-with " + with)
	}
	return tg.rejectWith(s, code)
}

// rejectWith answers with an ICMP "destination unreachable" of a code.
func (tg *targets) rejectWith(s *skb, code uint8) fate {
	about := inet.Packet{Proto: inet.ICMP, ICMPType: unreachableType(s.Is6()), ICMPCode: code}
	if s.Is6() {
		about.Proto = inet.ICMPv6
	}
	tg.outcome.Verdict, tg.outcome.To, tg.outcome.RejectWith = Reject, ToNone, ErrorName(&about)
	if !s.rejectsSum() {
		tg.answers.sendError(s, about.ICMPType, code)
	}
	return stopped
}

// routeError ends the walk of a packet that came in and cannot be routed.
func (w *walk) routeError(s *skb, err error) {
	reason, _ := err.(Reason)
	why, told := routeReasons[reason]
	if !told || (s.Dst.Is4() && !s.in.conf.forwarding) {
		w.refuse(err)
		return
	}
	o := w.outcome
	with, typ, code := why.with, why.type4, why.code4
	if s.Is6() {
		with, typ, code = why.with6, why.type6, why.code6
	}
	o.Verdict, o.To, o.RejectWith, o.Reason, o.Why = Reject, ToNone, with, reason, string(reason)
	w.answers.sendError(s, typ, code)
}
