package sim

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// The names of devices. A pod's and a machine's own device is eth0 as well.
const (
	underlayDevice = "eth0"
	underlayName   = "underlay"
)

// podDevice is a node's device to the pod at a place of Cluster.Pods.
func podDevice(place int) string { return fmt.Sprintf("veth%d", place+1) }

// machineDevice is the router's device to the machine at a place of Cluster.Outside.
func machineDevice(place int) string { return fmt.Sprintf("link%d", place+1) }

// builder makes hosts and wires.
type builder struct {
	*session
	err      error
	underlay []packetsim.Port
}

func (s *session) build() error {
	s.network = packetsim.NewNetwork()
	b := &builder{session: s}
	for i := range s.cluster.Nodes {
		b.node(&s.cluster.Nodes[i])
	}
	b.router()
	for i := range s.cluster.Pods {
		b.pod(i)
	}
	for i := range s.cluster.Outside {
		b.machine(i)
	}
	if b.err == nil {
		b.err = s.network.Segment(underlayName, b.underlay...)
	}
	if b.err == nil {
		b.err = s.preload()
	}
	return b.err
}

// add adds a host to the network; after the first error it does nothing.
func (b *builder) add(config packetsim.HostConfig, listeners []packetsim.Listener) *packetsim.Host {
	if b.err != nil {
		return nil
	}
	config.Clock = b.clock
	host, err := packetsim.NewHost(config)
	if err == nil {
		err = b.network.AddHost(host, listeners...)
	}
	b.err = err
	b.listeners[config.Name] = listeners
	return host
}

func (b *builder) link(a, z packetsim.Port) {
	if b.err == nil {
		b.err = b.network.Link(a, z)
	}
}

func device(name string, prefixes ...netip.Prefix) packetsim.Device {
	d := packetsim.Device{Name: name, MTU: 1500, Up: true}
	for _, p := range prefixes {
		d.Addresses = append(d.Addresses, packetsim.Address{Prefix: p})
	}
	return d
}

func forwarding(more map[string]string) map[string]string {
	out := map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}
	for name, value := range more {
		out[name] = value
	}
	return out
}

// onUnderlay is an address with the underlay network that it is in.
func (s *session) onUnderlay(a netip.Addr) netip.Prefix {
	for _, network := range s.cluster.Underlay {
		if network.Contains(a) {
			return netip.PrefixFrom(a, network.Bits())
		}
	}
	return single(a)
}

func (b *builder) node(n *scenarios.Node) {
	eth := device(underlayDevice)
	for _, a := range n.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: b.onUnderlay(a)})
	}
	for _, a := range n.ExtraAddresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
	}
	kernel := fakeipt.New(fakeipt.Options{Dialect: dialectOf(b.cluster.Tool), Clock: b.clock})
	devices, routes := b.podLinks(n)
	host := b.add(packetsim.HostConfig{
		Name:      n.Name,
		Devices:   append([]packetsim.Device{eth}, devices...),
		Routes:    append(b.nodeRoutes(n), routes...),
		Sysctls:   forwarding(n.Sysctls),
		Netfilter: kernel,
	}, listenersOf(n.Listen))
	b.underlay = append(b.underlay, packetsim.Port{Host: n.Name, Device: underlayDevice})
	b.nodes[n.Name] = &node{name: n.Name, host: host, kernel: kernel, exec: &faultyExec{Interface: kernel.Exec()}}
}

func dialectOf(tool scenarios.Tool) fakeipt.Dialect {
	if tool == scenarios.ToolNFT {
		return fakeipt.NFT
	}
	return fakeipt.Legacy
}

// podLinks are a node's devices to its pods and the host routes by them.
func (b *builder) podLinks(n *scenarios.Node) (devices []packetsim.Device, routes []packetsim.Route) {
	for i, pod := range b.cluster.Pods {
		if pod.Node != n.Name {
			continue
		}
		name := podDevice(i)
		d := device(name)
		for _, a := range pod.Addresses {
			d.Addresses = append(d.Addresses, packetsim.Address{Prefix: single(gateway(n, a.Is6()))})
			routes = append(routes, packetsim.Route{Dst: single(a), Dev: name})
		}
		devices = append(devices, d)
		b.devices[packetsim.Port{Host: n.Name, Device: name}] = pod.Name
	}
	return devices, routes
}

// router joins the underlay and the machines behind it.
func (b *builder) router() {
	b.session.router = b.add(packetsim.HostConfig{
		Name:    scenarios.RouterName,
		Devices: b.routerDevices(),
		Routes:  b.routerRoutes(""),
		Sysctls: forwarding(nil),
	}, nil)
	b.underlay = append(b.underlay, packetsim.Port{Host: scenarios.RouterName, Device: underlayDevice})
}

