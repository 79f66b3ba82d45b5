package node

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"
)

// HostIPs returns the node's main address, and the first one of the other
// family if there is one. Internal addresses come before external ones, in the
// order of the object; what is no address is left out. A nil node has none.
func HostIPs(node *v1.Node) []netip.Addr {
	if node == nil {
		return nil
	}
	var ips []netip.Addr
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, entry := range node.Status.Addresses {
			address, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(entry.Address))
			if entry.Type != kind || !ok {
				continue
			}
			address = address.Unmap()
			if len(ips) == 0 || len(ips) == 1 && address.Is6() != ips[0].Is6() {
				ips = append(ips, address)
			}
		}
	}
	return ips
}

// Addresses are a node's main addresses, loopback in a family of which none is
// known.
type Addresses struct {
	// Primary is the family to serve if the node cannot serve both.
	Primary    v1.IPFamily
	ipv4, ipv6 netip.Addr
}

// DetectAddresses works out the addresses from those that HostIPs returned. A
// bind address (--bind-address) that is valid and not "any" takes the place of
// the one of its family and makes that family the primary one. IPv4 is primary
// if nothing is known.
func DetectAddresses(hostIPs []netip.Addr, bindAddress netip.Addr) Addresses {
	a := Addresses{
		Primary: v1.IPv4Protocol,
		ipv4:    netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		ipv6:    netip.IPv6Loopback(),
	}
	for _, address := range hostIPs {
		a.set(address)
	}
	if len(hostIPs) > 0 {
		a.Primary = familyOf(hostIPs[0])
	}
	bindAddress = bindAddress.Unmap()
	if bindAddress.IsValid() && !bindAddress.IsUnspecified() {
		a.set(bindAddress)
		a.Primary = familyOf(bindAddress)
	}
	return a
}

// Of returns the address of the family.
func (a Addresses) Of(family v1.IPFamily) netip.Addr {
	if family == v1.IPv6Protocol {
		return a.ipv6
	}
	return a.ipv4
}

func (a *Addresses) set(address netip.Addr) {
	if address.Is6() {
		a.ipv6 = address
	} else {
		a.ipv4 = address
	}
}

func familyOf(address netip.Addr) v1.IPFamily {
	if address.Is6() {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}
