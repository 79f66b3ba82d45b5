package live

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// act is what of an attempt is judged.
type act string

// The acts.
const (
	actConnect act = ""                                 // the connection itself
	actMartian act = "spoofed"                          // its first packet alone, as no client's routing would send it
	actAgain   act = "again, after a connection"        // another connection of the same client, after one to the endpoint of the errand
	actInvalid act = "an answer that conntrack rejects" // a segment of the server out of the window
	actReply   act = "a later packet of the connection" // data from the server
	actLive    act = "data of a connection that a node remembers"
	actReplied act = "one of all packets"
)

// The client's ports for a first and a second connection.
const (
	firstPort  = 40000
	secondPort = 40001
)

// errand is a packet, or two, whose fate is judged.
type errand struct {
	attempt oracle.Attempt
	act     act
	pick    netip.AddrPort // the endpoint of the first connection, for acts after one
	live    *live          // for actLive and actReplied
}

// String is the errand in a few words.
func (p errand) String() string {
	text := attemptText(p.attempt)
	if p.act != actConnect {
		text += ", " + string(p.act)
	}
	if p.pick.IsValid() {
		text += " to " + p.pick.String()
	}
	return text
}

// errands are a state's errands: every attempt of the oracle, each endpoint that calls its own service, the places that foreign rules are
// about, what no client sends, what comes after a connection: for each service port with session affinity, and for a connection
// between pods of each node; and what the ends of connections send that the nodes remember.
func (e *exam) errands() []errand {
	attempts := e.spec.Attempts()
	out := make([]errand, 0, 3*len(attempts)) // with what comes after a connection
	add := func(a oracle.Attempt) {
		if !e.anycast[a.To.Addr()] {
			out = append(out, errand{attempt: a})
		}
	}
	for _, a := range attempts {
		add(a)
	}
	e.hairpins(out, add)
	e.suspects(out, add)
	for _, a := range e.spec.Martians() {
		out = append(out, errand{attempt: a, act: actMartian})
	}
	return append(e.later(out), e.established()...)
}

// noteAnycast notes the IPv6 addresses that are the first ones of a network of a node: a router has such a one as an anycast address
// (addrconf_join_anycast in net/ipv6/addrconf.c), even if it has it as its own as well, and whether rules take it for a local one depends
// on which came first.
func (e *exam) noteAnycast(routes []snapshot.Route) {
	for i := range routes {
		if r := &routes[i]; r.Type == packetsim.RouteAnycast {
			e.anycast[r.Dst.Addr()] = true
		}
	}
}

// hairpins are the attempts of the attempts' endpoints to reach themselves, by the service's cluster IP, that are not among these.
func (e *exam) hairpins(attempts []errand, add func(oracle.Attempt)) {
	type call struct {
		pod      string
		protocol corev1.Protocol
		to       netip.AddrPort
	}
	made := map[call]bool{}
	for i := range attempts {
		if a := &attempts[i].attempt; e.isPods(a) {
			made[call{a.From, a.Protocol, a.To}] = true
		}
	}
	for i := range attempts {
		a := attempts[i].attempt
		if !e.isPods(&a) {
			continue
		}
		answer := e.spec.Expect(a)
		if answer.Fate != oracle.ToEndpoint {
			continue
		}
		for _, endpoint := range answer.Endpoints {
			own := e.podAt[endpoint.Addr()]
			if own == nil || made[call{own.Name, a.Protocol, a.To}] {
				continue
			}
			made[call{own.Name, a.Protocol, a.To}] = true
			a.From = own.Name
			add(a)
		}
	}
}

// isPods says whether an attempt is a pod's.
func (e *exam) isPods(a *oracle.Attempt) bool { return e.pods[a.From] != nil && a.Via == "" }

// suspects are the attempts to the places that foreign rules are about, that are not among others: from the node, from one of its pods and
// from a machine. They find rules of what is no more, of which the objects say nothing.
func (e *exam) suspects(others []errand, add func(oracle.Attempt)) {
	var seen map[oracle.Attempt]bool
	for _, node := range slices.Sorted(maps.Keys(e.rules)) {
		for _, r := range e.rules[node].foreign {
			for _, a := range e.callersOf(r) {
				if seen == nil {
					seen = make(map[oracle.Attempt]bool, len(others))
					for i := range others {
						seen[others[i].attempt] = true
					}
				}
				if !seen[a] {
					seen[a] = true
					add(a)
				}
			}
		}
	}
}

// callersOf are the callers of the place that a foreign rule is about.
func (e *exam) callersOf(r factRule) []oracle.Attempt {
	c := &r.fact.Conditions
	if c.Src.IsValid() || c.In != "" || c.Out != "" || c.DstPorts == (netfilter.PortRange{}) {
		return nil
	}
	to := e.topology.Node(r.Node).Addresses
	if c.Dst.IsValid() {
		to = []netip.Addr{c.Dst.Addr()}
	}
	protocol := corev1.Protocol(strings.ToUpper(inet.Proto(c.Protocol).String()))
	var out []oracle.Attempt
	for _, a := range to {
		if !a.IsLoopback() && inet.FamilyOf(a) == r.Family {
			out = append(out, e.callers(r.Node, protocol, netip.AddrPortFrom(a, c.DstPorts.Min))...)
		}
	}
	return out
}

