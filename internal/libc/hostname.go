package libc

import (
	"net/netip"
	"strings"
)

// GetHostByName reads an address of so many bits, 32 or 128, as gethostbyname2 of the C library does, which takes less for an address than
// GetAddrInfo. No name is looked up.
func GetHostByName(name string, bits int) (netip.Addr, bool) {
	if name == "" || strings.HasSuffix(name, ".") {
		return netip.Addr{}, false
	}
	if bits == 128 {
		return InetPton([]byte(name), bits)
	}
	if strings.Trim(name, "0123456789.") != "" {
		return netip.Addr{}, false
	}
	return InetAton([]byte(name))
}
