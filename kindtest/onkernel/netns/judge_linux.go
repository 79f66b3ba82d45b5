package netns

import (
	"fmt"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// decided says that nothing more comes of a try.
func (s *session) decided(t *try, a scenarios.Attempt) bool {
	s.judge(t, a)
	switch t.way.End {
	case scenarios.Dropped:
		return true
	case scenarios.Rejected:
		return t.client.done
	case scenarios.Delivered:
		return t.astray
	}
	return false
}

// judge works out what became of a try from what was seen so far.
func (s *session) judge(t *try, a scenarios.Attempt) {
	c := t.client
	seen := s.network.passages()
	first := seen.sent(c.host, func(one *raw.Capture) bool {
		return one.Proto == c.proto && one.Dst == c.to.Addr() && one.DstPort == c.to.Port() && !one.IsICMPError()
	})
	if first == nil {
		t.way = scenarios.Way{End: scenarios.Lost, Host: a.From, Server: c.to, Reason: "it is not sent"}
		if c.done {
			t.way.Reason = "no route: " + c.why
		}
		return
	}
	j := seen.journey(s.network, first)
	t.way, t.chancy = j.way(), j.chancy()
	w := &t.way
	w.Heard, w.Why = c.heard, c.why
	switch w.End {
	case scenarios.Lost:
		w.Reason = s.reason(j.end(), seen, w)
	case scenarios.Delivered:
		t.followAnswer(s, seen, j)
	}
	if !w.Heard && w.Why == "" {
		w.Why = "the client's socket gets no answer"
	}
}

// followAnswer follows the server's answer to a packet that was delivered.
func (t *try) followAnswer(s *session, seen passages, j journey) {
	end, w := j.end(), &t.way
	asked, saw := end.last.Destination(), end.last.Source()
	t.conn, t.astray = nil, false
	for i := range s.got {
		if g := &s.got[i]; g.host == end.host && g.fd >= 0 && g.local == asked && g.remote == saw {
			t.conn = g
		}
	}
	back := seen.sent(end.host, func(one *raw.Capture) bool {
		return one.Dst == saw.Addr() && (one.IsICMPError() || one.Proto == t.client.proto && one.Src == asked.Addr() &&
			(!one.Proto.HasPorts() || one.Source() == asked && one.Destination() == saw))
	})
	if back == nil {
		return
	}
	if back.first.IsICMPError() || back.first.Proto == inet.TCP && back.first.TCPFlags&inet.RST != 0 {
		w.End = scenarios.Refused
	}
	answer := seen.journey(s.network, back)
	w.Back = answer.hops()
	if last := answer.end(); !w.Heard && w.Why == "" {
		w.Why = fmt.Sprintf("the answer comes to %s: %s", last.host.Name, last.result())
		t.astray = last.host != t.client.host || last.now.Source() != t.client.to
	}
}

func (j journey) chancy() bool {
	for _, p := range j {
		for i := range p.steps {
			if p.host.watch.rules.chancy(p.first.Src.Is6(), &p.steps[i]) {
				return true
			}
		}
	}
	return false
}

// reason says why a host has let a packet go without a rule: by what it told the
// sender, or by what its routing says of the addresses.
func (s *session) reason(end *passage, seen passages, w *scenarios.Way) string {
	for _, p := range seen[end.host] {
		if p.in == "" && p.first.IsICMPError() {
			if text := errorText(p.first); text != "" {
				return text
			}
		}
	}
	if w.Reason != "" {
		return w.Reason
	}
	if end.in != "" && end.host.routeRefused(end.now.Src, end.now.Dst, end.in) {
		if end.host.routeRefused(harmless, end.now.Dst, end.in) {
			return "martian destination"
		}
		return "martian source"
	}
	return "the kernel lets it go without a word"
}

// errorText is what an ICMP error says of a route.
func errorText(c *raw.Capture) string {
	is := func(proto inet.Proto, kind uint8) bool { return c.Proto == proto && c.ICMPType == kind }
	switch {
	case is(inet.ICMP, inet.ICMPTimeExceeded), is(inet.ICMPv6, inet.ICMPv6TimeExceeded):
		return "ttl exceeded"
	case is(inet.ICMP, inet.ICMPUnreachable) && c.ICMPCode < 2, is(inet.ICMPv6, inet.ICMPv6Unreachable) && c.ICMPCode == 0:
		return "no route"
	case is(inet.ICMP, inet.ICMPUnreachable) && c.ICMPCode == 13:
		return "prohibited by a route"
	}
	return ""
}
