package changes

import (
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"
)

// parseAddr reads an address as the Kubernetes API does: leading zeros are
// allowed and decimal ("172.30.0.041" is 172.30.0.41), zones are not, and an
// IPv4 address inside of IPv6 is IPv4.
func parseAddr(text string) (netip.Addr, error) {
	addr, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	if !ok {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", text)
	}
	return addr.Unmap(), nil
}

// parsePrefix reads a range as the Kubernetes API does, with the same
// allowances as parseAddr, and clears the host bits.
func parsePrefix(text string) (netip.Prefix, error) {
	_, cidr, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not an address range in CIDR form", text)
	}
	addr, _ := netip.AddrFromSlice(cidr.IP)
	bits, _ := cidr.Mask.Size()
	if addr.Is4In6() { // a shorter one has cleared what makes it so
		return netip.PrefixFrom(addr.Unmap(), bits-96), nil
	}
	return netip.PrefixFrom(addr, bits), nil
}

// inFamily says whether the address belongs to the family.
func inFamily(addr netip.Addr, family v1.IPFamily) bool {
	return addr.Is6() == (family == v1.IPv6Protocol)
}
