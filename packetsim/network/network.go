package network

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
)

// Network is several hosts (nodes, pods, outside machines) and the wires between them. A packet
// that one host sends goes from host to host as each one's walk says. What chance and NAT decide
// is decided by the hosts; wires lose nothing. Its methods are not for several goroutines at once.
//
// A segment is a switch that no rule sees. A bridge whose ports are devices of their own (Device.Master, Device.Neighbours), each with a
// link, is walked with br_netfilter. The ICMP error that a router sends when a neighbour does not answer is not imitated.
type Network struct {
	hosts map[string]*Host
	wires map[Port]*wire
}

// Host is a host of a network and what its sockets are.
type Host struct {
	*packetsim.Host
	// Listeners are the sockets that accept what comes to them; whatever comes to another port
	// is refused as Linux does. Echo requests are always answered.
	Listeners Listeners
}

// Listener is a socket that waits for clients. Its zero value listens on everything, as a pod
// that a test does not care about does.
type Listener struct {
	Proto packetsim.Proto // 0: every protocol
	Addr  netip.Addr      // unset: every address
	Port  uint16          // 0: every port
}

// Listeners are the sockets of a host that wait for clients.
type Listeners []Listener

// Accept says whether one of them takes what comes for a protocol and address; the port is 0 for a protocol without ports. Echo
// requests need none.
func (ls Listeners) Accept(proto packetsim.Proto, at netip.AddrPort) bool {
	return proto.IsICMP() || slices.ContainsFunc(ls, func(l Listener) bool {
		return (l.Proto == 0 || l.Proto == proto) && (!l.Addr.IsValid() || l.Addr == at.Addr()) && (l.Port == 0 || l.Port == at.Port())
	})
}

// Port is a device of a host, as a place to plug a wire in.
type Port struct {
	Host, Device string
}

// String is HOST/DEVICE.
func (p Port) String() string { return p.Host + "/" + p.Device }

// wire joins ports. On a link of two ports what goes in at one end comes out at the other; on a
// segment a packet goes to the port of the host that owns its next hop's address.
type wire struct {
	name  string
	link  bool
	ports []Port // sorted by host, then device
}

// New is a network without hosts.
func New() *Network {
	return &Network{hosts: map[string]*Host{}, wires: map[Port]*wire{}}
}

// AddHost adds a host under its own name.
func (n *Network) AddHost(h *packetsim.Host, listeners ...Listener) error {
	if h.Name() == "" {
		return fmt.Errorf("network: a host needs a name")
	}
	if _, ok := n.hosts[h.Name()]; ok {
		return fmt.Errorf("network: host %s is there already", h.Name())
	}
	n.hosts[h.Name()] = &Host{Host: h, Listeners: slices.Clone(listeners)}
	return nil
}

// Host is the host of a name, or nil.
func (n *Network) Host(name string) *Host { return n.hosts[name] }

// Hosts are the names of all hosts, sorted.
func (n *Network) Hosts() []string { return slices.Sorted(maps.Keys(n.hosts)) }

// Link joins two devices point to point, as a veth pair does.
func (n *Network) Link(a, b Port) error {
	return n.plug(&wire{name: a.String() + " - " + b.String(), link: true, ports: []Port{a, b}})
}

// Segment joins devices to one layer-2 network.
func (n *Network) Segment(name string, ports ...Port) error {
	return n.plug(&wire{name: name, ports: slices.Clone(ports)})
}

func (n *Network) plug(w *wire) error {
	slices.SortFunc(w.ports, comparePorts)
	for i, port := range w.ports {
		host, ok := n.hosts[port.Host]
		if !ok {
			return fmt.Errorf("network: wire %s: there is no host %s", w.name, port.Host)
		}
		if _, ok := host.Device(port.Device); !ok {
			return fmt.Errorf("network: wire %s: host %s has no device %s", w.name, port.Host, port.Device)
		}
		if n.wires[port] != nil || i > 0 && w.ports[i-1] == port {
			return fmt.Errorf("network: wire %s: %s has a wire already", w.name, port)
		}
	}
	for _, port := range w.ports {
		n.wires[port] = w
	}
	return nil
}

func comparePorts(a, b Port) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
}

// deliver finds where a packet that leaves by a port comes in; why says why nobody gets it.
func (n *Network) deliver(from Port, nextHop netip.Addr) (to Port, why string) {
	w := n.wires[from]
	if w == nil {
		return Port{}, fmt.Sprintf("%s has no wire", from)
	}
	var owners []Port
	for _, port := range w.ports {
		if port != from && (w.link || n.owns(port, nextHop)) {
			owners = append(owners, port)
		}
	}
	if len(owners) == 0 {
		return Port{}, fmt.Sprintf("nobody on %s has the address %s", w.name, nextHop)
	}
	// Of several ports of one host, the one that has the address itself answers for it.
	for _, port := range owners {
		if port.Host == owners[0].Host && n.has(port, nextHop) {
			return port, ""
		}
	}
	return owners[0], ""
}

// owns says whether a port answers for an address: any of the host's IPv4 addresses (arp_ignore
// is 0), only the device's own IPv6 addresses (ndisc_recv_ns in net/ipv6/ndisc.c).
func (n *Network) owns(port Port, addr netip.Addr) bool {
	host := n.hosts[port.Host]
	if addr.Is4() {
		return host.IsLocal(addr)
	}
	return n.has(port, addr)
}

// has says whether an address is the device's own.
func (n *Network) has(port Port, addr netip.Addr) bool {
	device, _ := n.hosts[port.Host].Device(port.Device)
	return device.Has(addr)
}
