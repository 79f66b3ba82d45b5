package live

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
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
