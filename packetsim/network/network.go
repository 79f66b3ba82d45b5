package network

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Network is several hosts (nodes, pods, outside machines) and the wires between them. A packet
// that one host sends goes from host to host as each one's walk says. What chance and NAT decide
// is decided by the hosts; wires lose nothing. Its methods are not for several goroutines at once.
//
// A segment is a switch that no rule sees. A bridge whose ports are devices of their own (Device.Master, Device.Neighbours), each with a
// link, is walked with br_netfilter. The ICMP error that a router sends when a neighbour does not answer is not imitated.
type Network struct {
	// Interrupted is asked after each way that chance can fall; its error ends what is being done, and is what that returns. Nil: nobody
	// interrupts.
	Interrupted func() error

	hosts         map[string]*Host
	probe, keeper carrier // of what leaves hosts as they were, and of what they keep: used again and again
	opens         []*opened
}

// Host is a host of a network and what its sockets are.
type Host struct {
	*packetsim.Host
	// Listeners are the sockets that accept what comes to them; whatever comes to another port
	// is refused as Linux does. Echo requests are always answered.
	Listeners Listeners

	wires map[string]*wire // by the device that is plugged in
}

// Listener is a socket that waits for clients. Its zero value listens on everything, as a pod
// that a test does not care about does.
type Listener struct {
	Proto inet.Proto // 0: every protocol
	Addr  netip.Addr // unset: every address
	Port  uint16     // 0: every port
}

// Listeners are the sockets of a host that wait for clients.
type Listeners []Listener

// Accept says whether one of them takes what comes for a protocol and address; the port is 0 for a protocol without ports. Echo
// requests need none.
func (ls Listeners) Accept(proto inet.Proto, at netip.AddrPort) bool {
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
// segment a packet goes to the port of the host that owns its next hop's address, but what a leaf of a star sends goes to its centre.
type wire struct {
	name   string
	link   bool
	centre Port                    // of a star
	ports  []plug                  // sorted by host, then device
	behind map[Port][]netip.Prefix // of a tunnel: what each end takes
}

// plug is a port with its host at hand.
type plug struct {
	Port
	host *Host
}

// New is a network without hosts.
func New() *Network {
	return &Network{hosts: map[string]*Host{}}
}

// AddHost adds a host under its own name.
func (n *Network) AddHost(h *packetsim.Host, listeners ...Listener) error {
	if h.Name() == "" {
		return fmt.Errorf("network: a host needs a name")
	}
	if _, ok := n.hosts[h.Name()]; ok {
		return fmt.Errorf("network: host %s is there already", h.Name())
	}
	n.hosts[h.Name()] = &Host{Host: h, Listeners: slices.Clone(listeners), wires: map[string]*wire{}}
	return nil
}

// RemoveHost takes a host away, with the links that it is plugged in and its places on segments. One that is not there is none.
func (n *Network) RemoveHost(name string) {
	gone := n.hosts[name]
	delete(n.hosts, name)
	if gone == nil {
		return
	}
	for _, w := range gone.wires {
		if w.link {
			for _, p := range w.ports {
				delete(p.host.wires, p.Device)
			}
		}
		w.ports = slices.DeleteFunc(w.ports, func(p plug) bool { return p.host == gone })
	}
}

// Exchange puts hosts in the place of those of the same names, whose devices they have, listeners and wires stay. No checkpoint may be
// open. What it returns puts back those that were there.
func (n *Network) Exchange(hosts map[string]*packetsim.Host) (back func()) {
	before := make(map[string]*packetsim.Host, len(hosts))
	for name, h := range hosts {
		before[name], n.hosts[name].Host = n.hosts[name].Host, h
	}
	return func() {
		for name, h := range before {
			n.hosts[name].Host = h
		}
	}
}

// Host is the host of a name, or nil.
func (n *Network) Host(name string) *Host { return n.hosts[name] }

// Hosts are the names of all hosts, sorted.
func (n *Network) Hosts() []string { return slices.Sorted(maps.Keys(n.hosts)) }

// Checkpoint opens one on every host; what it returns takes back all that hosts have come to remember since.
func (n *Network) Checkpoint() (undo func()) {
	var opened []packetsim.Checkpoint
	for _, name := range n.Hosts() {
		opened = append(opened, n.hosts[name].Checkpoint())
	}
	return func() {
		for _, c := range opened {
			c.Undo()
		}
	}
}

// opened are the checkpoints of hosts that packets came to since somebody asked for that.
type opened struct {
	on map[*Host]bool
	by []packetsim.Checkpoint
}

// CheckpointOnTheWay is Checkpoint for who does nothing but send packets meanwhile: it opens one on a host when the first packet comes
// there, which takes far less time in a large network. What it returns is to be called in the opposite order.
func (n *Network) CheckpointOnTheWay() (undo func()) {
	o := &opened{on: map[*Host]bool{}}
	n.opens = append(n.opens, o)
	return func() {
		n.opens = n.opens[:len(n.opens)-1]
		for _, c := range o.by {
			c.Undo()
		}
	}
}

// open opens the checkpoints that are asked for on a host to which a packet comes.
func (n *Network) open(h *Host) {
	for _, o := range n.opens {
		if !o.on[h] {
			o.on[h] = true
			o.by = append(o.by, h.Checkpoint())
		}
	}
}

// Link joins two devices point to point, as a veth pair does.
func (n *Network) Link(a, b Port) error {
	return n.plug(&wire{name: a.String() + " - " + b.String(), link: true}, a, b)
}

// Segment joins devices to one layer-2 network.
func (n *Network) Segment(name string, ports ...Port) error {
	return n.plug(&wire{name: name}, ports...)
}

// Star joins the device of a router to those of hosts that send all that they send to it, as a switch does that the router answers for
// every address on: pods behind the one device that a node has for all of them.
func (n *Network) Star(centre Port, leaves ...Port) error {
	return n.plug(&wire{name: "of " + centre.String(), centre: centre}, slices.Concat([]Port{centre}, leaves)...)
}

// TunnelEnd is a device that takes what is for some addresses out of a tunnel.
type TunnelEnd struct {
	Port
	// Takes are the addresses of next hops whose packets come out here.
	Takes []netip.Prefix
}

// Tunnel joins devices that carry packets to one another in others, where what carries them is not looked at (IPIP, WireGuard). A packet
// comes out where its next hop is taken, by the longest prefix.
func (n *Network) Tunnel(name string, ends ...TunnelEnd) error {
	w := &wire{name: name, behind: map[Port][]netip.Prefix{}}
	var ports []Port
	for _, end := range ends {
		ports, w.behind[end.Port] = append(ports, end.Port), slices.Clone(end.Takes)
	}
	return n.plug(w, ports...)
}

func (n *Network) plug(w *wire, ports ...Port) error {
	ports = slices.Clone(ports)
	slices.SortFunc(ports, comparePorts)
	for i, port := range ports {
		host, ok := n.hosts[port.Host]
		if !ok {
			return fmt.Errorf("network: wire %s: there is no host %s", w.name, port.Host)
		}
		if _, ok := host.Device(port.Device); !ok {
			return fmt.Errorf("network: wire %s: host %s has no device %s", w.name, port.Host, port.Device)
		}
		if host.wires[port.Device] != nil || i > 0 && ports[i-1] == port {
			return fmt.Errorf("network: wire %s: %s has a wire already", w.name, port)
		}
		w.ports = append(w.ports, plug{port, host})
	}
	for _, p := range w.ports {
		p.host.wires[p.Device] = w
	}
	return nil
}

func comparePorts(a, b Port) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
}

