package live

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// usualMTU is that of devices of which nothing is known, as of machines outside.
const usualMTU = 1500

// segmentsOf are the lengths in bytes of the longest packets that hosts send, as far as the snapshots show them: a pod's by its device on
// the node, whose other end is taken to have the same MTU, and a node's by the least of its devices. Where a rule changes the segments
// that ends agree on, or may do so, nothing is known and it is nil.
func segmentsOf(cluster *scenarios.Cluster, nodes map[string]*labs.Attached, hosts map[string]*packetsim.Host) map[string]int {
	out := map[string]int{}
	for name, node := range nodes {
		if len(node.NFTables) > 0 || hosts[name] == nil || clamps(hosts[name]) {
			return nil
		}
		lengths := make(map[string]int, len(node.Devices))
		for i := range node.Devices {
			d := &node.Devices[i]
			lengths[d.Name] = d.MTU
			if d.Up && d.MTU > 0 && d.Name != "lo" && (out[name] == 0 || d.MTU < out[name]) {
				out[name] = d.MTU
			}
		}
		for i := range cluster.Pods {
			pod := &cluster.Pods[i]
			if length, known := lengths[node.Pods[pod.Name]]; known && pod.Node == name {
				out[pod.Name] = length
			}
		}
	}
	return out
}

// clamps says whether a rule of a host that is not kube-proxy's for one service writes the greatest segment into packets (TCPMSS).
func clamps(host *packetsim.Host) bool {
	for _, family := range netfilter.Families() {
		for _, rules := range host.Rulesets(family) {
			for _, table := range rules.Tables {
				for chain := range table.Chains() {
					if provenance.IsOfServicePort(chain.Name) || provenance.IsOfEndpoint(chain.Name) {
						continue
					}
					for _, f := range chain.Facts() {
						if f.Other == "TCPMSS" {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// segment is the length of the longest packets that two hosts send each other; 0 if it is not known.
func (l *lab) segment(a, b string) int {
	if l.segments == nil {
		return 0
	}
	size := usualMTU
	for _, host := range []string{a, b} {
		if own, known := l.segments[host]; known {
			if own == 0 {
				return 0
			}
			size = min(size, own)
		}
	}
	return size
}

// full is a segment of a flow's server as long as both ends take it, or a short one if the server is told that it is too long: then its
// kernel sends shorter ones.
func (l *lab) full(client string, flow *network.Flow) (network.FlowPacket, error) {
	long := network.FlowPacket{Length: l.segment(client, flow.Connection.Server), DontFragment: true}
	if long.Length == 0 {
		return network.FlowPacket{}, nil
	}
	ways, err := flow.Reach(network.FromServer, long)
	if err != nil || slices.ContainsFunc(ways, func(w network.Reached) bool { return w.Refused }) {
		return network.FlowPacket{}, err
	}
	return long, nil
}

// segmentLost is what becomes of the longest segments of a connection that is made: they are lost where a device on the way takes no
// packets as long as they are, and the ICMP error that says so does not come to their sender.
func (l *lab) segmentLost(a oracle.Attempt, conn *network.Connection, w cause.World) (found cause.Cause, lost bool, err error) {
	size := l.segment(a.From, conn.Server)
	if a.Protocol != corev1.ProtocolTCP || size == 0 || !tooNarrow(conn, size, w) {
		return cause.Cause{}, false, nil
	}
	defer l.Network.CheckpointOnTheWay()()
	ends := network.Ends{Socket: conn.Socket, Server: conn.Server, Asked: conn.Asked, Client: conn.Client}
	var same bool
	flow, err := l.Network.Establish(sim.ConnectOf(l.Plan, a), func(all []network.Connection) int {
		i := slices.IndexFunc(all, func(c network.Connection) bool {
			return c.Made && network.Ends{Socket: c.Socket, Server: c.Server, Asked: c.Asked, Client: c.Client} == ends
		})
		same = i >= 0
		return max(i, 0)
	})
	if err != nil || !same {
		return cause.Cause{}, false, err
	}
	for _, way := range []struct {
		direction network.Direction
		sender    string
	}{{network.FromServer, conn.Server}, {network.FromClient, a.From}} {
		journeys, err := flow.Send(way.direction, network.FlowPacket{Length: size, DontFragment: true})
		if err != nil {
			return cause.Cause{}, false, err
		}
		for i := range journeys {
			if found, lost = w.TooLong(&journeys[i], way.sender); lost {
				return found, true, nil
			}
		}
	}
	return cause.Cause{}, false, nil
}

// tooNarrow says whether a node sends a packet of the connection by a device that takes none of a size.
func tooNarrow(conn *network.Connection, size int, w cause.World) bool {
	for _, j := range []*network.Journey{&conn.Forward, conn.Back} {
		for i := 0; j != nil && i < len(j.Hops); i++ {
			node := w.Node(j.Hops[i].Host)
			if node == nil {
				continue
			}
			for k := range node.Devices {
				if d := &node.Devices[k]; d.Name == j.Hops[i].Outcome.Out && d.MTU > 0 && d.MTU < size {
					return true
				}
			}
		}
	}
	return false
}
