package oracle

import (
	"net/netip"
	"strings"

	netutils "k8s.io/utils/net"
)

// address reads an address as the API has it; leading zeros, which old objects may have, are decimal. Unset if it is none.
func address(text string) netip.Addr {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap()
	}
	a, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return a.Unmap()
}

// spelledOddly says whether an address is written with leading zeros.
func spelledOddly(text string) bool {
	_, err := netip.ParseAddr(text)
	return err != nil && address(text).IsValid()
}

// prefixes reads those that are in order.
func prefixes(texts []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, unmapped(p).Masked())
			continue
		}
		if _, p, err := netutils.ParseCIDRSloppy(text); err == nil {
			a, _ := netip.AddrFromSlice(p.IP)
			bits, _ := p.Mask.Size()
			out = append(out, unmapped(netip.PrefixFrom(a, bits)).Masked())
		}
	}
	return out
}

// Ranges are the ranges of ServiceCIDRs, for Cluster.ServiceCIDRs. Texts that are none are left out.
func Ranges(cidrs []string) []netip.Prefix { return prefixes(cidrs) }

// unmapped is a range as IPv4 if it is one of IPv4 inside of IPv6.
func unmapped(p netip.Prefix) netip.Prefix {
	if inside := 96; p.Addr().Is4In6() && p.Bits() >= inside {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-inside)
	}
	return p
}
