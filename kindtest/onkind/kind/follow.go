package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Follow sends a later packet of a kept connection. A datagram that begins anew, where chance decides again, is sent many times.
func (t *traffic) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	f := t.flows[p.Of]
	anew, err := t.beginsAnew(ctx, f, p)
	if err != nil {
		return nil, err
	}
	if !anew {
		w, err := t.followOnce(ctx, f, p)
		if err != nil {
			return nil, fmt.Errorf("flow of %s: %w", p.Of, err)
		}
		return observed([]scenarios.Way{w}), nil
	}
	var ways []scenarios.Way
	for range t.backend.options.Samples {
		w, err := t.followOnce(ctx, f, p)
		if err := errors.Join(err, t.forgetConnection(ctx, f)); err != nil {
			return nil, fmt.Errorf("flow of %s: %w", p.Of, err)
		}
		ways = append(ways, w)
	}
	seen := observed(ways)
	if seen.Kept, err = choose(seen.Ways, p.Pick); err != nil {
		return nil, fmt.Errorf("flow of %s: %w", p.Of, err)
	}
	return seen, t.followAgain(ctx, f, p, &seen.Ways[seen.Kept])
}

// beginsAnew reports whether chance decides about a datagram: its client's node has forgotten the flow, and there are several endpoints.
func (t *traffic) beginsAnew(ctx context.Context, f *flow, p scenarios.FlowPacket) (bool, error) {
	if p.From == scenarios.SideServer || f.attempt.To.Proto != "udp" || !t.chancy(f.attempt.To.AddrPort) {
		return false, nil
	}
	node := f.client.machine
	if t.cluster.Pod(f.attempt.From) == nil && t.cluster.Node(f.attempt.From) == nil {
		node = t.mapping.Node(f.attempt.Via)
	}
	entries, err := t.tracked(ctx, node)
	known := slices.ContainsFunc(entries, func(e entry) bool {
		return e.Proto == "udp" && e.Src == f.from && e.Dst == f.to
	})
	return !known, err
}

// followAgain sends a datagram until it takes the way.
func (t *traffic) followAgain(ctx context.Context, f *flow, p scenarios.FlowPacket, wanted *scenarios.Way) error {
	for range maxTries {
		w, err := t.followOnce(ctx, f, p)
		if err != nil || w.Server == wanted.Server && w.End == wanted.End {
			return err
		}
		if err := t.forgetConnection(ctx, f); err != nil {
			return err
		}
	}
	return fmt.Errorf("flow of %s: the way to %s did not come again in %d tries", p.Of, wanted.Server, maxTries)
}

// ends are who sends a later packet and from where, and who is to get it.
func (f *flow) ends(side scenarios.Side) (sender, taker agent, from, to netip.AddrPort) {
	if side == scenarios.SideServer {
		return f.server, f.client, f.at, f.saw
	}
	return f.client, f.server, f.from, f.to
}

// followOnce sends a later packet, while the nodes look on.
func (t *traffic) followOnce(ctx context.Context, f *flow, p scenarios.FlowPacket) (scenarios.Way, error) {
	sender, taker, _, _ := f.ends(p.From)
	if sender.name == "" {
		return scenarios.Way{}, errors.New("no server was reached, so none can send")
	}
	// another connection may have gone another way since
	if err := t.leadNowhere(ctx, []netip.Addr{f.attempt.To.Addr()}, f.attempt.Via); err != nil {
		return scenarios.Way{}, err
	}
	w, err := t.startWatch(ctx, slices.DeleteFunc([]agent{sender, taker}, func(a agent) bool { return a.name == "" })...)
	if err != nil {
		return scenarios.Way{}, errors.Join(err, w.end(ctx))
	}
	way, err := t.spoken(ctx, w, f, p)
	return way, errors.Join(err, w.end(ctx))
}

