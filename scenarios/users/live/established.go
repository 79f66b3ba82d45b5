package live

import (
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// live is a packet of a connection that a node remembers.
type live struct {
	node  string
	side  scenarios.Side
	input inet.Input
	// src and dst are the packet's addresses when it leaves the node.
	src, dst netip.AddrPort
	// first is what became of the first packet; not of actReplied, of which input is the first packet.
	first oracle.Way
	// replies is, of actReplied, the range of replies that have the same fate as the reply to this packet.
	replies *PacketRange
}

// established are a packet of each end for every TCP connection that a node remembers as made. Those of pods that are gone are left
// out, and those that a node has with itself.
func (e *exam) established() []errand {
	var out []errand
	for _, taken := range e.cluster.Snapshots {
		if !e.walked(taken.Hostname) {
			continue
		}
		for i := range taken.Conntrack {
			c := &taken.Conntrack[i]
			if isLive(c) && e.hasFamily(c.Original.Dst) {
				out = append(out, e.packetsOf(taken.Hostname, c)...)
			}
		}
	}
	return out
}

// isLive reports whether a connection is one of TCP that both ends have. Those from a port that errands come from are left out: an errand
// would not be a first packet.
func isLive(c *snapshot.Connection) bool {
	return c.Original.Proto == inet.TCP && c.State == "ESTABLISHED" && c.Replied && c.Zone+c.OrigZone+c.ReplyZone == 0 &&
		c.Original.SrcPort != firstPort && c.Original.SrcPort != secondPort
}

// unlessFull keeps all connections of a node that has room for no more: their number decides what becomes of new ones.
func unlessFull(taken *snapshot.NodeSnapshot, keep func(*snapshot.Connection) bool) func(*snapshot.Connection) bool {
	most, err := strconv.Atoi(taken.Sysctls["net.netfilter.nf_conntrack_max"])
	if err != nil || most == 0 || len(taken.Conntrack) < most {
		return keep
	}
	return func(*snapshot.Connection) bool { return true }
}

// packetsOf are a packet of each end of a connection, as far as the node can hear it.
func (e *exam) packetsOf(node string, c *snapshot.Connection) []errand {
	a, _ := e.attemptOf(node, c, corev1.ProtocolTCP)
	from, to := at(c.Original.Src, c.Original.SrcPort), at(c.Reply.Src, c.Reply.SrcPort)
	back := at(c.Reply.Dst, c.Reply.DstPort)
	if e.hostOf(from.Addr()) == a.From {
		a.Source = from
	}
	if e.isOwn(node, from.Addr()) && e.isOwn(node, to.Addr()) {
		return nil
	}
	first := oracle.Way{
		Probability: 1, End: oracle.Delivered, Host: e.hostOf(to.Addr()), Sender: from, Client: back, Server: to, Heard: true,
	}
	var out []errand
	for _, l := range []live{
		{node: node, side: scenarios.SideClient, input: segment(from, a.To), src: back, dst: to, first: first},
		{node: node, side: scenarios.SideServer, input: segment(to, back), src: a.To, dst: from, first: first},
	} {
		if e.arrive(node, &l.input) {
			out = append(out, errand{attempt: a, act: actLive, pick: to, live: &l})
		}
	}
	return out
}

func at(a netip.Addr, port uint16) netip.AddrPort { return netip.AddrPortFrom(a, port) }

// segment is data of an established connection.
func segment(src, dst netip.AddrPort) inet.Input {
	return inet.Input{Packet: inet.Packet{
		Proto: inet.TCP, Src: src.Addr(), Dst: dst.Addr(), SrcPort: src.Port(), DstPort: dst.Port(), TCPFlags: inet.ACK,
	}}
}

// arrive has a packet come to a node as one with its source does, and reports whether there is such a way.
func (e *exam) arrive(node string, in *inet.Input) bool {
	if e.isOwn(node, in.Src) {
		in.Local = true
		return true
	}
	if p := e.podAt[in.Src]; p != nil && p.Node == node {
		in.In = e.lab.Entrance(p.Name, node)
		return true
	}
	if slices.ContainsFunc(e.topology.Node(node).PodCIDRs, func(p netip.Prefix) bool { return p.Contains(in.Src) }) {
		return false
	}
	in.In = e.lab.Entrance("", node)
	return true
}

// isOwn reports whether an address is one of a node's devices.
func (e *premises) isOwn(node string, a netip.Addr) bool {
	return slices.ContainsFunc(e.nodes[node].Devices, func(d snapshot.Device) bool {
		return slices.ContainsFunc(d.Addresses, func(own snapshot.Address) bool { return own.Prefix.Addr() == a })
	})
}

// goOn gives the node the packet, which is to leave it for its other end.
func (l *lab) goOn(spec *oracle.Spec, p errand) ([]oracle.Violation, []story, error) {
	node := l.Network.Host(p.live.node)
	outcomes, err := node.Walk(p.live.input)
	if err != nil {
		return nil, nil, err
	}
	var ways []oracle.Way
	var told []story
	for i := range outcomes {
		o := &outcomes[i]
		told = append(told, storyOf(node.Name(), p.live.input, o))
		ways = append(ways, p.live.way(o))
	}
	later := oracle.Later{From: oracle.FromClient}
	if p.live.side == scenarios.SideServer {
		later.From = oracle.FromServer
	}
	l.seen = ways
	return spec.Keep(p.attempt, p.live.first).Judge(later, ways), told, nil
}

// way is what became of the packet. The node does not decide the rest of its way, so it has arrived if it leaves as it should.
func (l *live) way(o *packetsim.Outcome) oracle.Way {
	final := o.Packet
	if final.Carried != nil {
		final = *final.Carried
	}
	out := oracle.Way{
		Probability: o.Probability, End: oracle.Lost, Host: l.node, Sender: l.first.Sender,
		Client: at(final.Src, final.SrcPort), Server: at(final.Dst, final.DstPort),
	}
	switch {
	case o.Verdict == packetsim.Drop && o.Reason == "":
		out.End = oracle.Dropped
	case o.Verdict == packetsim.Reject:
		out.End, out.With = oracle.Rejected, o.RejectWith
	case o.Verdict == packetsim.Accept && out.Client == l.src && out.Server == l.dst:
		out.End, out.Host, out.Heard = oracle.Delivered, l.first.Host, true
	}
	return out
}