func (s *session) routerDevices() []packetsim.Device {
	eth := device(underlayDevice)
	for i, a := range s.cluster.Router {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: netip.PrefixFrom(a, s.cluster.Underlay[i].Bits())})
	}
	devices := []packetsim.Device{eth}
	for i := range s.cluster.Outside {
		if !s.isNeighbour(&s.cluster.Outside[i]) {
			devices = append(devices, device(machineDevice(i)))
		}
	}
	return devices
}

// isNeighbour reports whether a machine is on the underlay itself.
func (s *session) isNeighbour(m *scenarios.Machine) bool {
	for _, a := range m.Addresses {
		for _, network := range s.cluster.Underlay {
			if network.Contains(a) {
				return true
			}
		}
	}
	return false
}

func (b *builder) pod(place int) {
	pod := &b.cluster.Pods[place]
	n := b.cluster.Node(pod.Node)
	eth := device(underlayDevice)
	var routes []packetsim.Route
	for _, a := range pod.Addresses {
		via := gateway(n, a.Is6())
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
		routes = append(routes,
			packetsim.Route{Dst: single(via), Dev: underlayDevice},
			packetsim.Route{Dst: anywhere(a.Is6()), Via: via, Dev: underlayDevice})
	}
	b.add(packetsim.HostConfig{Name: pod.Name, Devices: []packetsim.Device{eth}, Routes: routes}, orEverything(pod.Listen))
	b.link(packetsim.Port{Host: n.Name, Device: podDevice(place)}, packetsim.Port{Host: pod.Name, Device: underlayDevice})
}

func (b *builder) machine(place int) {
	m := &b.cluster.Outside[place]
	if b.isNeighbour(m) {
		b.neighbour(m)
		return
	}
	eth := device(underlayDevice)
	var routes []packetsim.Route
	for _, a := range m.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: single(a)})
		routes = append(routes, packetsim.Route{Dst: anywhere(a.Is6()), Dev: underlayDevice})
	}
	b.add(packetsim.HostConfig{Name: m.Name, Devices: []packetsim.Device{eth}, Routes: unique(routes)}, orEverything(m.Listen))
	b.link(packetsim.Port{Host: scenarios.RouterName, Device: machineDevice(place)}, packetsim.Port{Host: m.Name, Device: underlayDevice})
}

// neighbour is a machine on the underlay.
func (b *builder) neighbour(m *scenarios.Machine) {
	b.add(packetsim.HostConfig{
		Name: m.Name, Devices: []packetsim.Device{b.neighbourDevice(m)}, Routes: b.neighbourRoutes(""),
	}, orEverything(m.Listen))
	b.underlay = append(b.underlay, packetsim.Port{Host: m.Name, Device: underlayDevice})
}

func (s *session) neighbourDevice(m *scenarios.Machine) packetsim.Device {
	eth := device(underlayDevice)
	for _, a := range m.Addresses {
		eth.Addresses = append(eth.Addresses, packetsim.Address{Prefix: s.onUnderlay(a)})
	}
	return eth
}

// orEverything turns "not given" into a socket for everything.
func orEverything(given []scenarios.Listener) []packetsim.Listener {
	if given == nil {
		return []packetsim.Listener{{}}
	}
	return listenersOf(given)
}

func listenersOf(given []scenarios.Listener) []packetsim.Listener {
	var out []packetsim.Listener
	for _, l := range given {
		out = append(out, packetsim.Listener{Proto: protoOf(l.Proto, false), Addr: l.Addr, Port: l.Port})
	}
	return out
}

// protoOf is the protocol of a name; icmp has another number in IPv6.
func protoOf(name string, v6 bool) packetsim.Proto {
	switch name {
	case "icmp":
		if v6 {
			return packetsim.ICMPv6
		}
		return packetsim.ICMP
	case "udp":
		return packetsim.UDP
	case "sctp":
		return packetsim.SCTP
	}
	return packetsim.TCP
}

// preload restores the rules that are there before kube-proxy starts.
func (s *session) preload() error {
	for _, p := range s.cluster.Preload {
		for i := range s.cluster.Nodes {
			name := s.cluster.Nodes[i].Name
			if !p.IsFor(name) {
				continue
			}
			if _, err := s.nodes[name].run(p.Save, tool(p.Family, "-restore"), "--noflush"); err != nil {
				return fmt.Errorf("%s: preload: %w", p.Pos, err)
			}
		}
	}
	return nil
}
