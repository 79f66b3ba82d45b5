package kind

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// wayOf is what became of a connection as its two ends know it. It is not told where that could be one of several things.
func (s *stage) wayOf(a *scenarios.Attempt, r *probe.Result) (w scenarios.Way, told bool) {
	m := s.mapping
	w = scenarios.Way{Probability: 1, Sender: s.senderOf(a, r), Server: a.To.AddrPort, With: r.With}
	w.Client = w.Sender
	switch {
	case r.End == probe.Answered:
		w.End, w.Heard = scenarios.Delivered, true
		if r.At.IsValid() { // otherwise it is a program of the node's own, such as the proxy's health check
			w.Server = m.BackPort(r.At)
		}
		if r.Client.IsValid() {
			w.Client = s.clientOf(a, r.From, r.Client)
		}
		w.Host = s.hostAt(a, w.Server.Addr(), r.Server)
		w.Masqueraded = translated(&w)
		return w, true
	case r.End == probe.Failed:
		w.End, w.Host, w.Reason = scenarios.Lost, a.From, r.Why
		if strings.Contains(r.Why, "not permitted") { // a rule of the client's own host
			w.End = scenarios.Dropped
		}
		return w, true
	case r.End == probe.Refused && a.To.Proto == "tcp" && strings.HasSuffix(r.With, "port-unreachable"): // sockets answer by a reset
		w.End, w.Host, w.Heard = scenarios.Rejected, s.hostAt(a, m.Back(r.Offender), ""), true
		return w, true
	// of a host that has no SCTP
	case r.End == probe.Refused && a.To.Proto == "sctp" && (r.With == "icmp-proto-unreachable" || r.With == "icmp6-4/1"):
		w.End, w.Host, w.Heard, w.With = scenarios.Refused, s.hostAt(a, m.Back(r.Offender), ""), true, ""
		return w, true
	}
	return w, false
}

// hostAt is the host of the scenario at an address where a packet came to: its owner, or that of the agent there, or the client's own for
// an address that every host has. Nobody's is the router's.
func (s *stage) hostAt(a *scenarios.Attempt, at netip.Addr, agent string) string {
	if owner := s.mapping.Owner(at); owner != "" {
		return owner
	}
	if at.IsLoopback() {
		return a.From
	}
	if name := s.mapping.nodeNamed(agent); s.cluster.Node(name) != nil {
		return name
	}
	return scenarios.RouterName
}

// senderOf is the client's own address, with the port that it has in the scenario.
func (s *stage) senderOf(a *scenarios.Attempt, r *probe.Result) netip.AddrPort {
	return netip.AddrPortFrom(s.mapping.Back(r.From.Addr()), portOf(a))
}

// clientOf is the client as it was seen somewhere. A port that was kept is the one that the client has in the scenario.
func (s *stage) clientOf(a *scenarios.Attempt, own, seen netip.AddrPort) netip.AddrPort {
	port := seen.Port()
	if port == own.Port() {
		port = portOf(a)
	}
	return netip.AddrPortFrom(s.mapping.Back(seen.Addr()), port)
}

// translated reports whether a packet was masqueraded, as far as its source says it: one that stays the same may have been masqueraded to
// itself.
func translated(w *scenarios.Way) scenarios.Certainty {
	if w.Client.Addr() != w.Sender.Addr() {
		return scenarios.Yes
	}
	return scenarios.Unknown
}

// watchedWay is what became of a connection that somebody has looked at on its way.
func (s *stage) watchedWay(ctx context.Context, w *watch, client agent, a *scenarios.Attempt, r *probe.Result) (scenarios.Way, error) {
	way, told := s.wayOf(a, r)
	if told {
		return way, nil
	}
	to := s.mapping.ToPort(a.To.AddrPort)
	sent := inet.Packet{Proto: protoOf(a.To.Proto, a.To.Addr()), Src: r.From.Addr(), Dst: to.Addr(), DstPort: to.Port()}
	if !sent.Proto.IsICMP() {
		sent.SrcPort = r.From.Port()
	}
	prints, err := w.sent(ctx, client, sent, func(*inet.Packet) bool { return true })
	if err != nil || len(prints) == 0 {
		unseen(&way, a.From, r)
		return way, err
	}
	seen, err := w.of(ctx, client, prints[0])
	if err != nil {
		return way, err
	}
	s.judge(a, &way, seen, r)
	return way, nil
}

