package netns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// try is a connection that was made once.
type try struct {
	client *client
	way    scenarios.Way
	chancy bool // chance had a part in its way
	// astray says that the server's answer has ended somewhere, and not at the client's socket.
	astray bool
	// conn is the server's side of a TCP connection, nil if there is none.
	conn *served
}

// Connect makes a connection, many times if its way depends on chance.
func (s *session) Connect(_ context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	if err := s.network.routeVia(a.Via); err != nil {
		return nil, err
	}
	if err := s.openFor(plan.Proto(a.To.Proto, a.To.Addr().Is6()), a.To.AddrPort); err != nil {
		return nil, err
	}
	var count tally
	for tries := 1; count.tries < tries; {
		t, err := s.tryOnce(a)
		if err != nil {
			return nil, err
		}
		if t.chancy {
			tries = s.samples
		}
		count.add(t.way)
		if err := s.takeBack(t); err != nil {
			return nil, err
		}
	}
	seen := count.observed()
	if a.Keep == "" {
		return seen, nil
	}
	return seen, s.keepOne(a, seen)
}

// maxTries is how often chance is asked for a way that was seen: one with a chance
// of 1 in 100 fails to come a thousand times in 1 of 20,000 runs.
const maxTries = 1000

// keepOne makes the connection once more, until it takes the way to keep.
func (s *session) keepOne(a scenarios.Attempt, seen *scenarios.Observed) error {
	seen.Kept = choose(seen.Ways, a.Pick)
	if seen.Kept < 0 {
		return fmt.Errorf("keep %s: no way leads to %s", a.Keep, a.Pick)
	}
	wanted := seen.Ways[seen.Kept]
	for range maxTries {
		t, err := s.tryOnce(a)
		if err != nil {
			return err
		}
		if t.way.Server == wanted.Server && t.way.End == wanted.End {
			seen.Ways[seen.Kept].Client = t.way.Client
			return s.keep(a, t)
		}
		if err := s.takeBack(t); err != nil {
			return err
		}
	}
	return fmt.Errorf("keep %s: the way to %s did not come again in %d tries", a.Keep, wanted.Server, maxTries)
}

// choose is the way to keep: the one to pick, otherwise the answered one with the
// lowest endpoint, otherwise the first.
func choose(all []scenarios.Way, pick netip.AddrPort) int {
	best := -1
	for i := range all {
		made := all[i].End == scenarios.Delivered && all[i].Heard
		switch {
		case pick.IsValid() && all[i].Server == pick:
			return i
		case pick.IsValid() || !made:
		case best < 0 || all[i].Server.Compare(all[best].Server) < 0:
			best = i
		}
	}
	if best < 0 && !pick.IsValid() && len(all) > 0 {
		return 0
	}
	return best
}

// tally counts ways.
type tally struct {
	ways  []scenarios.Way
	times []int
	tries int
}

func (t *tally) add(w scenarios.Way) {
	t.tries++
	same := func(o scenarios.Way) bool {
		return o.End == w.End && o.Host == w.Host && o.Server == w.Server && o.Client.Addr() == w.Client.Addr() && o.Sender == w.Sender &&
			o.With == w.With && o.Rule == w.Rule && o.Reason == w.Reason && o.Heard == w.Heard && o.Why == w.Why && o.Masqueraded == w.Masqueraded
	}
	if i := slices.IndexFunc(t.ways, same); i >= 0 {
		t.times[i]++
		return
	}
	t.ways, t.times = append(t.ways, w), append(t.times, 1)
}

// observed are the ways with their shares. What came of one try that chance had no
// part in is certain.
func (t *tally) observed() *scenarios.Observed {
	seen := &scenarios.Observed{Ways: t.ways}
	if t.tries > 1 {
		seen.Samples = t.tries
	}
	for i := range t.ways {
		t.ways[i].Probability = float64(t.times[i]) / float64(t.tries)
	}
	return seen
}

