package live

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// nodeDoubt is what was taken for granted of a node.
type nodeDoubt struct {
	node string
	packetsim.Doubt
}

// nodeDoubts are those about the packets of a connection, in the nodes that they passed and that are these hosts: each once.
func (e *exam) nodeDoubts(hosts map[string]*packetsim.Host, c *network.Connection) []nodeDoubt {
	var all []nodeDoubt
	for _, j := range []*network.Journey{&c.Forward, c.Back, c.Third} {
		for k := 0; j != nil && k < len(j.Hops); k++ {
			hop := &j.Hops[k]
			node, host := e.nodes[hop.Host], hosts[hop.Host]
			if node == nil || host == nil {
				continue
			}
			found := e.doubter(node, host).Doubts(hop.Input, []packetsim.Outcome{hop.Outcome})
			for _, end := range []netip.Addr{hop.Input.Src, hop.Outcome.Packet.Dst} {
				if d, doubtful := node.MayBeDown[end]; doubtful {
					found = append(found, d)
				}
			}
			for _, d := range found {
				if one := (nodeDoubt{hop.Host, d}); !slices.Contains(all, one) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// doubter finds the doubts about packets in a host of a node.
func (e *exam) doubter(node *labs.Attached, host *packetsim.Host) *snapshot.Doubter {
	d := e.doubters[host]
	if d == nil {
		if e.doubters == nil {
			e.doubters = map[*packetsim.Host]*snapshot.Doubter{}
		}
		d = node.Doubter(host)
		e.doubters[host] = d
	}
	return d
}

// doubtsOf are nodeDoubts with the names of the nodes in them.
func (e *exam) doubtsOf(hosts map[string]*packetsim.Host, c *network.Connection) []packetsim.Doubt {
	var all []packetsim.Doubt
	for _, d := range e.nodeDoubts(hosts, c) {
		d.Unless = "on " + d.node + " " + d.Unless
		all = append(all, d.Doubt)
	}
	return all
}

// doubted is how many connections are followed for their doubts: those of all but large clusters. What is not followed the report says.
const doubted = 10_000

// doubt follows some of the connections for what they meet that was not walked or not known, and counts that.
func (e *exam) doubt(errands []errand) error {
	hosts, may, most := map[string]*packetsim.Host{}, false, cmp.Or(e.cluster.doubted, doubted)
	for name, node := range e.nodes {
		hosts[name], may = e.lab.Network.Host(name).Host, may || node.MayDoubt() || len(node.MayBeDown) > 0
	}
	if !may {
		return nil
	}
	first := slices.DeleteFunc(slices.Clone(errands), func(p errand) bool { return p.act != actConnect })
	step := (len(first) + most - 1) / most
	for i := range first {
		if i%step != 0 {
			e.report.NotFollowed++
			continue
		}
		connections, err := e.lab.Network.Connect(sim.ConnectOf(e.lab.Plan, first[i].attempt))
		var opaque *packetsim.OpaqueError
		if errors.As(err, &opaque) {
			continue // it is not judged
		}
		if err != nil {
			return err
		}
		met := map[nodeDoubt]bool{}
		for j := range connections {
			for _, d := range e.nodeDoubts(hosts, &connections[j]) {
				if d.Kind != packetsim.DoubtNFTables || !e.runsOther(d.node) { // whose tables are for services, which are not judged
					met[d] = true
				}
			}
		}
		e.report.doubt(met)
	}
	return nil
}

// doubtRule counts a connection that meets a rule of nftables with an expression that is not walked: the answer begins with it.
func (e *exam) doubtRule(o *packetsim.OpaqueError) {
	if o.Native == nil {
		return
	}
	table := o.Native.Family + " " + o.Native.Table
	e.report.doubt(map[nodeDoubt]bool{{o.Host, packetsim.Doubt{Kind: packetsim.DoubtExtension, See: "nft -a list table " + table,
		Unless: fmt.Sprintf("a rule of table %s decides otherwise, whose %s is not known (chain %s, handle %d)", table, o.Extension,
			o.Native.Chain, o.Native.Handle)}}: true})
}

// runsOther says whether a node runs another service proxy than is walked.
func (e *premises) runsOther(node string) bool {
	_, other := e.others[node]
	return other
}

// doubt counts what a connection met.
func (r *Report) doubt(met map[nodeDoubt]bool) {
	counted := map[packetsim.Doubt]bool{}
	for _, d := range slices.SortedFunc(maps.Keys(met), func(a, b nodeDoubt) int {
		return cmp.Or(cmp.Compare(a.Unless, b.Unless), cmp.Compare(a.node, b.node))
	}) {
		i := slices.IndexFunc(r.Doubts, func(known Doubt) bool { return known.Doubt == d.Doubt })
		if i < 0 {
			i, r.Doubts = len(r.Doubts), append(r.Doubts, Doubt{Doubt: d.Doubt})
		}
		if !counted[d.Doubt] {
			counted[d.Doubt] = true
			r.Doubts[i].Connections++
		}
		if at, known := slices.BinarySearch(r.Doubts[i].Nodes, d.node); !known {
			r.Doubts[i].Nodes = slices.Insert(r.Doubts[i].Nodes, at, d.node)
		}
	}
}