// unseen fills in the end of a packet that has not left its sender.
func unseen(way *scenarios.Way, sender string, r *probe.Result) {
	way.End, way.Host, way.Reason = scenarios.Dropped, sender, "it was not seen anywhere"
	if r.End == probe.Refused {
		way.End, way.Heard, way.Reason = scenarios.Rejected, true, ""
	}
}

// judge fills in what the sightings of a packet say of its end.
func (s *stage) judge(a *scenarios.Attempt, way *scenarios.Way, seen []sighting, r *probe.Result) {
	got, ok := arrivalOf(s.backend, s.mapping, seen)
	if !ok {
		unseen(way, a.From, r)
		return
	}
	way.Server, way.Forward = got.server, s.mapping.hops(seen)
	way.Client = netip.AddrPortFrom(got.client.Addr(), cmp.Or(s.portSeen(a, r.From, got.client), got.client.Port()))
	way.Masqueraded = translated(way)
	endOf(way, got, r)
}

// endOf fills in how a packet ended: by where it came to, and by what its client has heard.
func endOf(way *scenarios.Way, got arrival, r *probe.Result) {
	way.Host = got.host
	refused := r.End == probe.Refused
	switch {
	case got.wire:
		way.End, way.OnTheWire, way.Reason, way.With = scenarios.Lost, true, "nobody takes it", ""
	case got.arrived && refused:
		way.End, way.Heard = scenarios.Refused, true
	case got.arrived:
		way.End, way.Why = scenarios.Delivered, "the client hears nothing"
	case refused:
		way.End, way.Heard = scenarios.Rejected, true
	default:
		way.End = scenarios.Dropped
	}
}

// portSeen is the client's port in the scenario, if it was seen as it is; 0 otherwise.
func (s *stage) portSeen(a *scenarios.Attempt, own, seen netip.AddrPort) uint16 {
	if own.Port() == seen.Port() {
		return portOf(a)
	}
	return 0
}

// observed are the ways of several tries with their shares: those of the same end are one.
func observed(tries []scenarios.Way) *scenarios.Observed {
	seen := &scenarios.Observed{NoRules: true}
	if len(tries) > 1 {
		seen.Samples = len(tries)
	}
	var times []int
	for _, w := range tries {
		same := func(o scenarios.Way) bool {
			return o.End == w.End && o.Host == w.Host && o.Server == w.Server && o.Client.Addr() == w.Client.Addr() && o.Sender == w.Sender &&
				o.With == w.With && o.Reason == w.Reason && o.Heard == w.Heard
		}
		if i := slices.IndexFunc(seen.Ways, same); i >= 0 {
			times[i]++
			continue
		}
		seen.Ways, times = append(seen.Ways, w), append(times, 1)
	}
	for i := range seen.Ways {
		seen.Ways[i].Probability = float64(times[i]) / float64(len(tries))
	}
	return seen
}

// choose is the way to keep: the one to pick, otherwise the answered one with the lowest endpoint, otherwise the first.
func choose(ways []scenarios.Way, pick netip.AddrPort) (int, error) {
	best := -1
	for i := range ways {
		made := ways[i].End == scenarios.Delivered && ways[i].Heard
		switch {
		case pick.IsValid() && ways[i].Server == pick:
			return i, nil
		case pick.IsValid() || !made:
		case best < 0 || ways[i].Server.Compare(ways[best].Server) < 0:
			best = i
		}
	}
	if best < 0 && pick.IsValid() {
		return -1, fmt.Errorf("no way leads to %s", pick)
	}
	return max(best, 0), nil
}