// spoken sends the packet, and says what came of it.
func (t *traffic) spoken(ctx context.Context, w *watch, f *flow, p scenarios.FlowPacket) (scenarios.Way, error) {
	sender, taker, from, to := f.ends(p.From)
	r, err := t.relay(sender.machine).Speak(ctx, sender.name, probe.Speech{Conn: p.Of, Side: p.From, Kind: p.Send, Timeout: t.silence(t.next)})
	if err != nil {
		return scenarios.Way{}, err
	}
	back := t.mapping.BackPort
	way := scenarios.Way{Probability: 1, Sender: back(from), Server: back(to), Client: back(from), With: r.With}
	if heard, err := t.taken(ctx, f, p, &r, taker); err != nil || heard {
		if p.From == scenarios.SideServer { // the client's socket has taken it: as from the address that it called
			way.Server, way.Client = back(f.from), back(f.to)
		}
		way.End, way.Heard = scenarios.Delivered, true
		if p.From == scenarios.SideClient {
			t.reached(f, &way, &r)
		} else {
			way.Host = t.hostAt(&f.attempt, way.Server.Addr(), taker.name)
		}
		way.Masqueraded = translated(&way)
		return way, err
	}
	print := r.Token
	if !past(&p, &r) {
		sent := inet.Packet{
			Proto: protoOf(f.attempt.To.Proto, to.Addr()), Src: from.Addr(), SrcPort: from.Port(), Dst: to.Addr(), DstPort: to.Port(),
		}
		if sent.Proto.IsICMP() {
			sent.SrcPort, sent.DstPort = 0, 0
		}
		prints, err := w.sent(ctx, sender, sent, func(q *inet.Packet) bool { return ofKind(q, p.Send) })
		if err != nil || len(prints) == 0 {
			unseen(&way, t.mapping.nodeNamed(sender.machine), &r)
			return way, err
		}
		print = prints[len(prints)-1]
	}
	look := w.of
	if past(&p, &r) { // nobody has waited for an answer
		look = w.arrivedOf
	}
	seen, err := look(ctx, sender, print)
	if err != nil {
		return way, err
	}
	t.judgeLater(f, p, &way, seen, &r)
	// no socket of the sender's hears what is said to it
	if p.Send == scenarios.PacketOutOfWindow && way.End == scenarios.Delivered && !way.Heard {
		way.Answered, err = w.reset(ctx, sender, from, to)
	}
	return way, err
}

// past reports whether a packet was sent past the socket, whose end is not told.
func past(p *scenarios.FlowPacket, r *probe.Result) bool {
	return p.Send == scenarios.PacketOutOfWindow || p.Send == scenarios.PacketData && r.End == probe.Sent
}

// ofKind reports whether a packet of TCP is one of a kind; those of other protocols are all data.
func ofKind(q *inet.Packet, kind scenarios.PacketKind) bool {
	if q.Proto != inet.TCP {
		return !q.IsICMPError()
	}
	switch kind {
	case scenarios.PacketFIN:
		return q.TCPFlags&inet.FIN != 0
	case scenarios.PacketRST:
		return q.TCPFlags&inet.RST != 0
	}
	return q.TCPFlags&inet.PSH != 0
}

// taken reports whether the other end's socket took the packet for one of the connection, as far as the ends can tell.
func (t *traffic) taken(ctx context.Context, f *flow, p scenarios.FlowPacket, r *probe.Result, taker agent) (bool, error) {
	if r.End == probe.Answered {
		return true, nil
	}
	if p.Send != scenarios.PacketFIN && p.Send != scenarios.PacketRST || taker.name == "" {
		return false, nil
	}
	other := scenarios.SideServer
	if p.From == scenarios.SideServer {
		other = scenarios.SideClient
	}
	came, err := t.relay(taker.machine).Arrivals(ctx, taker.name,
		probe.Arrived{Conn: p.Of, Side: other, Kind: p.Send, Wait: t.silence(t.next)})
	return len(came) > 0, err
}

// reached fills in which server answered the client's packet, and whom it saw. A datagram may come to another one than before.
func (t *traffic) reached(f *flow, w *scenarios.Way, r *probe.Result) {
	w.Server, w.Client = t.mapping.BackPort(f.at), t.mapping.BackPort(f.saw)
	if r.At.IsValid() {
		w.Server = t.mapping.BackPort(r.At)
	}
	if r.Client.IsValid() {
		w.Client = t.mapping.BackPort(r.Client)
	}
	w.Host = t.hostAt(&f.attempt, w.Server.Addr(), cmp.Or(r.Server, f.server.name))
	if !r.At.IsValid() {
		return
	}
	if host, ok := t.mapping.Host(w.Host); ok {
		f.server, f.at = agent{host.Machine, host.Agent}, r.At
		if r.Client.IsValid() {
			f.saw = r.Client
		}
	}
}

// judgeLater fills in what the sightings of a later packet say of its end.
func (t *traffic) judgeLater(f *flow, p scenarios.FlowPacket, way *scenarios.Way, seen []sighting, r *probe.Result) {
	t.judge(&f.attempt, way, seen, r)
	way.Answered = r.End == probe.Refused
	if way.End != scenarios.Delivered && way.End != scenarios.Refused || len(seen) == 0 {
		return
	}
	last := &seen[len(seen)-1].packet
	source, destination := f.saw, f.at
	if p.From == scenarios.SideServer {
		source, destination = f.to, f.from
	}
	asOne := sourceOf(last) == source && destinationOf(last) == destination
	way.Heard = asOne && past(&p, r)
	if way.Heard {
		way.Why = ""
	} else if !asOne {
		way.Why = "it does not have the addresses of the connection"
	}
	way.Client, way.Server = t.mapping.BackPort(sourceOf(last)), t.mapping.BackPort(destinationOf(last))
}
