package oracle

import (
	"math/bits"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// kind is what a host is.
type kind uint8

const (
	nobody kind = iota
	aNode
	aPod
	aMachine
)

// host is one host of the network. The zero value is nobody.
type host struct {
	kind      kind
	name      string
	node      int // the node that it is, or runs on; -1 for a machine
	addresses []netip.Addr
	listen    []Listener
	device    string         // its node's device to it
	cidrs     []netip.Prefix // of a node: its pods'
}

// network are the hosts, as the specification asks for them.
type network struct {
	hosts    []host // nodes first, so that a node has the same place in both
	byName   map[string]*host
	byAddr   map[netip.Addr]*host
	cidrs    []podCIDR
	underlay []netip.Prefix
}

type podCIDR struct {
	prefix netip.Prefix
	node   int
}

func newNetwork(c *Cluster) *network {
	n := &network{
		hosts:    make([]host, 0, len(c.Nodes)+len(c.Pods)+len(c.Machines)),
		byName:   make(map[string]*host, len(c.Nodes)+len(c.Pods)+len(c.Machines)),
		byAddr:   make(map[netip.Addr]*host, 4*len(c.Nodes)+len(c.Pods)+len(c.Machines)),
		underlay: c.Underlay,
	}
	places := make(map[string]int, len(c.Nodes))
	for i := range c.Nodes {
		node := &c.Nodes[i]
		places[node.Name] = i
		n.add(host{kind: aNode, name: node.Name, node: i, addresses: node.Addresses, listen: node.Listen, cidrs: node.PodCIDRs})
		for _, cidr := range node.PodCIDRs {
			n.cidrs = append(n.cidrs, podCIDR{prefix: cidr, node: i})
		}
	}
	for i := range c.Pods {
		pod := &c.Pods[i]
		n.add(host{kind: aPod, name: pod.Name, node: places[pod.Node], addresses: pod.Addresses, listen: pod.Listen, device: pod.Device})
	}
	for i := range c.Machines {
		m := &c.Machines[i]
		n.add(host{kind: aMachine, name: m.Name, node: -1, addresses: m.Addresses, listen: m.Listen})
	}
	return n
}

func (n *network) add(h host) {
	n.hosts = append(n.hosts, h)
	added := &n.hosts[len(n.hosts)-1]
	n.byName[h.name] = added
	for _, a := range h.addresses {
		if n.byAddr[a] == nil {
			n.byAddr[a] = added
		}
	}
}

// address is the first address of a family; unset if there is none.
func (h *host) address(v6 bool) netip.Addr {
	for _, a := range h.addresses {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

func (h *host) has(a netip.Addr) bool {
	for _, own := range h.addresses {
		if own == a {
			return true
		}
	}
	return false
}

// takes says how a packet that is for the host ends.
func (h *host) takes(protocol corev1.Protocol, to netip.AddrPort) End {
	if protocol == ICMP {
		return Delivered
	}
	for _, l := range h.listen {
		if (l.Protocol == "" || l.Protocol == protocol) && (!l.Addr.IsValid() || l.Addr == to.Addr()) && (l.Port == 0 || l.Port == to.Port()) {
			return Delivered
		}
	}
	return Refused
}

// source is the address that a client's packet has: the one that it is bound to, or what routing chooses.
func (h *host) source(a *Attempt) netip.Addr {
	to := a.To.Addr()
	switch {
	case a.Source.Addr().IsValid():
		return a.Source.Addr()
	case h.kind == aNode && h.has(to):
		return to
	case h.kind == aNode && to.IsLoopback() && to.Is4():
		return loopback4
	case h.kind == aNode && to.IsLoopback():
		return to
	}
	if h.kind == aNode && to.Is6() {
		return h.nearest(to)
	}
	return h.address(to.Is6())
}

// nearest is the address of a node, but for those towards its pods, that has the longest part in common with
// another IPv6 address: RFC 6724, section 5, rules 5 and 8.
func (h *host) nearest(to netip.Addr) netip.Addr {
	best, longest := h.address(true), -1
	for _, a := range h.addresses {
		towardsPods := false
		for _, cidr := range h.cidrs {
			towardsPods = towardsPods || cidr.Contains(a)
		}
		if common := commonBits(a, to); a.Is6() && !towardsPods && common > longest {
			best, longest = a, common
		}
	}
	return best
}

func commonBits(a, b netip.Addr) int {
	x, y := a.As16(), b.As16()
	for i := range x {
		if different := x[i] ^ y[i]; different != 0 {
			return 8*i + bits.LeadingZeros8(different)
		}
	}
	return 128
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// hops are the nodes that a packet passes one after the other as long as it is not translated; -1 is none.
func (n *network) hops(client *host, a *Attempt) (first, second int) {
	to := a.To.Addr()
	if client.kind != aNode && client.has(to) {
		return -1, -1
	}
	if to.IsLoopback() {
		if client.kind != aNode {
			return n.via(a), -1
		}
		return client.node, -1
	}
	last := n.nodeBefore(to)
	if client.kind != aMachine {
		if last == client.node {
			return client.node, -1
		}
		return client.node, last
	}
	if last >= 0 || n.byAddr[to] != nil || n.onUnderlay(to) {
		return last, -1
	}
	return n.via(a), -1
}

// nodeBefore is the node that has an address or routes to it, -1 if none does.
func (n *network) nodeBefore(a netip.Addr) int {
	if h := n.byAddr[a]; h != nil {
		return h.node
	}
	for i := range n.cidrs {
		if n.cidrs[i].prefix.Contains(a) {
			return n.cidrs[i].node
		}
	}
	return -1
}

func (n *network) onUnderlay(a netip.Addr) bool {
	for _, p := range n.underlay {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func (n *network) via(a *Attempt) int {
	if h := n.byName[a.Via]; h != nil && h.kind == aNode {
		return h.node
	}
	return 0
}

// ends says where and how a packet ends that is for an address.
func (n *network) ends(protocol corev1.Protocol, to netip.AddrPort) (name string, end End) {
	h := n.byAddr[to.Addr()]
	if h == nil {
		return "", Lost
	}
	return h.name, h.takes(protocol, to)
}
