package oracle

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Side is an end of a flow.
type Side string

// The sides.
const (
	FromClient Side = "client"
	FromServer Side = "server"
)

// Later is a later packet of a flow.
type Later struct {
	From Side
	// OutOfWindow says that conntrack takes it for INVALID (TCP only).
	OutOfWindow bool
	// Reset is a TCP packet that ends the flow at once, Fin one that begins to end it.
	Reset, Fin bool
}

// Flow is a connection that was kept, and what is known of it: the endpoint that it has,
// and whether that may or must have been given up. Syncs, packets and the passing of time are told to it in
// their order.
type Flow struct {
	attempt Attempt
	first   Way
	spec    *Spec
	// entry says what conntrack has of the flow.
	entry entry
	// why is the clause that the state of the entry follows from.
	why  *Clause
	idle time.Duration
	// node is the node that decided about the first packet, or would decide now.
	node string
	// restarted says that the proxier of the node has started since it last served something there: it does not know what was.
	restarted bool
	// former says that it is translated though what it calls was no service's any more when it went on.
	former bool
	// called is the host whose address the client called; empty if nobody had it.
	called string
	// answered says that the endpoint has answered, so that conntrack takes packets for those of a connection.
	answered bool
	// closing says that an end has sent a FIN: what conntrack knows of the flow does not last then.
	closing bool
}

// entry is what is known of a flow's conntrack entry.
type entry uint8

const (
	entryStands entry = iota // the flow goes on as it did
	entryDoubt               // it goes on, or is as new
	entryGone                // the next packet is as the first one
	entryEnded               // nothing is said any more
)

// udpTimeout is when conntrack may forget a datagram without an answer; kube-proxy may be told to make it longer.
const udpTimeout = 30 * time.Second

// sctpTimeout is when conntrack may forget an association whose handshake has not come to its end (nf_conntrack_proto_sctp.c).
const sctpTimeout = 3 * time.Second

// Keep begins a flow: the attempt took the way when the nodes knew s. A datagram that nobody
// answered begins one too.
func (s *Spec) Keep(a Attempt, way Way) *Flow {
	answer := s.expect(&a)
	f := &Flow{attempt: a, first: way, spec: s, why: liveConnectionSurvives, node: s.decider(&a, answer.leading(way.Server))}
	f.former = way.Server != a.To && answer.port == nil
	f.answered = way.Heard
	if called := s.network.byAddr[a.To.Addr()]; called != nil {
		f.called = called.name
	}
	switch {
	case way.End == Dropped && way.Server != a.To && way.Host != f.node && a.Protocol == corev1.ProtocolUDP:
		// It had passed the node that translated it.
	case way.End == Rejected || way.End == Dropped:
		f.entry = entryGone // nothing was confirmed
	case a.Protocol == corev1.ProtocolUDP && way.End == Lost && way.Server != a.To:
		f.entry, f.why = entryDoubt, flowOfUnchosenEndpoint // whether it was lost before it was confirmed is open
	case a.Protocol != corev1.ProtocolUDP && (!way.Heard || way.End != Delivered):
		f.entry = entryEnded
	}
	return f
}

// Moved notes that the network may have changed since, while the nodes know what they knew: s is the same but for that. What conntrack
// knows of a connection goes with the devices and addresses that it was masqueraded for.
func (f *Flow) Moved(s *Spec) {
	f.spec = s
	if !f.sameHosts() {
		f.lost()
	}
}

// leading is the one of an answer and its others by which a packet comes to an endpoint; the answer itself if none does.
func (a *Answer) leading(endpoint netip.AddrPort) *Answer {
	if !slices.Contains(a.Endpoints, endpoint) {
		for i := range a.Others {
			if slices.Contains(a.Others[i].Endpoints, endpoint) {
				return &a.Others[i]
			}
		}
	}
	return a
}

// decider is the node that decides about an attempt, or the first that it passes; empty if it passes none.
func (s *Spec) decider(a *Attempt, answer *Answer) string {
	if answer.Node != "" {
		return answer.Node
	}
	client := s.network.byName[a.From]
	if client == nil {
		return ""
	}
	if first, _ := s.network.hops(client, a); first >= 0 {
		return s.network.hosts[first].name
	}
	return ""
}

