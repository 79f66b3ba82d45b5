package plan

import (
	"fmt"
	"maps"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Underlay is the device by which nodes, the router and neighbours are on the
// underlay. A pod's and a machine's own device has the same name.
const Underlay = "eth0"

// Host is one host of the network.
type Host struct {
	Name      string
	Devices   []packetsim.Device
	Routes    []packetsim.Route
	Rules     []packetsim.PolicyRule // nil: those that every host has
	Sysctls   map[string]string
	Listeners network.Listeners // one that is empty stands for every port
	// Node is the node that the host is; nil for all others.
	Node *scenarios.Node
}

// Plan is the network of a cluster.
type Plan struct {
	// Hosts are the nodes, the router, the pods and the machines outside, in this order.
	Hosts []Host
	// Links are the wires between two devices.
	Links [][2]network.Port
	// Segment are the devices on the underlay.
	Segment []network.Port
	// Pods are the pods behind nodes' devices.
	Pods map[network.Port]string

	cluster *scenarios.Cluster
}

// Of lays out the network of a cluster. What machines outside send to an address
// that nobody has goes nowhere until the routes for it that are steered are given a
// Gateway, or replaced by those of Via.
func Of(cluster *scenarios.Cluster) *Plan {
	p := &Plan{Pods: map[network.Port]string{}, cluster: cluster}
	for i := range cluster.Nodes {
		p.node(&cluster.Nodes[i])
	}
	p.Hosts = append(p.Hosts, Host{
		Name: scenarios.RouterName, Devices: p.routerDevices(), Routes: append(p.routerRoutes(""), p.steeredRoutes(tableVia)...),
		Rules: p.routerRules(), Sysctls: forwarding(nil),
	})
	p.onSegment(scenarios.RouterName)
	for i := range cluster.Pods {
		p.pod(i)
	}
	for i := range cluster.Outside {
		p.machine(i)
	}
	return p
}

// Host returns the host of that name, nil if there is none.
func (p *Plan) Host(name string) *Host {
	for i := range p.Hosts {
		if p.Hosts[i].Name == name {
			return &p.Hosts[i]
		}
	}
	return nil
}

// Via returns the hosts whose routes and rules depend on the node to which the
// router and the neighbours hand what nobody has, as they are with this node.
func (p *Plan) Via(node string) []Host {
	router := *p.Host(scenarios.RouterName)
	router.Routes, router.Rules = p.routerRoutes(node), p.routerRules()
	hosts := []Host{router}
	for i := range p.cluster.Outside {
		m := &p.cluster.Outside[i]
		if p.isNeighbour(m) {
			host := *p.Host(m.Name)
			host.Routes = p.neighbourRoutes(node)
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Gateway is the address by which the router and the neighbours reach a node for
// what nobody has; invalid if there is no such node or it has none of the family.
func (p *Plan) Gateway(node string, v6 bool) netip.Addr {
	if n := p.cluster.Node(node); n != nil {
		return nodeAddress(n, v6)
	}
	return netip.Addr{}
}

// podDevice is its node's device to a pod.
func podDevice(pod *scenarios.Pod) string { return fmt.Sprintf("veth%d", pod.Place) }

// machineDevice is the router's device to the machine at a place of Cluster.Outside.
func machineDevice(place int) string { return fmt.Sprintf("link%d", place+1) }

func device(name string, prefixes ...netip.Prefix) packetsim.Device {
	d := packetsim.Device{Name: name, MTU: 1500, Up: true}
	for _, p := range prefixes {
		d.Addresses = append(d.Addresses, packetsim.Address{Prefix: p})
	}
	return d
}

func forwarding(more map[string]string) map[string]string {
	out := map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}
	maps.Copy(out, more)
	return out
}

func (p *Plan) onSegment(host string) {
	p.Segment = append(p.Segment, network.Port{Host: host, Device: Underlay})
}

// onUnderlay is an address with the underlay network that it is in.
func (p *Plan) onUnderlay(a netip.Addr) netip.Prefix {
	for _, network := range p.cluster.Underlay {
		if network.Contains(a) {
			return netip.PrefixFrom(a, network.Bits())
		}
	}
	return single(a)
}

func (p *Plan) node(n *scenarios.Node) {
	eth := device(Underlay)
	for _, a := range n.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: p.onUnderlay(a)})
	}
	for _, a := range n.ExtraAddresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
	}
	devices, routes := p.podLinks(n)
	p.Hosts = append(p.Hosts, Host{
		Name:      n.Name,
		Devices:   append([]packetsim.Device{eth}, devices...),
		Routes:    append(p.nodeRoutes(n), routes...),
		Sysctls:   forwarding(n.Sysctls),
		Listeners: listenersOf(n.Listen),
		Node:      n,
	})
	p.onSegment(n.Name)
}

