package netfilter

import "net/netip"

// NATRange is what a translation of addresses chooses from (struct nf_nat_range2 in include/uapi/linux/netfilter/nf_nat.h).
type NATRange struct {
	MinAddr, MaxAddr netip.Addr // not valid: the address is kept
	MinPort, MaxPort uint16     // 0: the port is kept if possible
	HasPorts         bool       // ports were given, even if 0
	// Shifted says that the ports are offsets from a base (NF_NAT_RANGE_PROTO_OFFSET), of which targets other than DNAT keep nothing but that.
	Shifted     bool
	Random      bool // the port is drawn, even if the connection's own is free
	RandomFully bool // the same, by a better source of chance
	Persistent  bool // of several addresses all connections of a source get the same one
}