// Synced notes that syncs succeeded on nodes, all if none is named, and that they know s now. What conntrack has of a flow is
// with the node that decided about it.
func (f *Flow) Synced(s *Spec, nodes ...string) {
	f.Moved(s)
	if f.attempt.Protocol != corev1.ProtocolUDP || f.entry == entryEnded || f.entry == entryGone {
		return
	}
	answer := s.expect(&f.attempt)
	by := func(node string) bool { return len(nodes) == 0 || slices.Contains(nodes, node) }
	if now := s.decider(&f.attempt, &answer); answer.port != nil && now != f.node && by(now) {
		// It passed that node as it was sent, and has an entry there that leads to no endpoint.
		f.entry, f.why = entryDoubt, flowOfUnchosenEndpoint
	}
	if f.node != "" && !by(f.node) {
		return
	}
	state, why := f.after(&answer)
	f.restarted = f.restarted && answer.port == nil // it never hears of what was served before
	if state > f.entry {
		f.entry, f.why = state, why
	}
}

// Tried notes that syncs may have succeeded while the nodes knew s, or may not: what they would have made of the flow is in doubt.
func (f *Flow) Tried(s *Spec) {
	if f.attempt.Protocol != corev1.ProtocolUDP || f.entry != entryStands {
		return
	}
	answer := s.expect(&f.attempt)
	if state, _ := f.after(&answer); state != entryStands {
		f.entry, f.why = entryDoubt, flowOfUnchosenEndpoint
	}
}

// Restarted notes that the proxier of a node has started anew.
func (f *Flow) Restarted(node string) { f.restarted = f.restarted || node == f.node }

// after says what a sync makes of the entry of a UDP flow.
func (f *Flow) after(answer *Answer) (entry, *Clause) {
	translated := f.first.Server != f.attempt.To
	switch {
	case answer.Open || answer.Loose || len(answer.Others) > 0 || !f.callsTheSame():
		return entryDoubt, flowOfUnchosenEndpoint
	case answer.port == nil && translated && (f.restarted || f.former):
		return entryDoubt, staleEntryOfNoService
	case answer.port == nil && translated:
		return entryGone, StaleUDPFlow
	case answer.port == nil:
		return entryStands, nil
	case !translated || !answer.port.serving(f.first.Server):
		return entryGone, StaleUDPFlow
	case !slices.Contains(answer.Endpoints, f.first.Server):
		return entryDoubt, flowOfUnchosenEndpoint
	case !answer.port.servesPackets(f.first.Server):
		return entryDoubt, flowOfUnchosenEndpoint
	}
	return entryStands, nil
}

// servesPackets says whether an endpoint has the condition serving, which those that are ready may lack.
func (p *port) servesPackets(at netip.AddrPort) bool {
	for i := range p.endpoints {
		if p.endpoints[i].at == at {
			return p.endpoints[i].serving
		}
	}
	return false
}

// Idle notes that a time passed without a packet of the flow.
func (f *Flow) Idle(d time.Duration) {
	f.idle += d
	if f.attempt.Protocol == corev1.ProtocolUDP && f.idle >= udpTimeout && f.entry == entryStands {
		f.entry, f.why = entryDoubt, StaleUDPFlow
	}
	if f.closing || f.idle >= sctpTimeout && f.attempt.Protocol != corev1.ProtocolUDP && f.attempt.Protocol != corev1.ProtocolTCP {
		f.entry = entryEnded
	}
}