// podLinks are a node's devices to its pods and the host routes by them.
func (p *Plan) podLinks(n *scenarios.Node) (devices []packetsim.Device, routes []packetsim.Route) {
	for i := range p.cluster.Pods {
		pod := &p.cluster.Pods[i]
		if pod.Node != n.Name {
			continue
		}
		name := podDevice(pod)
		d := device(name)
		for _, a := range pod.Addresses {
			d.Addresses = append(d.Addresses, packetsim.Address{Prefix: single(gateway(n, a.Is6()))})
			routes = append(routes, packetsim.Route{Dst: single(a), Dev: name})
		}
		devices = append(devices, d)
		p.Pods[network.Port{Host: n.Name, Device: name}] = pod.Name
	}
	return devices, routes
}

func (p *Plan) routerDevices() []packetsim.Device {
	eth := device(Underlay)
	for i, a := range p.cluster.Router {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: netip.PrefixFrom(a, p.cluster.Underlay[i].Bits())})
	}
	devices := []packetsim.Device{eth}
	for i := range p.cluster.Outside {
		if !p.isNeighbour(&p.cluster.Outside[i]) {
			devices = append(devices, device(machineDevice(i)))
		}
	}
	return devices
}

// isNeighbour reports whether a machine is on the underlay itself.
func (p *Plan) isNeighbour(m *scenarios.Machine) bool {
	for _, a := range m.Addresses {
		for _, network := range p.cluster.Underlay {
			if network.Contains(a) {
				return true
			}
		}
	}
	return false
}

func (p *Plan) pod(place int) {
	pod := &p.cluster.Pods[place]
	n := p.cluster.Node(pod.Node)
	eth := device(Underlay)
	var routes []packetsim.Route
	for _, a := range pod.Addresses {
		via := gateway(n, a.Is6())
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
		routes = append(routes,
			packetsim.Route{Dst: single(via), Dev: Underlay},
			packetsim.Route{Dst: anywhere(a.Is6()), Via: via, Dev: Underlay})
	}
	p.Hosts = append(p.Hosts, Host{Name: pod.Name, Devices: []packetsim.Device{eth}, Routes: routes, Listeners: orEverything(pod.Listen)})
	p.Links = append(p.Links, [2]network.Port{{Host: n.Name, Device: podDevice(pod)}, {Host: pod.Name, Device: Underlay}})
}

func (p *Plan) machine(place int) {
	m := &p.cluster.Outside[place]
	if p.isNeighbour(m) {
		p.neighbour(m)
		return
	}
	eth := device(Underlay)
	var routes []packetsim.Route
	for _, a := range m.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
		routes = append(routes, packetsim.Route{Dst: anywhere(a.Is6()), Dev: Underlay})
	}
	p.Hosts = append(p.Hosts, Host{Name: m.Name, Devices: []packetsim.Device{eth}, Routes: unique(routes), Listeners: orEverything(m.Listen)})
	p.Links = append(p.Links, [2]network.Port{{Host: scenarios.RouterName, Device: machineDevice(place)}, {Host: m.Name, Device: Underlay}})
}

// neighbour is a machine on the underlay.
func (p *Plan) neighbour(m *scenarios.Machine) {
	eth := device(Underlay)
	for _, a := range m.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: p.onUnderlay(a)})
	}
	p.Hosts = append(p.Hosts, Host{
		Name: m.Name, Devices: []packetsim.Device{eth}, Routes: append(p.neighbourRoutes(""), p.steeredRoutes(0)...),
		Listeners: orEverything(m.Listen),
	})
	p.onSegment(m.Name)
}

// orEverything turns "not given" into a socket for everything.
func orEverything(given []scenarios.Listener) network.Listeners {
	if given == nil {
		return network.Listeners{{}}
	}
	return listenersOf(given)
}

func listenersOf(given []scenarios.Listener) network.Listeners {
	var out network.Listeners
	for _, l := range given {
		out = append(out, network.Listener{Proto: Proto(l.Proto, false), Addr: l.Addr, Port: l.Port})
	}
	return out
}

// Proto is the protocol of a name; icmp has another number in IPv6.
func Proto(name string, v6 bool) inet.Proto {
	switch name {
	case "icmp":
		if v6 {
			return inet.ICMPv6
		}
		return inet.ICMP
	case "udp":
		return inet.UDP
	case "sctp":
		return inet.SCTP
	}
	return inet.TCP
}