// tryOnce makes the connection once and says what came of it. All that it has done
// is still there.
func (s *session) tryOnce(a scenarios.Attempt) (*try, error) {
	if err := s.forget(); err != nil {
		return nil, err
	}
	c, err := s.newClient(a)
	if err != nil {
		return nil, err
	}
	t := &try{client: c}
	err = s.settle(c, func() bool { return c.done && (c.proto != packetsim.TCP || !c.heard || c.why != "" || s.answered()) },
		func() bool { return s.decided(t, a) })
	if err == nil {
		s.judge(t, a)
		err = s.bookError()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return t, nil
}

// answered says whether a server has answered a question.
func (s *session) answered() bool {
	return slices.ContainsFunc(s.got, func(g served) bool { return g.answered })
}

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
	first := seen.sent(c.host, func(one *capture) bool {
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
	asked, saw := end.last.destination(), end.last.source()
	t.conn, t.astray = nil, false
	for i := range s.got {
		if g := &s.got[i]; g.host == end.host && g.fd >= 0 && g.local == asked && g.remote == saw {
			t.conn = g
		}
	}
	back := seen.sent(end.host, func(one *capture) bool {
		return one.Dst == saw.Addr() && (one.IsICMPError() || one.Proto == t.client.proto && one.Src == asked.Addr() &&
			(!one.Proto.HasPorts() || one.source() == asked && one.destination() == saw))
	})
	if back == nil {
		return
	}
	if back.first.IsICMPError() || back.first.Proto == packetsim.TCP && back.first.TCPFlags&packetsim.RST != 0 {
		w.End = scenarios.Refused
	}
	way := seen.journey(s.network, back)
	w.Back = way.hops()
	if last := way.end(); !w.Heard && w.Why == "" {
		w.Why = fmt.Sprintf("the answer comes to %s: %s", last.host.Name, last.result())
		t.astray = last.host != t.client.host || last.now.source() != t.client.to
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

// harmless is a source that no host takes for a martian.
var harmless = netip.AddrFrom4([4]byte{198, 51, 100, 255})

// routeRefused reports whether routing refuses a packet's addresses, which it does
// without a word for martians. IPv6 has none: it refuses them before any rule.
func (h *host) routeRefused(from, to netip.Addr, in string) bool {
	if from.Is6() || to.Is6() {
		return false
	}
	_, err := h.ns.link.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{Iif: in, SrcAddr: from.AsSlice()})
	return errors.Is(err, unix.EINVAL)
}

// errorText is what an ICMP error says of a route.
func errorText(f *capture) string {
	switch {
	case f.Proto == packetsim.ICMP && f.ICMPType == 11, f.Proto == packetsim.ICMPv6 && f.ICMPType == 3:
		return "ttl exceeded"
	case f.Proto == packetsim.ICMP && f.ICMPType == 3 && f.ICMPCode < 2, f.Proto == packetsim.ICMPv6 && f.ICMPType == 1 && f.ICMPCode == 0:
		return "no route"
	case f.Proto == packetsim.ICMP && f.ICMPType == 3 && f.ICMPCode == 13:
		return "prohibited by a route"
	}
	return ""
}

// takeBack ends a connection and removes what it left behind.
func (s *session) takeBack(t *try) error {
	t.client.close()
	for i := range s.got {
		if g := &s.got[i]; g.fd >= 0 {
			closeSilently(g.fd)
			g.fd = -1
		}
	}
	if w := &t.way; t.client.proto == packetsim.TCP && w.End == scenarios.Delivered && t.conn == nil {
		if err := s.network.host(w.Host).reopen(packetsim.TCP, w.Server); err != nil {
			return err
		}
	}
	if err := s.drain(nil); err != nil {
		return err
	}
	return s.takeBackState()
}

// takeBackState removes from the nodes what the packets since the last forget did.
func (s *session) takeBackState() error {
	for _, n := range s.nodes {
		for _, p := range n.passages() {
			if err := n.deleteConnection(p.first); err != nil {
				return err
			}
		}
		if err := n.restoreRecent(); err != nil {
			return err
		}
		n.memory.discount(n.watch.seen)
	}
	return s.bookError()
}

// keepState remembers what the packets since the last forget did.
func (s *session) keepState() error {
	for _, n := range s.nodes {
		for _, p := range n.passages() {
			n.memory.connections[tupleText(p.first)] = true
		}
		if err := n.keepRecent(s.clock.Now()); err != nil {
			return err
		}
	}
	return nil
}
