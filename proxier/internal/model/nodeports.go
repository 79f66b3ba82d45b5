package model

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// NodePorts says at which of the node's addresses node ports are served.
type NodePorts struct {
	// All addresses of the node serve them, but not those in Except.
	All bool
	// Except is invalid where nothing is excepted.
	Except netip.Prefix
	// Addresses serve them if All is false. Sorted.
	Addresses []netip.Addr
}

// Equal says whether both serve node ports at the same addresses.
func (n NodePorts) Equal(other NodePorts) bool {
	return n.All == other.All && n.Except == other.Except && slices.Equal(n.Addresses, other.Addresses)
}

// loopbackPrefix returns the family's loopback addresses.
func loopbackPrefix(family v1.IPFamily) netip.Prefix {
	if family == v1.IPv6Protocol {
		return netip.PrefixFrom(netip.IPv6Loopback(), 128)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, 0}), 8)
}

// ServesAllAddresses says that node ports are served at every address of the
// node: no prefix was asked for, or one that holds every address.
func (c *Config) ServesAllAddresses() bool {
	return len(c.NodePortPrefixes) == 0 ||
		slices.ContainsFunc(c.NodePortPrefixes, func(p netip.Prefix) bool { return p.Bits() == 0 })
}

// ServesLocalhost says whether node ports are served at loopback addresses.
// That is possible with IPv4 only, must be asked for, and the node port
// prefixes must allow it.
func (c *Config) ServesLocalhost() bool {
	if !c.LocalhostNodePorts || c.Family != v1.IPv4Protocol {
		return false
	}
	loopback := loopbackPrefix(c.Family)
	return c.ServesAllAddresses() ||
		slices.ContainsFunc(c.NodePortPrefixes, func(p netip.Prefix) bool {
			return p.Addr().IsLoopback() || p.Contains(loopback.Addr())
		})
}

// DecideNodePorts says where node ports are served, which may change while
// nothing else does: the node's addresses come and go without an event.
func DecideNodePorts(c *Config, node Node) NodePorts {
	localhost := c.ServesLocalhost()
	if c.ServesAllAddresses() {
		ports := NodePorts{All: true}
		if !localhost {
			ports.Except = loopbackPrefix(c.Family)
			node.Marks.Hit(mark.ModelNodePortsNotLoopback)
		}
		node.Marks.HitIf(mark.ModelNodePortsEverywhere, localhost)
		return ports
	}
	node.Marks.Hit(mark.ModelNodePortsChosen)
	var addresses []netip.Addr
	for _, address := range node.Addresses {
		address = address.Unmap().WithZone("")
		if address.IsLoopback() && !localhost {
			node.Marks.Hit(mark.ModelNodePortsLeaveLoopback)
			continue
		}
		if slices.ContainsFunc(c.NodePortPrefixes, func(p netip.Prefix) bool { return p.Contains(address) }) {
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return NodePorts{Addresses: slices.Compact(addresses)}
}