// callers are attempts of each kind of client that a node decides about.
func (e *exam) callers(node string, protocol corev1.Protocol, to netip.AddrPort) []oracle.Attempt {
	out := []oracle.Attempt{{From: node, Protocol: protocol, To: to}}
	of := func(own netip.Addr) bool { return own.Is6() == to.Addr().Is6() }
	for _, pod := range e.topology.Pods {
		if pod.Node == node && slices.ContainsFunc(pod.Addresses, of) {
			out = append(out, oracle.Attempt{From: pod.Name, Protocol: protocol, To: to})
			break
		}
	}
	for _, m := range e.topology.Outside {
		if slices.ContainsFunc(m.Addresses, of) {
			return append(out, oracle.Attempt{From: m.Name, Protocol: protocol, To: to, Via: node})
		}
	}
	return out
}

// later appends the errands after a connection to those that make it.
func (e *exam) later(first []errand) []errand {
	affine, out := e.affine(), first
	type flow struct {
		from       string
		v6, beside bool
	}
	flows := map[flow]bool{}
	for _, p := range first {
		if p.act != actConnect {
			continue
		}
		answer := e.spec.Expect(p.attempt)
		if answer.Fate != oracle.ToEndpoint || answer.Open || len(answer.Others) > 0 {
			continue
		}
		if affine[answer.Service.String()] {
			for _, endpoint := range answer.Endpoints {
				out = append(out, errand{attempt: p.attempt, act: actAgain, pick: endpoint})
			}
		}
		if p.attempt.Protocol != corev1.ProtocolTCP {
			continue
		}
		for i, endpoint := range answer.Endpoints {
			key := flow{p.attempt.From, endpoint.Addr().Is6(), e.sharesNode(p.attempt.From, endpoint.Addr())}
			if !flows[key] && answer.Heard(i) {
				flows[key] = true
				out = append(out, errand{attempt: p.attempt, act: actInvalid, pick: endpoint},
					errand{attempt: p.attempt, act: actReply, pick: endpoint})
			}
		}
	}
	return out
}

// sharesNode reports whether an address is that of another pod of the client's node.
func (e *exam) sharesNode(client string, a netip.Addr) bool {
	pod, other := e.pods[client], e.podAt[a]
	return pod != nil && other != nil && pod != other && pod.Node == other.Node
}

// affine are the services with session affinity.
func (e *exam) affine() map[string]bool {
	out := map[string]bool{}
	for _, s := range e.cluster.services() {
		out[s.Namespace+"/"+s.Name] = s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
	}
	return out
}

// try makes an errand and says what of it is not allowed, and on demand the whole story. The lab is left as it was.
func (l *lab) try(spec *oracle.Spec, p errand, tell bool) (wrong []oracle.Violation, told []story, err error) {
	switch p.act {
	case actConnect:
		return l.connect(spec, p, tell)
	case actMartian:
		return l.inject(spec, p)
	case actLive:
		return l.goOn(spec, p)
	case actReplied:
		return l.thereAndBack(spec, p)
	}
	defer l.Network.CheckpointOnTheWay()()
	flow, way, err := l.keep(p)
	if err != nil || way.End != oracle.Delivered || !way.Heard {
		return nil, nil, err // the connection itself is wrong, or there is none to the endpoint: other errands say so
	}
	if p.act == actAgain {
		return l.again(spec, p, way, tell)
	}
	return l.answer(spec, p, flow, way, tell)
}

// tell makes an errand and tells the whole story.
func (l *lab) tell(spec *oracle.Spec, p errand) ([]story, error) {
	if p.act == actConnect {
		return l.follow(p.attempt)
	}
	_, told, err := l.try(spec, p, true)
	return told, err
}

func (l *lab) connect(spec *oracle.Spec, p errand, tell bool) ([]oracle.Violation, []story, error) {
	if !tell {
		ways, err := l.reach(p.attempt)
		l.seen = ways
		return spec.Judge(p.attempt, ways), nil, err
	}
	connect := sim.ConnectOf(l.Plan, p.attempt)
	connections, err := l.connections(connect)
	return spec.Judge(p.attempt, sim.WaysOf(connect.Reached(connections))), storiesOf(connections), err
}

