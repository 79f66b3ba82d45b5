package live

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/plan"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

// lab is the cluster's network: the nodes with a snapshot as they are, the others as routers without rules, and around
// them pods and machines as a scenario has them.
type lab struct {
	network *network.Network
	plan    *plan.Plan
	// entrances are the devices by which a node (the second) hears from a pod (the first), and from the underlay (empty).
	entrances map[[2]string]string
}

// newLab joins the hosts of the nodes that are known, by name, with everything else.
func newLab(cluster *scenarios.Cluster, nodes map[string]*attached, hosts map[string]*packetsim.Host) (*lab, error) {
	l := &lab{network: network.New(), plan: plan.Of(cluster), entrances: map[[2]string]string{}}
	for i := range l.plan.Hosts {
		h := &l.plan.Hosts[i]
		host := hosts[h.Name]
		if host == nil {
			var err error
			host, err = packetsim.NewHost(packetsim.HostConfig{
				Name: h.Name, Devices: h.Devices, Routes: h.Routes, PolicyRules: h.Rules, Sysctls: h.Sysctls,
			})
			if err != nil {
				return nil, err
			}
		}
		if err := l.network.AddHost(host, h.Listeners...); err != nil {
			return nil, err
		}
	}
	for _, link := range l.plan.Links {
		if node := nodes[link[0].Host]; node != nil {
			link[0].Device = node.pods[link[1].Host]
		}
		l.entrances[[2]string{link[1].Host, link[0].Host}] = link[0].Device
		if err := l.network.Link(link[0], link[1]); err != nil {
			return nil, err
		}
	}
	underlay := underlayPorts(l.plan.Segment, cluster, nodes)
	for _, port := range underlay {
		l.entrances[[2]string{"", port.Host}] = port.Device
	}
	return l, l.network.Segment("underlay", underlay...)
}

// underlayPorts are the devices on the underlay. That of a node is the one with an address of its Node object.
func underlayPorts(planned []network.Port, cluster *scenarios.Cluster, nodes map[string]*attached) []network.Port {
	var out []network.Port
	for _, port := range planned {
		node := nodes[port.Host]
		if node == nil {
			out = append(out, port)
			continue
		}
		for _, address := range cluster.Node(port.Host).Addresses {
			device, _ := deviceWith(node.Node, address)
			if own := (network.Port{Host: port.Host, Device: device}); device != "" && !slices.Contains(out, own) {
				out = append(out, own)
			}
		}
	}
	return out
}

// widen gives the underlay the networks and routers that the snapshots show.
func widen(c *scenarios.Cluster, snapshots []*snapshot.Node) {
	for _, taken := range snapshots {
		for _, address := range c.Node(taken.Hostname).Addresses {
			if _, network := deviceWith(taken, address); network.IsValid() {
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

// reach makes an attempt and says what came of it.
func (l *lab) reach(a oracle.Attempt) ([]oracle.Way, error) {
	reached, err := l.network.Reach(sim.ConnectOf(l.plan, a), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", attemptText(a), err)
	}
	return sim.WaysOf(reached), nil
}

// follow makes an attempt and tells its story.
func (l *lab) follow(a oracle.Attempt) ([]story, error) {
	connections, err := l.network.Connect(sim.ConnectOf(l.plan, a))
	var out []story
	for i := range connections {
		c := &connections[i]
		s := story{c.Probability, []*network.Journey{&c.Forward, c.Back, c.Third}, c.Why, c.Made}
		if c.Made {
			s.result = fmt.Sprintf("reaches %s at %s, from %s", c.Asked, c.Server, c.Client)
		}
		out = append(out, s)
	}
	return out, err
}

// attemptText is an attempt in a few words.
func attemptText(a oracle.Attempt) string {
	to := a.To.String()
	if a.Protocol == oracle.ICMP {
		to = a.To.Addr().String()
	}
	text := fmt.Sprintf("%s %s from %s", a.Protocol, to, a.From)
	if a.Source.Addr().IsValid() {
		text += fmt.Sprintf(" (%s)", a.Source)
	}
	if a.Via != "" {
		text += " by " + a.Via
	}
	return text
}
