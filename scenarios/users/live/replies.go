package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/replies"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// allPackets looks at all replies that the rules of each node stop. Where one is to a packet that the node lets through, and that somebody
// is promised, that packet is an errand, which is judged as any other.
func (g *groups) allPackets(ctx context.Context) error {
	e := g.exam
	if !e.cluster.AllPackets {
		return nil
	}
	servers := serversOf(&e.premises)
	for i := range e.report.Nodes {
		n := &e.report.Nodes[i]
		if !n.Judged {
			continue
		}
		l := repliesOf{exam: e, groups: g, servers: servers, out: AllPackets{Node: n.Name}}
		if err := l.look(ctx); err != nil {
			return fmt.Errorf("all packets of %s: %w", n.Name, err)
		}
		e.report.AllPackets = append(e.report.AllPackets, l.out)
	}
	return nil
}

// mostTries is how many packets of a node are tried to find one that gets through and whose reply does not.
const mostTries = 10_000

// repliesOf looks at all replies on a node.
type repliesOf struct {
	*exam
	*groups
	servers []server
	tried   int
	out     AllPackets
}

// look adds what is wrong to the findings.
func (l *repliesOf) look(ctx context.Context) error {
	defer l.out.conclude()
	node := l.out.Node
	switch devices, most := len(l.nodes[node].Devices), l.cluster.MostDevices; {
	case !l.walked(node):
		l.out.Skipped = "it runs " + l.others[node]
		return nil
	case most > 0 && devices > most:
		l.out.Skipped = fmt.Sprintf("it has %d devices, and of more than %d this takes long (--all-packets looks at them)", devices, most)
		return nil
	}
	attached, taken := *l.nodes[node], *l.nodes[node].NodeSnapshot
	taken.IPTables, taken.NFTables, taken.IPSets = nil, nil, ""
	attached.NodeSnapshot = &taken
	bare, err := newHost(&attached, l.cluster.hostOptions)
	if err != nil {
		return err
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		if err := ctx.Err(); err != nil {
			return err
		}
		sets, more, err := replies.Stopped(l.lab.Network.Host(node).Host, bare, family)
		if err != nil {
			return err
		}
		if more {
			l.out.open(fmt.Sprintf("more than %d sets of replies of IPv%d are stopped", replies.MostSets, family))
		}
		for i := range sets {
			if err := l.judge(&sets[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge tries the packets to which a set has the replies.
func (l *repliesOf) judge(set *replies.Set) error {
	suffers := map[string]bool{}
	for in := range l.packetsOf(set) {
		p, promised := l.repliedOf(&in)
		if !promised {
			continue
		}
		answer := l.spec.Expect(p.attempt)
		who := fmt.Sprint(answer.Service, answer.Port, l.isInside(p.attempt.From), answer.Service.Name == "" && l.pods[p.attempt.From] != nil)
		switch l.tried++; {
		case suffers[who]:
			continue
		case l.tried > mostTries:
			l.out.open(fmt.Sprintf("more than %s packets would have to be tried", thousands(mostTries)))
			return nil
		}
		wrong, told, err := l.lab.thereAndBack(l.spec, p)
		var opaque *packetsim.OpaqueError
		switch {
		case errors.As(err, &opaque):
			l.out.open(opaque.Error())
		case err != nil:
			return err
		case set.Unknown != "" && len(wrong) == 0:
			l.out.open(set.Unknown)
			return nil
		case len(wrong) > 0 && l.blocked(&p, told):
			l.intended++
		case len(wrong) > 0:
			suffers[who] = true
			stopped, _ := set.To(in.Src)
			p.live.replies = &PacketRange{Node: l.out.Node, Replies: stopped.String()}
			if err := l.find(&suffering{errand: p, wrong: wrong}); err != nil {
				return err
			}
		}
	}
	if len(suffers) > 0 {
		l.out.Stopped++
	}
	return nil
}

// blocked says whether rules stop the reply to a client outside for its address alone, as lists of addresses do: also a first packet from
// the server to it, and none to the machine that stands for all clients there.
func (l *repliesOf) blocked(p *errand, told []story) bool {
	usual := l.lab.addressOf(p.attempt.From, p.attempt.To.Addr().Is6())
	if l.isInside(p.attempt.From) || p.live.input.Src == usual || !usual.IsValid() {
		return false
	}
	const port = 443
	reply := &told[0].journeys[0].Hops[1]
	stops := func(client netip.Addr) bool {
		in := reply.Input
		in.Packet = forall.Usual(inet.Packet{
			Proto: in.Proto, Src: in.Src, Dst: client, SrcPort: firstPort, DstPort: port,
		}, forall.New)
		outcomes, err := l.lab.Network.Host(p.live.node).Walk(in)
		return err == nil && !slices.ContainsFunc(outcomes, func(o packetsim.Outcome) bool { return o.Verdict == packetsim.Accept })
	}
	return stops(p.live.input.Src) && !stops(usual)
}

// server is where packets to a service end, or to a pod.
type server struct {
	proto inet.Proto
	at    netip.AddrPort
	to    []netip.AddrPort // that packets to it call; nil: it serves nothing that is known, and replies of all its ports count
}

// serversOf are endpoints of each service port, and the pods.
func serversOf(e *premises) (out []server) {
	const ofAPort = 3
	for _, s := range e.cluster.services() {
		for i := range s.Spec.Ports {
			port := &s.Spec.Ports[i]
			serving := e.serving(s.Namespace+"/"+s.Name, port.Name)
			for _, at := range serving[:min(len(serving), ofAPort)] {
				one := server{proto: plan.Proto(strings.ToLower(string(protocolOf(port))), at.Addr().Is6()), at: at, to: []netip.AddrPort{at}}
				addresses := slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs)
				for k := range s.Status.LoadBalancer.Ingress {
					addresses = append(addresses, s.Status.LoadBalancer.Ingress[k].IP)
				}
				for _, text := range addresses {
					if a, ok := parse(text); ok {
						one.to = append(one.to, netip.AddrPortFrom(a, uint16(port.Port)))
					}
				}
				for k := 0; port.NodePort != 0 && k < len(e.topology.Nodes); k++ {
					for _, a := range e.topology.Nodes[k].Addresses {
						one.to = append(one.to, netip.AddrPortFrom(a, uint16(port.NodePort)))
					}
				}
				out = append(out, one)
			}
		}
	}
	for i := range e.topology.Pods {
		for _, a := range e.topology.Pods[i].Addresses {
			out = append(out, server{at: netip.AddrPortFrom(a, podPort)})
		}
	}
	return append(out, declaredBy(e.cluster.pods())...)
}

// packetsOf are packets to servers to which a set has the replies, by clients of each kind.
func (l *repliesOf) packetsOf(set *replies.Set) iter.Seq[inet.Input] {
	clients := l.clientsOf(set)
	return func(yield func(inet.Input) bool) {
		for i := range l.servers {
			s := &l.servers[i]
			proto, to := s.proto, s.to
			if s.to == nil {
				if proto = inet.Proto(set.Protos.First); set.Protos.Has(uint16(inet.TCP)) {
					proto = inet.TCP
				}
				to = []netip.AddrPort{s.at}
			}
			ofPort := set.SrcPorts.Has(s.at.Port()) && s.to != nil || set.SrcPorts == forall.Ports{Last: 65535}
			if !ofPort && proto.HasPorts() || !set.Src.Has(s.at.Addr()) || !set.Protos.Has(uint16(proto)) {
				continue
			}
			for _, called := range to {
				for _, client := range clients {
					if called.Addr().Is6() != client.Is6() || called.Addr() == client {
						continue
					}
					in := inet.Input{Packet: forall.Usual(inet.Packet{Proto: proto, Src: client, Dst: called.Addr(),
						SrcPort: set.ClientPort(firstPort), DstPort: called.Port()}, forall.New)}
					if l.arrive(l.out.Node, &in) && !yield(in) {
						return
					}
				}
			}
		}
	}
}

// podPort is a port of pods that are called without a service.
const podPort = 8080

// declaredBy are the ports that pods say they serve.
func declaredBy(pods []*corev1.Pod) (out []server) {
	for _, pod := range pods {
		for i := range pod.Spec.Containers {
			for _, port := range pod.Spec.Containers[i].Ports {
				for _, a := range addressesOf(pod) {
					at := netip.AddrPortFrom(a, uint16(port.ContainerPort))
					proto := plan.Proto(strings.ToLower(cmp.Or(string(port.Protocol), "tcp")), a.Is6())
					out = append(out, server{proto, at, []netip.AddrPort{at}})
				}
			}
		}
	}
	return out
}

// clientsOf are addresses to which a set has replies: the likely one, one of the node, of a pod on it, of another pod, and of a machine
// outside.
func (l *repliesOf) clientsOf(set *replies.Set) []netip.Addr {
	out := []netip.Addr{set.Client}
	first := func(lists ...[]netip.Addr) {
		for _, list := range lists {
			for _, a := range list {
				if _, is := set.To(a); is {
					if !slices.Contains(out, a) {
						out = append(out, a)
					}
					return
				}
			}
		}
	}
	var own, others [][]netip.Addr
	for i := range l.topology.Pods {
		if p := &l.topology.Pods[i]; p.Node == l.out.Node {
			own = append(own, p.Addresses)
		} else {
			others = append(others, p.Addresses)
		}
	}
	first(l.topology.Node(l.out.Node).Addresses)
	first(own...)
	first(others...)
	for i := range l.topology.Outside {
		first(l.topology.Outside[i].Addresses)
	}
	return out
}

// repliedOf is the errand of a packet that comes to a node, if somebody is promised that it comes through, as far as the objects and the
// network say.
func (l *repliesOf) repliedOf(in *inet.Input) (errand, bool) {
	e, node := l.exam, l.out.Node
	came := inet.Input{Packet: in.Packet}
	if in.Src.IsLoopback() || in.Src.IsLinkLocalUnicast() || e.anycast[in.Dst] || !e.arrive(node, &came) || came.In != in.In ||
		came.Local != in.Local {
		return errand{}, false
	}
	a := oracle.Attempt{From: e.clientOf(node, in.Src), To: at(in.Dst, in.DstPort), Source: at(in.Src, in.SrcPort)}
	switch in.Proto {
	case inet.TCP, inet.UDP, inet.SCTP:
		a.Protocol = corev1.Protocol(strings.ToUpper(in.Proto.String()))
	case inet.ICMP, inet.ICMPv6:
		a.Protocol, a.Source = oracle.ICMP, at(in.Src, 0)
	default:
		return errand{}, false
	}
	if e.hostOf(in.Src) != a.From {
		a.Source = at(netip.Addr{}, in.SrcPort) // somebody in the client's place
	}
	if called := e.nodeOf(in.Dst); !e.isInside(a.From) {
		a.Via = node
		if called != "" && called != node {
			return errand{}, false
		}
	} else if e.clientNode(a) != node && called != node {
		return errand{}, false // the client's own node has translated it, or another one is called
	}
	first := errand{attempt: a}
	answer := e.spec.Expect(a)
	promised := !answer.Open && len(answer.Others) == 0 && e.unknown(a) == "" && e.promises(&suffering{errand: first, answer: answer})
	first.act, first.live = actReplied, &live{node: node, side: scenarios.SideClient, input: *in}
	return first, promised
}

// nodeOf is the node that has an address, or that the pod is on that has it; empty if nobody is known to.
func (e *premises) nodeOf(a netip.Addr) string {
	if p := e.podAt[a]; p != nil {
		return p.Node
	}
	if n := e.nodeAt[a]; n != nil {
		return n.Name
	}
	return ""
}

// thereAndBack gives the node the packet, and the reply to it. It tells the ways on which a reply is stopped that somebody is promised,
// otherwise all.
func (l *lab) thereAndBack(spec *oracle.Spec, p errand) (wrong []oracle.Violation, told []story, err error) {
	node := l.Network.Host(p.live.node)
	outcomes, err := node.WalkWith(p.live.input, packetsim.WalkOptions{Back: true})
	if err != nil {
		return nil, nil, err
	}
	var all []story
	answer := spec.Expect(p.attempt)
	for i := range outcomes {
		o := &outcomes[i]
		one := storyOf(node.Name(), p.live.input, o)
		all = append(all, one)
		if o.Back == nil || o.Back.Outcome == nil {
			continue
		}
		back := network.Hop{Host: node.Name(), Input: o.Back.Input, Outcome: *o.Back.Outcome}
		one.journeys[0].Hops = append(one.journeys[0].Hops, back)
		if back.Outcome.Verdict == packetsim.Accept {
			continue
		}
		if broken := p.promise(spec, &answer, o); broken != nil {
			got := fmt.Sprintf("%s lets it through, and not the reply of %s: %s", node.Name(), back.Input.Src, back.Outcome.Summary())
			wrong, told = append(wrong, oracle.Violation{Clause: broken, Attempt: p.attempt, Want: answer.String(), Got: got}), append(told, one)
		}
	}
	if len(wrong) == 0 {
		told = all
	}
	return wrong, told, nil
}

// promise is the clause by which the client hears the reply to a packet with an outcome; nil if it need not.
func (p errand) promise(spec *oracle.Spec, answer *oracle.Answer, o *packetsim.Outcome) *oracle.Clause {
	server := at(o.Packet.Dst, o.Packet.DstPort)
	switch answer.Fate {
	case oracle.ToEndpoint:
		if i, found := slices.BinarySearchFunc(answer.Endpoints, server, netip.AddrPort.Compare); found && answer.Heard(i) {
			return oracle.ByName("replies-come-back")
		}
	case oracle.Untouched:
		from := at(p.live.input.Src, p.live.input.SrcPort)
		way := oracle.Way{Probability: 1, End: answer.End, Host: answer.Host, Sender: from, Client: from, Server: server}
		if broken := spec.Judge(p.attempt, []oracle.Way{way}); answer.End == oracle.Delivered && len(broken) > 0 {
			return broken[0].Clause
		}
	}
	return nil
}