// Went notes which way a packet of the client took, of those that were judged.
func (f *Flow) Went(p Later, way Way) {
	f.idle = 0
	f.closing = f.closing || p.Fin
	if p.Reset {
		f.entry = entryEnded
		return
	}
	f.answered = f.answered || p.From == FromServer && way.Heard
	if p.From == FromServer || p.OutOfWindow || f.entry == entryEnded {
		return
	}
	// What is known of a datagram that nobody has answered stays, though rules of others drop the next one: no rule marks it any more.
	// If it cannot be that the flow went on, the packet was as the first one.
	clause, _ := f.continues(&way)
	stays := clause == nil && f.entry != entryGone && way.End == Dropped && way.Server != f.attempt.To
	if f.attempt.Protocol == corev1.ProtocolUDP && !stays {
		again := f.spec.Keep(f.attempt, way)
		again.idle, again.answered = 0, f.answered && f.entry == entryStands && way.Server == f.first.Server
		again.restarted = f.restarted && again.node == f.node
		*f = *again
	}
}

// Expect says what may become of the next packet of the client. Open: the specification says nothing (any more).
func (f *Flow) Expect(p Later) Answer {
	open := Answer{Open: true, odd: translatedForGood}
	switch {
	case p.OutOfWindow && (p.From == FromServer || f.entry != entryEnded):
		return f.invalid()
	case f.entry == entryEnded, p.From == FromServer:
		return open
	case f.entry != entryGone && f.uprooted():
		return open
	}
	again := f.goesOn()
	switch f.entry {
	case entryGone:
		fresh := f.anew()
		for i := range fresh {
			fresh[i].chosen, fresh[i].served = f.reason(fresh[i].chosen), f.reason(fresh[i].served)
		}
		fresh[0].Others = fresh[1:]
		return fresh[0]
	case entryDoubt:
		again.Others = f.anew()
	}
	return again
}

// anew is what may become of a packet that is as the first one, each way alone.
func (f *Flow) anew() []Answer {
	first := f.spec.expect(&f.attempt)
	all := append([]Answer{first}, first.Others...)
	all[0].Others = nil
	for i := range all {
		a := &all[i]
		// A client that a service remembers may have another chance.
		a.later, a.remembered = true, a.port != nil && a.port.affinity > 0
	}
	return all
}

// callsTheSame says whether the host whose address the flow calls still has it.
func (f *Flow) callsTheSame() bool {
	called := f.spec.network.byAddr[f.attempt.To.Addr()]
	return f.called == "" || called != nil && called.name == f.called
}

// sameHosts says whether the hosts that the flow joins, and the one that it calls, still have its addresses. A flow that was
// masqueraded is forgotten with the device
// that it left by (nf_nat_masquerade.c), another one is not.
func (f *Flow) sameHosts() bool {
	if !f.callsTheSame() {
		return false
	}
	if f.first.End != Delivered && f.first.End != Refused {
		return f.first.Server == f.attempt.To || f.spec.network.byAddr[f.first.Server.Addr()] != nil
	}
	n := f.spec.network
	server, client := n.byAddr[f.first.Server.Addr()], n.byName[f.attempt.From]
	return server != nil && server.name == f.first.Host && client != nil &&
		(client.has(f.first.Sender.Addr()) || f.first.Sender.Addr().IsLoopback()) &&
		(f.first.Client.Addr() == f.first.Sender.Addr() || n.byAddr[f.first.Client.Addr()] != nil)
}

// lost notes that the endpoint's machine is no more: another one that takes its place has none of its connections.
func (f *Flow) lost() {
	switch {
	case f.attempt.Protocol != corev1.ProtocolUDP:
		f.entry = entryEnded
	case f.entry == entryStands:
		f.entry, f.why = entryDoubt, flowOfUnchosenEndpoint
	}
}

// uprooted says whether the host that took the first packet has gone: with its node's device to it, conntrack may have forgotten
// what was masqueraded there.
func (f *Flow) uprooted() bool {
	h := f.spec.network.byAddr[f.first.Server.Addr()]
	return f.first.End == Delivered && (h == nil || h.name != f.first.Host)
}

// reason is why a flow is as new, or the clause of a first packet if it was never anything else.
func (f *Flow) reason(of *Clause) *Clause {
	if f.why == liveConnectionSurvives {
		return of
	}
	return f.why
}

