package netns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Follow sends a later packet of a kept connection. One that chance decides about, which only a datagram is that begins anew, is sent many
// times, and one of the ways is kept.
func (s *session) Follow(_ context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	f := s.flows[p.Of]
	if err := s.network.routeVia(f.via); err != nil {
		return nil, err
	}
	if err := s.openFor(f.proto, f.called); err != nil {
		return nil, err
	}
	var count tally
	for tries := 1; count.tries < tries; {
		w, chancy, err := s.followOnce(f, p)
		if err != nil {
			return nil, err
		}
		count.add(w)
		if !chancy {
			break
		}
		tries = s.samples
		if err := s.unfollow(); err != nil {
			return nil, err
		}
	}
	seen := count.observed()
	if seen.Kept = chooseLater(seen.Ways, p.Pick); seen.Kept < 0 {
		return nil, fmt.Errorf("flow of %s: no way leads to %s", p.Of, p.Pick)
	}
	if seen.Samples > 0 {
		if err := s.followAgain(f, p, &seen.Ways[seen.Kept]); err != nil {
			return nil, err
		}
	}
	return seen, s.keepState()
}

// chooseLater is the way of a later packet that is kept: the one to pick, otherwise that to the lowest endpoint, otherwise the first.
func chooseLater(all []scenarios.Way, pick netip.AddrPort) int {
	best := -1
	for i := range all {
		switch {
		case pick.IsValid() && all[i].Server == pick:
			return i
		case pick.IsValid() || all[i].End != scenarios.Delivered:
		case best < 0 || all[i].Server.Compare(all[best].Server) < 0:
			best = i
		}
	}
	if best < 0 && !pick.IsValid() {
		return 0
	}
	return best
}

// followAgain sends the packet until it takes the way.
func (s *session) followAgain(f *keptFlow, p scenarios.FlowPacket, wanted *scenarios.Way) error {
	for range maxTries {
		w, _, err := s.followOnce(f, p)
		if err != nil {
			return err
		}
		if w.Server == wanted.Server && w.End == wanted.End {
			return nil
		}
		if err := s.unfollow(); err != nil {
			return err
		}
	}
	return fmt.Errorf("flow of %s: the way to %s did not come again in %d tries", p.Of, wanted.Server, maxTries)
}

// unfollow takes a packet back that has begun its connection anew: nothing was there before it.
func (s *session) unfollow() error {
	for _, n := range s.nodes {
		for _, p := range n.passages() {
			delete(n.memory.connections, tupleText(p.first))
		}
	}
	return s.takeBackState()
}

// followOnce sends the packet and says what came of it, and whether chance had a part in that.
func (s *session) followOnce(f *keptFlow, p scenarios.FlowPacket) (w scenarios.Way, chancy bool, err error) {
	if err := s.forget(); err != nil {
		return w, false, err
	}
	sender, isIt, err := s.sendLater(f, p)
	if err != nil {
		return w, false, err
	}
	ended := func() bool {
		w, chancy = s.followed(f, p, sender, isIt)
		return w.End != scenarios.Lost
	}
	if err := s.settle(nil, func() bool { return false }, ended); err != nil {
		return w, false, err
	}
	ended()
	if p.Send != scenarios.PacketOutOfWindow {
		f.settleSockets(p, &w)
		if err := s.drain(nil); err != nil {
			return w, false, err
		}
		f.note(s)
	}
	f.take(s, nil)
	return w, chancy, s.bookError()
}

// settleSockets reads what came, and gives up the sockets that did not get on: a
// sender whose packet did not arrive would send it again.
func (f *keptFlow) settleSockets(p scenarios.FlowPacket, w *scenarios.Way) {
	f.acknowledge()
	switch {
	case w.Heard && p.Send != scenarios.PacketRST || f.proto != inet.TCP:
	case p.Send == scenarios.PacketRST && w.Heard: // both are gone
		f.close()
	case p.From == scenarios.SideServer:
		f.silence(&f.serverFD)
	default:
		f.silence(&f.clientFD)
	}
}

// told reports whether a host was sent an error: an ICMP message or a reset.
func (s passages) told(h *host) bool {
	return slices.ContainsFunc(s[h], func(p *passage) bool {
		return p.local && (p.first.IsICMPError() || p.first.Proto == inet.TCP && p.first.TCPFlags&inet.RST != 0)
	})
}

// followed is what became of a later packet so far.
func (s *session) followed(f *keptFlow, p scenarios.FlowPacket, sender *host, isIt func(*raw.Capture) bool) (w scenarios.Way, chancy bool) {
	seen := s.network.passages()
	first := seen.sent(sender, isIt)
	if first == nil {
		return scenarios.Way{Probability: 1, End: scenarios.Lost, Host: sender.Name, Reason: "it is not sent"}, false
	}
	j := seen.journey(s.network, first)
	w = j.way()
	w.Probability, w.Answered = 1, seen.told(sender)
	fromServer := p.From == scenarios.SideServer
	switch end := j.end(); w.End {
	case scenarios.Lost:
		w.Reason = s.reason(end, seen, &w)
	case scenarios.Delivered:
		from, to, at := f.saw, f.asked, f.server
		if fromServer {
			from, to, at = f.called, f.socket, f.client
		}
		w.Heard = end.host == at && w.Server == to && w.Client == from
		if !fromServer && !end.host.Listeners.Accept(f.proto, w.Server) {
			w.End = scenarios.Refused
		}
	}
	if !w.Heard {
		w.Why = "it does not have the addresses of the connection"
	}
	return w, j.chancy()
}
