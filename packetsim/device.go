package packetsim

import (
	"net/netip"
	"slices"
)

// Device is a network device of a host. The device "lo" is made if it is not given.
type Device struct {
	Name  string
	Index int // 0: the place in the list
	// Kind is the kind that "ip link" shows: veth, bridge, dummy, ...; a host looks only for bridges.
	Kind string
	MTU  int
	MAC  string
	// Group is the group that -m devgroup asks for.
	Group uint32
	// Up: a device that is down receives nothing and its routes are not used.
	Up bool
	// Master is the bridge or VRF that the device is a port of.
	Master    string
	Addresses []Address
	// Groups are the multicast groups that programs have joined on the device; nil: not known. Those that the kernel joins by itself are not
	// among them.
	Groups []netip.Addr
	// Hairpin lets a bridge send a frame back to the port that it came in by.
	Hairpin bool
	// Neighbours are the addresses behind a port of a bridge: what the bridge's forwarding database and the host's neighbour
	// table know together.
	Neighbours []netip.Addr
	// VXLAN makes the device a tunnel.
	VXLAN *VXLAN
}

// Has says whether an address is one of the device's own.
func (d *Device) Has(addr netip.Addr) bool {
	return slices.ContainsFunc(d.Addresses, func(a Address) bool { return a.Prefix.Addr() == addr })
}

// Address is an address of a device.
type Address struct {
	Prefix netip.Prefix
	// Scope: empty is link for IPv6 link-local addresses, host for loopback addresses, global for the others.
	Scope Scope
	// Broadcast is the broadcast address of an IPv4 address that has one.
	Broadcast netip.Addr
	// Secondary is an IPv4 address that is in the subnet of an earlier one.
	Secondary bool
	// Deprecated is an IPv6 address that is not to be chosen while there is another.
	Deprecated bool
}

// Scope is the distance that an address or route is valid for.
type Scope string

// The scopes, by the names that "ip" prints.
const (
	ScopeGlobal  Scope = "global"
	ScopeSite    Scope = "site"
	ScopeLink    Scope = "link"
	ScopeHost    Scope = "host"
	ScopeNowhere Scope = "nowhere"
)

// distance is the kernel's number of the scope: larger is nearer.
func (s Scope) distance() uint8 {
	switch s {
	case ScopeSite:
		return 200
	case ScopeLink:
		return 253
	case ScopeHost:
		return 254
	case ScopeNowhere:
		return 255
	}
	return 0
}

// scope is the address's scope with its default.
func (a *Address) scope() Scope {
	addr := a.Prefix.Addr()
	switch {
	case a.Scope != "":
		return a.Scope
	case addr.IsLoopback():
		return ScopeHost
	case addr.Is6() && addr.IsLinkLocalUnicast():
		return ScopeLink
	}
	return ScopeGlobal
}
