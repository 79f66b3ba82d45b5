package snapshot

import (
	"errors"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Version is the version of the NodeSnapshot document that this package reads and writes.
const Version = 1

// NodeSnapshot is the NodeSnapshot document: everything that a walk needs from one node (one network namespace). Take makes it
// from this machine, Of from a Host, and NewHost builds a Host from it.
type NodeSnapshot struct {
	// Version is the constant of that name.
	Version int `json:"version"`
	// Hostname is the node's name.
	Hostname string `json:"hostname"`
	// Taken is when the snapshot was taken, if it is known.
	Taken time.Time `json:"taken,omitzero"`
	// Devices are the network devices, in the order in which they came into the namespace as far as that can be known, else by index.
	Devices []Device `json:"devices,omitempty"`
	// Routes are the routes of all tables, also the local one, and of both families.
	Routes []Route `json:"routes,omitempty"`
	// PolicyRules are what "ip rule" and "ip -6 rule" list, by family and priority.
	PolicyRules []PolicyRule `json:"policyRules,omitempty"`
	// Sysctls holds the keys under net. that a walk looks at, spelled with dots.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// IPTables holds the rules of each backend and family that has any table.
	IPTables []Rules `json:"iptables,omitempty"`
	// Order says, where both backends have a chain of the same table in a hook, which of the two packets meet first. What it leaves out is not
	// known.
	Order []HookOrder `json:"order,omitempty"`
	// Hooks says the same where native chains of nftables hang at a hook beside others of their priority.
	Hooks []HookChains `json:"hooks,omitempty"`
	// NFTables are the tables of nf_tables that iptables-nft-save does not show, and of those that it shows the chains that it does not.
	// Packets are walked through those that have Rules.
	NFTables []NFTable `json:"nftables,omitempty"`
	// Conntrack holds the connections that the node knows.
	Conntrack []Connection `json:"conntrack,omitempty"`
	// IPSets is what "ipset save" prints. It is read only where a rule of the walked backend names a set, or where a Host can hold all of it.
	IPSets string `json:"ipsets,omitempty"`
	// NFAcct are the accounting objects that "-m nfacct" rules name.
	NFAcct []NFAcct `json:"nfacct,omitempty"`
	// Unread says what could not be read and why. A walk that depends on it may differ from
	// what the node does.
	Unread []Unread `json:"unread,omitempty"`
}

// Device is a packetsim.Device in the document.
type Device struct {
	Name  string `json:"name"`
	Index int    `json:"index,omitempty"`
	// Kind is the kind of "ip -d link": veth, bridge, dummy; loopback for lo, device for one without a kind.
	Kind string `json:"kind,omitempty"`
	MTU  int    `json:"mtu,omitempty"`
	MAC  string `json:"mac,omitempty"`
	// Up is whether the device is administratively up.
	Up bool `json:"up"`
	// Master is the bridge, bond or VRF that the device is a port of.
	Master string `json:"master,omitempty"`
	// Group is the group that -m devgroup asks for.
	Group uint32 `json:"group,omitempty"`
	// PeerNetns is the id that this namespace has for the one that the other end of a veth is in.
	PeerNetns *int      `json:"peerNetns,omitempty"`
	Addresses []Address `json:"addresses,omitempty"`
	// Hairpin is that of a port of a bridge, and Neighbours are the addresses behind it.
	Hairpin    bool         `json:"hairpin,omitempty"`
	Neighbours []netip.Addr `json:"neighbours,omitempty"`
	VXLAN      *VXLAN       `json:"vxlan,omitempty"`
}

// VXLAN is a packetsim.VXLAN in the document.
type VXLAN struct {
	// ID is the network identifier, of 24 bits.
	ID uint32 `json:"id"`
	// Port is the destination port; without it, it is 8472.
	Port  uint16     `json:"port,omitempty"`
	Local netip.Addr `json:"local,omitzero"`
	// Remotes are by neighbour.
	Remotes []Remote `json:"remotes,omitempty"`
}

// Remote says which machine a neighbour on a tunnel is behind.
type Remote struct {
	Neighbour netip.Addr `json:"neighbour"`
	Remote    netip.Addr `json:"remote"`
}

// Address is a packetsim.Address in the document, field by field.
type Address struct {
	Prefix     netip.Prefix    `json:"address"`
	Scope      packetsim.Scope `json:"scope,omitempty"`
	Broadcast  netip.Addr      `json:"broadcast,omitzero"`
	Secondary  bool            `json:"secondary,omitempty"`
	Deprecated bool            `json:"deprecated,omitempty"`
}

// Route is a packetsim.Route in the document, either with Via and Dev or with NextHops.
type Route struct {
	// Dst is the destination; a default route is 0.0.0.0/0 or ::/0.
	Dst  netip.Prefix        `json:"dst"`
	Type packetsim.RouteType `json:"type,omitempty"`
	Via  netip.Addr          `json:"via,omitzero"`
	Dev  string              `json:"dev,omitempty"`
	// Src is the preferred source address.
	Src netip.Addr `json:"src,omitzero"`
	// Table is the number of the table: 254 is main, 255 local, 253 default.
	Table  packetsim.RouteTable `json:"table"`
	Metric uint32               `json:"metric,omitempty"`
	Scope  packetsim.Scope      `json:"scope,omitempty"`
	// Protocol says who made the route: kernel, boot, static, ra or a number.
	Protocol string    `json:"protocol,omitempty"`
	NextHops []NextHop `json:"nexthops,omitempty"`
	// Realms are the realms of an IPv4 route: of what is sent by it, plus 65536 times that of what has come by it.
	Realms uint32 `json:"realms,omitempty"`
}

// NextHop is one of several next hops of a route.
type NextHop struct {
	Via netip.Addr `json:"via,omitzero"`
	Dev string     `json:"dev"`
	// Weight is 1 or more.
	Weight int `json:"weight"`
}

// PolicyRule is a packetsim.PolicyRule in the document, field by field.
type PolicyRule struct {
	// Family is 4 or 6.
	Family   netfilter.Family `json:"family"`
	Priority uint32           `json:"priority"`
	// Invert turns the conditions round.
	Invert   bool                 `json:"not,omitempty"`
	From     netip.Prefix         `json:"from,omitzero"`
	To       netip.Prefix         `json:"to,omitzero"`
	Mark     uint32               `json:"fwmark,omitempty"`
	MarkMask uint32               `json:"fwmask,omitempty"`
	In       string               `json:"iif,omitempty"`
	Out      string               `json:"oif,omitempty"`
	Action   packetsim.RuleAction `json:"action,omitempty"`
	Table    packetsim.RouteTable `json:"table,omitzero"`
}

// Rules is the ruleset of one backend and family.
type Rules struct {
	// Backend is legacy or nft.
	Dialect netfilter.Dialect `json:"backend"`
	// Family is 4 or 6.
	Family netfilter.Family `json:"family"`
	// Save is what "iptables-save -c" (or its ip6 twin) prints.
	Save string `json:"save"`
}

// HookOrder is the backend whose chain packets meet first.
type HookOrder struct {
	// Family is 4 or 6.
	Family netfilter.Family `json:"family"`
	// Hook is PREROUTING, INPUT, FORWARD, OUTPUT or POSTROUTING.
	Hook  string `json:"hook"`
	Table string `json:"table"`
	// First is legacy or nft.
	First netfilter.Dialect `json:"first"`
}

// NFTable is a table of nf_tables with the chains that packets meet in hooks.
type NFTable struct {
	// Family is that of nft: ip, ip6, inet, arp, bridge or netdev.
	Family string    `json:"family"`
	Name   string    `json:"name"`
	Chains []NFChain `json:"chains,omitempty"`
	// Rules is the table as "nft list table" prints it, as text. It is empty if the rules were not read, or have what cannot be walked.
	Rules string `json:"rules,omitempty"`
}

// NFChain is a base chain.
type NFChain struct {
	Name string `json:"name"`
	// Hook is that of nft: prerouting, input, forward, output, postrouting, ingress or egress.
	Hook     string `json:"hook"`
	Priority int32  `json:"priority"`
	// Device is the only one whose packets come to the chain.
	Device string `json:"device,omitempty"`
	// Type is filter, nat or route. Only the first packet of a connection comes to a chain of type nat.
	Type string `json:"type,omitempty"`
	// May is what the chain, its policy and the chains that it jumps to can do to a packet. None at all is not known.
	May []NFEffect `json:"may,omitempty"`
	// Only is what packets are like that alone meet what the chain does: one of them fits each. Where there are none, any packet may meet it.
	Only []NFMatch `json:"only,omitempty"`
}

// Connection is a conntrack.Entry in the document.
type Connection struct {
	Original Tuple `json:"original"`
	// Reply is the tuple of packets of the reply direction: where it is not Original turned
	// round, the connection is translated.
	Reply Tuple `json:"reply"`
	// State is the protocol's state by the name that conntrack prints, for TCP and SCTP.
	State string `json:"state,omitempty"`
	// Timeout is in seconds from the time of the snapshot.
	Timeout uint32 `json:"timeout"`
	Replied bool   `json:"replied,omitempty"`
	Assured bool   `json:"assured,omitempty"`
	Mark    uint32 `json:"mark,omitempty"`
	// Zone is the conntrack zone; packets see the entries of their own zone only. OrigZone or ReplyZone is
	// that of one direction, the other being in zone 0.
	Zone      uint16 `json:"zone,omitempty"`
	OrigZone  uint16 `json:"origZone,omitempty"`
	ReplyZone uint16 `json:"replyZone,omitempty"`
}

// Tuple is a conntrack.Tuple in the document, field by field.
type Tuple struct {
	Proto    inet.Proto `json:"proto"`
	Src      netip.Addr `json:"src"`
	Dst      netip.Addr `json:"dst"`
	SrcPort  uint16     `json:"sport,omitempty"`
	DstPort  uint16     `json:"dport,omitempty"`
	ICMPType uint8      `json:"icmpType,omitempty"`
	ICMPCode uint8      `json:"icmpCode,omitempty"`
	ICMPID   uint16     `json:"icmpID,omitempty"`
}

// NFAcct is an accounting object with its counters.
type NFAcct struct {
	Name    string `json:"name"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	// Mode is byte or packet for an object with a quota, which is Quota. Over says that it has been reached.
	Mode  string `json:"mode,omitempty"`
	Quota uint64 `json:"quota,omitempty"`
	Over  bool   `json:"overquota,omitempty"`
}

// Unread names something that could not be read and the reason.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// documentError says what of a NodeSnapshot document cannot be used, and what to write instead. Path is the field, such as routes[3].dst.
// The place is missing where the value did not come from a document.
type documentError = document.Error

// errNotSupported is what a snapshot has no place for, or a Host no imitation.
var errNotSupported = errors.New("not supported")