// deliver finds where a packet that leaves the host by a device comes in; nil if nobody gets it.
func (h *Host) deliver(device string, nextHop netip.Addr) *plug {
	w := h.wires[device]
	if w == nil {
		return nil
	}
	if w.behind != nil {
		return w.takes(h, nextHop)
	}
	var first *plug
	for i := range w.ports {
		p := &w.ports[i]
		switch {
		case p.host == h && p.Device == device:
			continue
		case w.link || p.Port == w.centre:
			return p
		case w.centre.Host != "" && w.centre != (Port{h.Name(), device}): // a leaf hears nothing of another one
			continue
		case first == nil && p.owns(nextHop):
			first = p
		}
		// Of several ports of one host, the one that has the address itself answers for it.
		if first != nil && p.host == first.host && p.has(nextHop) {
			return p
		}
	}
	return first
}

// takes is the end of a tunnel where what a host sends comes out; nil if none takes the next hop.
func (w *wire) takes(from *Host, nextHop netip.Addr) *plug {
	var best *plug
	bits := -1
	for i := range w.ports {
		p := &w.ports[i]
		for _, prefix := range w.behind[p.Port] {
			if p.host != from && prefix.Contains(nextHop) && prefix.Bits() > bits {
				best, bits = p, prefix.Bits()
			}
		}
	}
	return best
}

// owns says whether a port answers for an address: any of the host's IPv4 addresses (arp_ignore
// is 0), only the device's own IPv6 addresses (ndisc_recv_ns in net/ipv6/ndisc.c).
func (p *plug) owns(addr netip.Addr) bool {
	if addr.Is4() {
		return p.host.IsLocal(addr)
	}
	return p.has(addr)
}

// has says whether an address is the device's own.
func (p *plug) has(addr netip.Addr) bool {
	device, _ := p.host.Device(p.Device)
	return device.Has(addr)
}
