package ctnetlink

import (
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Entry is a tracked connection.
type Entry struct {
	// Original is the direction of the first packet as it was sent; Reply what its answers look like, after all translations.
	Original, Reply Tuple
	// Zone is the zone of both directions. A zone of one direction stands in its tuple.
	Zone uint16
	// ID tells the entry from others with the same tuples.
	ID uint32
	// Status are the bits of enum ip_conntrack_status.
	Status uint32
	// Timeout is how long the entry lives if no packet comes, in seconds.
	Timeout uint32
	Mark    uint32
	// State is the number of the protocol's state (enum tcp_conntrack, enum sctp_conntrack). HasState: there is one.
	State    uint8
	HasState bool
}

// Tuple is one direction of a connection. Both addresses are of one family.
type Tuple struct {
	// Protocol is its number in the header of IP.
	Protocol uint8
	Src, Dst netip.Addr
	// SrcPort and DstPort are 0 in protocols without ports.
	SrcPort, DstPort uint16
	// The identifier, type and code of ICMP and ICMPv6.
	ICMPID             uint16
	ICMPType, ICMPCode uint8
	// Zone is the conntrack zone if it is of this direction only.
	Zone uint16
}

// Bits of Entry.Status, from linux/netfilter/nf_conntrack_common.h.
const (
	StatusSeenReply = 1 << 1
	StatusAssured   = 1 << 2
	StatusConfirmed = 1 << 3
)

// Types of messages in the header of netlink.
const (
	MessageNew    = unix.NFNL_SUBSYS_CTNETLINK<<8 | nl.IPCTNL_MSG_CT_NEW
	MessageGet    = unix.NFNL_SUBSYS_CTNETLINK<<8 | nl.IPCTNL_MSG_CT_GET
	MessageDelete = unix.NFNL_SUBSYS_CTNETLINK<<8 | nl.IPCTNL_MSG_CT_DELETE
)

// Attributes that the netlink library has no names for.
const (
	tupleZone = 3  // CTA_TUPLE_ZONE
	filter    = 25 // CTA_FILTER

	filterOriginalFlags = 1 // CTA_FILTER_ORIG_FLAGS

	icmpID, icmpType, icmpCode       = 4, 5, 6 // CTA_PROTO_ICMP_ID and so on
	icmpv6ID, icmpv6Type, icmpv6Code = 7, 8, 9 // CTA_PROTO_ICMPV6_ID and so on

	// infoState is CTA_PROTOINFO_TCP_STATE, and the same of SCTP and DCCP.
	infoState = nl.CTA_PROTOINFO_TCP_STATE
)
