package scenarios

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
)

// The addresses that a cluster has if the file does not say.
const (
	defaultNodes     = 2
	defaultNodeNet4  = "192.168.0.0"
	defaultNodeNet6  = "2001:db8::"
	defaultPods4     = "10.244.0.0/16"
	defaultPods6     = "fd00:10:244::/56"
	firstPodAddress  = 100
	underlayBits4    = 24
	underlayBits6    = 64
	labelZone        = "topology.kubernetes.io/zone"
	labelHostname    = "kubernetes.io/hostname"
	routerHostNumber = 1
)

func (r *resolver) nodeAddresses(node *Node, number int) {
	if node.Addresses == nil {
		for _, v6 := range r.families() {
			base := netip.MustParseAddr(defaultNodeNet4)
			if v6 {
				base = netip.MustParseAddr(defaultNodeNet6)
			}
			node.Addresses = append(node.Addresses, offset(base, number+1))
		}
	}
	if node.PodCIDRs == nil {
		for _, v6 := range r.families() {
			node.PodCIDRs = append(node.PodCIDRs, defaultPodCIDR(v6, number))
		}
	}
	r.checkFamilies(node.Pos, "addresses of "+node.Name, node.Addresses)
	for _, a := range node.ExtraAddresses {
		if !r.cluster.IPFamily.has(a) {
			r.errorf(node.Pos, "extraAddresses of %s: %s is not of the cluster's family %s", node.Name, a, r.cluster.IPFamily)
		}
	}
}

func defaultPodCIDR(v6 bool, number int) netip.Prefix {
	if v6 {
		b := netip.MustParsePrefix(defaultPods6).Addr().As16()
		b[7] = byte(number)
		return netip.PrefixFrom(netip.AddrFrom16(b), 64)
	}
	b := netip.MustParsePrefix(defaultPods4).Addr().As4()
	b[2] = byte(number)
	return netip.PrefixFrom(netip.AddrFrom4(b), 24)
}

// offset adds a small number to an address.
func offset(a netip.Addr, n int) netip.Addr {
	b := a.AsSlice()
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	out, _ := netip.AddrFromSlice(b)
	return out
}

// underlay collects the networks that the nodes' addresses are in.
func (r *resolver) underlay() {
	c := &r.cluster
	for _, node := range c.Nodes {
		for _, a := range node.Addresses {
			network := underlayOf(a)
			if slices.Contains(c.Underlay, network) {
				continue
			}
			c.Underlay = append(c.Underlay, network)
			c.Router = append(c.Router, r.routerAddress(network))
		}
	}
}

func underlayOf(a netip.Addr) netip.Prefix {
	bits := underlayBits4
	if a.Is6() {
		bits = underlayBits6
	}
	network, _ := a.Prefix(bits)
	return network
}

// routerAddress is the first address of the network that no node has.
func (r *resolver) routerAddress(network netip.Prefix) netip.Addr {
	for a := offset(network.Addr(), routerHostNumber); ; a = a.Next() {
		if r.cluster.nodeWith(a) == nil {
			return a
		}
	}
}

func (r *resolver) families() []bool {
	switch r.cluster.IPFamily {
	case FamilyIPv6:
		return []bool{true}
	case FamilyDual:
		return []bool{false, true}
	}
	return []bool{false}
}

func familyName(v6 bool) IPFamily {
	if v6 {
		return FamilyIPv6
	}
	return FamilyIPv4
}

// checkFamilies holds a list to exactly one address for each family of the cluster.
func (r *resolver) checkFamilies(pos document.Position, what string, addresses []netip.Addr) {
	for _, v6 := range r.families() {
		count := 0
		for _, a := range addresses {
			if a.Is6() == v6 {
				count++
			}
		}
		if count != 1 {
			r.errorf(pos, "%s: want one %s address, got %d", what, familyName(v6), count)
		}
	}
	for _, a := range addresses {
		if !r.cluster.IPFamily.has(a) {
			r.errorf(pos, "%s: %s is not of the cluster's family %s", what, a, r.cluster.IPFamily)
		}
	}
}

func (r *resolver) checkFree(pos document.Position, addresses []netip.Addr) {
	for _, a := range addresses {
		if owner := r.owner(a); owner != "" {
			r.errorf(pos, "%s already has the address %s", owner, a)
		}
	}
}
