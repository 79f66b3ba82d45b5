package lab

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Lab is a cluster's network: the nodes with a snapshot as they are, the others as routers without rules, and around
// them pods and machines as a scenario has them.
type Lab struct {
	Network *network.Network
	Plan    *plan.Plan
	// Pods are the pods behind nodes' devices, as the nodes call them; a device that several are behind has none.
	Pods map[network.Port]string

	entrances map[[2]string]string // devices, by who sends and the node that hears it; of the underlay if nobody is named
}

// New joins the hosts of the nodes that are known, by name, with everything else.
func New(cluster *scenarios.Cluster, nodes map[string]*Attached, hosts map[string]*packetsim.Host) (*Lab, error) {
	l := &Lab{Network: network.New(), Plan: plan.Of(cluster), Pods: map[network.Port]string{}, entrances: map[[2]string]string{}}
	pods := map[string]*scenarios.Pod{}
	for i := range cluster.Pods {
		pods[cluster.Pods[i].Name] = &cluster.Pods[i]
	}
	l.dig(cluster, nodes)
	for i := range l.Plan.Hosts {
		h := &l.Plan.Hosts[i]
		host := hosts[h.Name]
		if pod := pods[h.Name]; pod != nil && nodes[pod.Node] != nil {
			nodes[pod.Node].onLink(pod, h)
		}
		if host == nil {
			var err error
			host, err = packetsim.NewHost(packetsim.HostConfig{
				Name: h.Name, Devices: h.Devices, Routes: h.Routes, PolicyRules: h.Rules, Sysctls: h.Sysctls,
			})
			if err != nil {
				return nil, err
			}
		}
		if err := l.Network.AddHost(host, h.Listeners...); err != nil {
			return nil, err
		}
	}
	if err := l.join(pods, nodes); err != nil {
		return nil, err
	}
	if err := l.joinTunnels(cluster, nodes); err != nil {
		return nil, err
	}
	underlay := underlayPorts(l.Plan.Segment, cluster, nodes)
	for _, port := range underlay {
		l.entrances[[2]string{"", port.Host}] = port.Device
	}
	return l, l.Network.Segment("underlay", underlay...)
}

// join links pods and machines to the device of who hears them. Some networks have one device of a node for all pods of it.
func (l *Lab) join(pods map[string]*scenarios.Pod, nodes map[string]*Attached) error {
	var near []network.Port
	far := map[network.Port][]network.Port{}
	for _, link := range l.Plan.Links {
		if node := nodes[link[0].Host]; node != nil {
			link[0].Device = node.Pods[link[1].Host]
		}
		l.entrances[[2]string{link[1].Host, link[0].Host}] = link[0].Device
		if far[link[0]] == nil {
			near = append(near, link[0])
		}
		far[link[0]] = append(far[link[0]], link[1])
	}
	for _, port := range near {
		behind := far[port]
		join := func() error { return l.Network.Star(port, behind...) }
		if len(behind) == 1 {
			join = func() error { return l.Network.Link(port, behind[0]) }
			if pods[behind[0].Host] != nil {
				l.Pods[port] = behind[0].Host
			}
		}
		if err := join(); err != nil {
			return err
		}
	}
	return nil
}

// Entrance is the device by which a node hears from a pod or, where that is none of its own, from the underlay.
func (l *Lab) Entrance(from, node string) string {
	if device := l.entrances[[2]string{from, node}]; device != "" {
		return device
	}
	return l.entrances[[2]string{"", node}]
}

// underlayPorts are the devices on the underlay. That of a node is the one with an address of its Node object.
func underlayPorts(planned []network.Port, cluster *scenarios.Cluster, nodes map[string]*Attached) []network.Port {
	var out []network.Port
	for _, port := range planned {
		node := nodes[port.Host]
		if node == nil {
			out = append(out, port)
			continue
		}
		for _, address := range cluster.Node(port.Host).Addresses {
			device, _ := DeviceWith(node.NodeSnapshot, address)
			if own := (network.Port{Host: port.Host, Device: device}); device != "" && !slices.Contains(out, own) {
				out = append(out, own)
			}
		}
	}
	return out
}

// Widen gives the underlay of a cluster the networks and routers that the snapshots show.
func Widen(c *scenarios.Cluster, snapshots []*snapshot.NodeSnapshot) {
	for _, taken := range snapshots {
		for _, address := range c.Node(taken.Hostname).Addresses {
			if _, network := DeviceWith(taken, address); network.IsValid() {
				c.Underlay, c.Router = merged(c.Underlay, c.Router, network.Masked())
			}
		}
		for _, gateway := range gateways(taken) {
			for i, network := range c.Underlay {
				if network.Contains(gateway) && c.Node(taken.Hostname) != nil {
					c.Router[i] = gateway
				}
			}
		}
	}
}

// merged puts a network in the place of those that it holds.
func merged(networks []netip.Prefix, routers []netip.Addr, wide netip.Prefix) ([]netip.Prefix, []netip.Addr) {
	var outNetworks []netip.Prefix
	var outRouters []netip.Addr
	placed := false
	for i, n := range networks {
		held := wide.Bits() <= n.Bits() && wide.Overlaps(n)
		if held && placed {
			continue
		}
		if held {
			n, placed = wide, true
		}
		outNetworks, outRouters = append(outNetworks, n), append(outRouters, routers[i])
	}
	return outNetworks, outRouters
}
