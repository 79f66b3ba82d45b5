package proxier

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// nodeIPs are a node's main addresses: loopback for a family that the node has
// no known address of.
type nodeIPs struct {
	primary    v1.IPFamily
	ipv4, ipv6 netip.Addr
}

func (n *nodeIPs) of(family v1.IPFamily) netip.Addr {
	if family == v1.IPv6Protocol {
		return n.ipv6
	}
	return n.ipv4
}

func (n *nodeIPs) set(address netip.Addr) {
	if address.Is6() {
		n.ipv6 = address
	} else {
		n.ipv4 = address
	}
}

// nodeIPsOf takes the first address of the Node, internal ones before external
// ones, and the first one of the other family. A bind address that is not
// "any" comes before that.
func nodeIPsOf(node *v1.Node, bindAddress netip.Addr) nodeIPs {
	ips := nodeIPs{
		primary: v1.IPv4Protocol,
		ipv4:    netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		ipv6:    netip.IPv6Loopback(),
	}
	seen := map[v1.IPFamily]bool{}
	for _, address := range nodeAddresses(node) {
		family := familyOf(address)
		if len(seen) == 0 {
			ips.primary = family
		}
		if !seen[family] {
			ips.set(address)
		}
		seen[family] = true
	}
	if bindAddress.IsValid() && !bindAddress.IsUnspecified() {
		ips.primary = familyOf(bindAddress)
		ips.set(bindAddress)
	}
	return ips
}

// nodeAddresses returns the internal, then the external addresses of a Node.
func nodeAddresses(node *v1.Node) []netip.Addr {
	if node == nil {
		return nil
	}
	var addresses []netip.Addr
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, entry := range node.Status.Addresses {
			if address := parseAddr(entry.Address); entry.Type == kind && address.IsValid() {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}
