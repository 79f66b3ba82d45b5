package live

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
)

// directory finds who is in a topology.
type directory struct {
	pods   map[string]*scenarios.Pod
	podAt  map[netip.Addr]*scenarios.Pod
	nodes  map[string]*scenarios.Node
	nodeAt map[netip.Addr]*scenarios.Node
}

func directoryOf(c *scenarios.Cluster) *directory {
	d := &directory{
		pods: make(map[string]*scenarios.Pod, len(c.Pods)), podAt: make(map[netip.Addr]*scenarios.Pod, 2*len(c.Pods)),
		nodes: map[string]*scenarios.Node{}, nodeAt: map[netip.Addr]*scenarios.Node{},
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		d.nodes[n.Name] = n
		for _, list := range [][]netip.Addr{n.Addresses, n.ExtraAddresses} {
			for _, a := range list {
				if d.nodeAt[a] == nil {
					d.nodeAt[a] = n
				}
			}
		}
	}
	for i := range c.Pods {
		p := &c.Pods[i]
		d.pods[p.Name] = p
		for _, a := range p.Addresses {
			if d.podAt[a] == nil {
				d.podAt[a] = p
			}
		}
	}
	return d
}

// hostOf is who has an address; empty if nobody is known to.
func (d *directory) hostOf(a netip.Addr) string {
	if n := d.nodeAt[a]; n != nil {
		return n.Name
	}
	if p := d.podAt[a]; p != nil {
		return p.Name
	}
	return ""
}
