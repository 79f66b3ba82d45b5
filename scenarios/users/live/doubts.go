package live

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// doubtsOf are those about the packets of a connection, in the nodes that they passed and that are these hosts: each once, with its node.
func (e *exam) doubtsOf(hosts map[string]*packetsim.Host, c *network.Connection) []packetsim.Doubt {
	var all []packetsim.Doubt
	for _, j := range []*network.Journey{&c.Forward, c.Back, c.Third} {
		for k := 0; j != nil && k < len(j.Hops); k++ {
			hop := &j.Hops[k]
			node, host := e.nodes[hop.Host], hosts[hop.Host]
			if node == nil || host == nil {
				continue
			}
			for _, d := range node.Doubts(host, hop.Input, []packetsim.Outcome{hop.Outcome}) {
				d.Unless = fmt.Sprintf("on %s %s", hop.Host, d.Unless)
				if !slices.Contains(all, d) {
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// doubting says whether a node has something that packets are not walked through, or that is not known of it.
func (e *exam) doubting() bool {
	for _, node := range e.nodes {
		if len(node.NFTables)+len(node.Unread) > 0 || len(node.Sysctls) == 0 || len(node.Dialects()) > 1 {
			return true
		}
	}
	return false
}

// forgetProxysTables leaves out the tables of a kube-proxy whose work is not walked: what it decides is not judged, and the rest it leaves alone.
func (e *exam) forgetProxysTables() {
	for _, node := range e.nodes {
		node.NFTables = slices.DeleteFunc(slices.Clone(node.NFTables), func(t snapshot.NFTable) bool {
			return provenance.TableWriter(t.Name, "") == provenance.KubeProxy
		})
	}
}

// doubt counts what a connection to a service met that may end it otherwise.
func (e *exam) doubt(p errand, hosts map[string]*packetsim.Host) error {
	if p.act != actConnect || e.spec.Expect(p.attempt).Fate != oracle.ToEndpoint {
		return nil
	}
	ways, err := e.lab.follow(p.attempt)
	if err != nil {
		return err
	}
	met := map[packetsim.Doubt]bool{}
	for i := range ways {
		for _, d := range e.doubtsOf(hosts, ways[i].connection) {
			met[d] = d.Kind != packetsim.DoubtAssumed
		}
	}
	for d, counts := range met {
		if counts {
			e.doubts[d]++
		}
	}
	return nil
}

// noteDoubts writes down the doubts, those of most connections first.
func (e *exam) noteDoubts() {
	for d, n := range e.doubts {
		e.report.Doubts = append(e.report.Doubts, Doubt{Doubt: d, Connections: n})
	}
	slices.SortFunc(e.report.Doubts, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.Unless, b.Unless))
	})
}