// goesOn is the answer for a flow that goes on as it did.
func (f *Flow) goesOn() Answer {
	n := f.spec.network
	a := Answer{
		Fate: ToEndpoint, Endpoints: []netip.AddrPort{f.first.Server}, client: n.byName[f.attempt.From], from: f.first.Sender.Addr(), net: n,
		served: liveConnectionSurvives, chosen: f.why, sourced: liveConnectionSurvives, flow: f,
	}
	if first := f.spec.expect(&f.attempt); first.port == nil || !first.port.serving(f.first.Server) {
		a.odd = translatedForGood
	}
	return a
}

// invalid is the answer for a packet that conntrack takes for invalid.
func (f *Flow) invalid() Answer {
	open := Answer{Open: true, odd: invalidPacketToNode}
	n := f.spec.network
	client, server := n.byName[f.attempt.From], n.byAddr[f.first.Server.Addr()]
	if f.attempt.Protocol != corev1.ProtocolTCP || f.first.Server == f.attempt.To || client == nil || server == nil ||
		client.kind == aNode || server.kind == aNode || n.nodeBefore(f.attempt.To.Addr()) >= 0 || f.first.Client.Addr() != f.first.Sender.Addr() {
		return open
	}
	for i := range f.spec.views {
		switch {
		case f.spec.views[i].liberal:
			return open
		case f.spec.modeOn(i) == NFTables:
			open.odd = invalidPacketPasses
			return open
		}
	}
	return Answer{Fate: Drop, chosen: invalidPacketDropped, net: n, client: client}
}

// Judge says what of the ways of a later packet is not allowed. Way.Heard says there that the other end's socket took the
// packet for one of the connection.
func (f *Flow) Judge(p Later, ways []Way) []Violation {
	if p.From == FromServer {
		return f.judgeServer(p, ways)
	}
	answer := f.Expect(p)
	return f.spec.judge(&f.attempt, &answer, ways)
}

// judgeServer judges a packet that the endpoint sends.
func (f *Flow) judgeServer(p Later, ways []Way) []Violation {
	if p.OutOfWindow {
		answer := f.Expect(p)
		return f.spec.judge(&f.attempt, &answer, ways)
	}
	if f.entry != entryStands || !f.first.Heard || f.first.End != Delivered {
		return nil
	}
	for i := range ways {
		if !ways[i].Heard && !f.mayBeStopped(&ways[i]) {
			return []Violation{{
				Clause: repliesComeBack, Attempt: f.attempt, Want: "the client hears it from " + f.attempt.To.String(), Got: inWords(ways),
			}}
		}
	}
	return nil
}

// mayBeStopped says whether rules of others may have stopped a packet: rules of which it is not known what they stop, or that no proxy
// lets known connections pass by.
func (f *Flow) mayBeStopped(w *Way) bool {
	if w.End != Dropped {
		return false
	}
	for i := range f.spec.views {
		if f.spec.views[i].filters || f.spec.stopsReplies(i, w.Server.Addr().Is6()) {
			return true
		}
	}
	return false
}

// continues holds a way of a later packet to the one that the first packet took.
func (f *Flow) continues(w *Way) (*Clause, string) {
	h := f.spec.network.byAddr[f.first.Server.Addr()]
	switch {
	case w.Server != f.first.Server:
		return liveConnectionSurvives, ""
	case f.mayBeStopped(w):
		return nil, ""
	case w.End == Dropped && f.spec.filtering && !f.answered && f.attempt.Protocol == corev1.ProtocolUDP:
		return nil, "" // it is no part of a connection yet, and no rule marks it any more
	case h == nil, f.first.End != Delivered: // nobody was there, or is there: how it ended then and ends now is the network's matter
		return nil, ""
	case w.End != Delivered && w.End != Refused:
		return liveConnectionSurvives, ""
	case w.Client != f.first.Client:
		return liveConnectionSurvives, "the source became " + w.Client.String()
	case f.first.End == Delivered && f.first.Heard && h.name == f.first.Host && !w.Heard:
		return liveConnectionSurvives, "the endpoint's socket does not take it"
	}
	return nil, ""
}
