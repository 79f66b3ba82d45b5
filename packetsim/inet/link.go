package inet

import (
	"fmt"
	"net"
)

// Socket is what a rule can ask about a packet's socket.
type Socket struct {
	// None says that there is no socket; the other fields do not count then.
	None bool
	// Kernel is a socket of the kernel itself, which has no owner.
	Kernel bool
	// Raw is a socket that writes IP headers and checksums by itself, so that no device does.
	Raw bool
	// UID and GID are the owner's, Groups the supplementary groups.
	UID, GID uint32
	Groups   []uint32
	// Transparent is IP_TRANSPARENT. Wildcard says that the socket is bound to every address.
	Transparent, Wildcard bool
	// Mark is SO_MARK.
	Mark uint32
	// Cgroup is the path of the socket's control group, "/" for the root; "" is not known. ClassID is that of net_cls; nil is not known.
	Cgroup  string
	ClassID *uint32
}

// MAC is a link-layer address of Ethernet.
type MAC [6]byte

// String is the usual "02:00:00:00:00:01".
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// ParseMAC is the inverse of MAC.String.
func ParseMAC(s string) (MAC, error) {
	addr, err := net.ParseMAC(s)
	if err != nil || len(addr) != len(MAC{}) {
		return MAC{}, fmt.Errorf("%q is not a MAC address: want one as 02:00:00:00:00:01", s)
	}
	return MAC(addr), nil
}

// LinkType is the kind of link-layer address that a packet came to.
type LinkType string

// The kinds, as -m pkttype calls them.
const (
	LinkUnicast   LinkType = "unicast"
	LinkBroadcast LinkType = "broadcast"
	LinkMulticast LinkType = "multicast"
)
