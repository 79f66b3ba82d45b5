package proxier

import "net/netip"

// Sysctls reads and sets kernel parameters. Names are spelled as below
// /proc/sys, for example "net/ipv4/conf/all/route_localnet".
type Sysctls interface {
	Get(name string) (int, error)
	Set(name string, value int) error
}

// Network knows the host's addresses.
type Network interface {
	// NodeAddresses returns the addresses of all devices, of both families
	// and in any order.
	NodeAddresses() ([]netip.Addr, error)
}

// NFAcct keeps the kernel's accounting objects.
type NFAcct interface {
	// Ensure makes the object if it is not there.
	Ensure(name string) error
}

// The kernel parameters that the rules depend on.
const (
	sysctlRouteLocalnet = "net/ipv4/conf/all/route_localnet"
	sysctlTCPBeLiberal  = "net/netfilter/nf_conntrack_tcp_be_liberal"
)
