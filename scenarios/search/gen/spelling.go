package gen

import (
	"fmt"
	"net/netip"
	"strings"

	netutils "k8s.io/utils/net"
)

func parse(address string) netip.Addr { return netip.MustParseAddr(address) }

// odd spells an address as objects do that are older than the checks of today's API
// server: leading zeros in IPv4, capitals and zeros written out in IPv6.
func odd(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address // it is odd already
	}
	if a.Is4() {
		b := a.As4()
		return fmt.Sprintf("%d.%d.%03d.%03d", b[0], b[1], b[2], b[3])
	}
	return strings.ToUpper(strings.Replace(address, "::", ":0::0", 1))
}

// canonical is an address as it is spelled today.
func canonical(address string) string {
	if ip := netutils.ParseIPSloppy(address); ip != nil {
		return ip.String()
	}
	return address
}
