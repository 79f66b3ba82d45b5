package netns

import (
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Follow sends a later packet of a kept connection.
func (s *session) Follow(_ context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	f := s.flows[p.Of]
	if err := s.network.routeVia(f.via); err != nil {
		return nil, err
	}
	if err := s.openFor(f.proto, f.called); err != nil {
		return nil, err
	}
	if err := s.forget(); err != nil {
		return nil, err
	}
	sender, isIt, err := s.sendLater(f, p)
	if err != nil {
		return nil, err
	}
	var w scenarios.Way
	ended := func() bool {
		w = s.followed(f, p, sender, isIt)
		return w.End != scenarios.Lost
	}
	if err := s.settle(nil, func() bool { return false }, ended); err != nil {
		return nil, err
	}
	ended()
	if p.Send != scenarios.PacketOutOfWindow {
		f.settleSockets(p, &w)
		if err := s.drain(nil); err != nil {
			return nil, err
		}
		f.note(s)
	}
	f.take(s, nil)
	if err := s.keepState(); err != nil {
		return nil, err
	}
	return &scenarios.Observed{Ways: []scenarios.Way{w}}, s.bookError()
}

// settleSockets reads what came, and gives up the sockets that did not get on: a
// sender whose packet did not arrive would send it again.
func (f *keptFlow) settleSockets(p scenarios.FlowPacket, w *scenarios.Way) {
	f.acknowledge()
	switch {
	case w.Heard && p.Send != scenarios.PacketRST || f.proto != packetsim.TCP:
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
		return p.local && (p.first.IsICMPError() || p.first.Proto == packetsim.TCP && p.first.TCPFlags&packetsim.RST != 0)
	})
}

// followed is what became of a later packet so far.
func (s *session) followed(f *keptFlow, p scenarios.FlowPacket, sender *host, isIt func(*capture) bool) scenarios.Way {
	seen := s.network.passages()
	first := seen.sent(sender, isIt)
	if first == nil {
		return scenarios.Way{Probability: 1, End: scenarios.Lost, Host: sender.Name, Reason: "it is not sent"}
	}
	j := seen.journey(s.network, first)
	w := j.way()
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
		w.Why = "its addresses are not those of the connection"
	}
	return w
}