// keep makes the connection that comes before the errand's last act. A way that is not there is no error: nothing is kept then.
func (l *lab) keep(p errand) (*network.Flow, oracle.Way, error) {
	if noted := l.courseOf(&p); noted != nil && noted.known {
		if !noted.leads {
			return nil, oracle.Way{}, nil
		}
		flow, reached, err := l.Network.EstablishAlong(sim.ConnectOf(l.Plan, p.attempt), noted.along)
		if err != nil {
			return nil, oracle.Way{}, err
		}
		return flow, sim.WaysOf([]network.Reached{reached})[0], nil
	}
	var way oracle.Way
	none := false
	flow, err := l.Network.EstablishQuietly(sim.ConnectOf(l.Plan, p.attempt), func(reached []network.Reached) int {
		ways := sim.WaysOf(reached)
		place := placeOf(ways, p.pick)
		if none = place < 0; !none {
			way = ways[place]
		}
		return place
	})
	if none {
		return nil, oracle.Way{}, nil
	}
	return flow, way, err
}

// again connects once more.
func (l *lab) again(spec *oracle.Spec, p errand, first oracle.Way, tell bool) ([]oracle.Violation, []story, error) {
	var affinity oracle.Affinity
	var now time.Time
	affinity.Made(spec, p.attempt, first, now)
	next := p.attempt
	next.Source = netip.AddrPortFrom(first.Sender.Addr(), secondPort)
	ways, err := l.reach(next)
	if err != nil {
		return nil, nil, err
	}
	l.seen = ways
	wrong := affinity.Judge(spec, next, now, ways)
	if !tell {
		return wrong, nil, nil
	}
	told, err := l.follow(next)
	return wrong, told, err
}

// answer has the server send a packet.
func (l *lab) answer(spec *oracle.Spec, p errand, flow *network.Flow, first oracle.Way, tell bool) ([]oracle.Violation, []story, error) {
	judged := spec.Keep(p.attempt, first)
	packet := network.FlowPacket{OutOfWindow: p.act == actInvalid}
	if p.act == actReply {
		var err error
		if packet, err = l.full(p.attempt.From, flow); err != nil {
			return nil, nil, err
		}
	}
	var told []story
	if tell {
		end := l.Network.CheckpointOnTheWay()
		journeys, err := flow.Send(network.FromServer, packet)
		end()
		if err != nil {
			return nil, nil, err
		}
		for i := range journeys {
			told = append(told, story{journeys[i].Probability, []*network.Journey{&journeys[i]}, nil})
		}
	}
	reached, err := flow.Probe(network.FromServer, packet)
	if err != nil {
		return nil, nil, err
	}
	ways := sim.LaterWaysOf(reached, scenarios.SideServer)
	l.seen = ways
	return judged.Judge(oracle.Later{From: oracle.FromServer, OutOfWindow: packet.OutOfWindow}, ways), told, nil
}

// inject gives a packet to the node that it comes by.
func (l *lab) inject(spec *oracle.Spec, p errand) ([]oracle.Violation, []story, error) {
	node, in := l.Network.Host(p.attempt.Via), l.spoofed(p.attempt)
	outcomes, err := node.Walk(in)
	if err != nil {
		return nil, nil, err
	}
	var ways []oracle.Way
	var told []story
	for i := range outcomes {
		o := &outcomes[i]
		final := o.Packet
		if final.Carried != nil {
			final = *final.Carried
		}
		way := oracle.Way{
			Probability: o.Probability, End: oracle.Lost, Host: node.Name(), Sender: netip.AddrPortFrom(in.Src, in.SrcPort),
			Client: netip.AddrPortFrom(final.Src, final.SrcPort), Server: netip.AddrPortFrom(final.Dst, final.DstPort),
		}
		switch {
		case o.Verdict == packetsim.Drop && o.Reason == "":
			way.End = oracle.Dropped
		case o.Verdict == packetsim.Reject:
			way.End, way.With = oracle.Rejected, o.RejectWith
		case o.Verdict == packetsim.Accept:
			way.End = oracle.Delivered
		}
		ways = append(ways, way)
		told = append(told, storyOf(node.Name(), in, o))
	}
	l.seen = ways
	return spec.Judge(p.attempt, ways), told, nil
}

// spoofed is the first packet of an attempt as it comes to the node by the client's device.
func (l *lab) spoofed(a oracle.Attempt) inet.Input {
	connect := sim.ConnectOf(l.Plan, a)
	return inet.Input{In: l.Entrance(a.From, a.Via), Packet: inet.Packet{
		Proto: connect.Proto, Src: l.addressOf(a.From, a.To.Addr().Is6()), Dst: a.To.Addr(), SrcPort: firstPort, DstPort: a.To.Port(),
		TCPFlags: inet.SYN,
	}}
}

// addressOf is an address of a host, of a family.
func (l *lab) addressOf(host string, v6 bool) netip.Addr {
	for _, d := range l.Network.Host(host).Config().Devices {
		for _, a := range d.Addresses {
			if own := a.Prefix.Addr(); own.Is6() == v6 && !own.IsLoopback() && !own.IsLinkLocalUnicast() {
				return own
			}
		}
	}
	return netip.Addr{}
}
