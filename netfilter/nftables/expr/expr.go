package expr

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Expr is one expression of a rule. The types of this package, as pointers, are all of them.
type Expr interface {
	// Name is the kernel's name of its kind, such as "payload".
	Name() string
	// Reads is what the expression looks at.
	Reads() netfilter.Reading
}

// Immediate puts data into a register; a verdict into RegVerdict.
type Immediate struct {
	Dreg Register
	Data Data
}

// CmpOp compares two values as numbers whose first byte weighs most (enum nft_cmp_ops).
type CmpOp uint8

// The comparisons.
const (
	Eq CmpOp = iota
	Neq
	Lt
	Lte
	Gt
	Gte
)

// Cmp goes on if a register compares so with data.
type Cmp struct {
	Sreg Register
	Op   CmpOp
	Data []byte
}

// Range goes on if a register is in a range (Eq) or is not (Neq).
type Range struct {
	Sreg     Register
	Op       CmpOp
	From, To []byte
}

// BitwiseOp is what Bitwise does (enum nft_bitwise_ops).
type BitwiseOp uint8

// The operations.
const (
	Bool BitwiseOp = iota // dreg = (sreg & Mask) ^ Xor
	LeftShift
	RightShift
)

// Bitwise computes of one register what it puts into another one.
type Bitwise struct {
	Sreg, Dreg Register
	Op         BitwiseOp
	Len        int // in bytes
	Mask, Xor  []byte
	Shift      uint32
}

// Byteorder turns bytes between the network's order and the host's.
type Byteorder struct {
	Sreg, Dreg Register
	ToHost     bool // ntoh
	Len, Size  int  // bytes in all, and of each number
}

// PayloadBase is where a packet's header begins (enum nft_payload_bases).
type PayloadBase uint8

// The bases.
const (
	LinkHeader PayloadBase = iota
	NetworkHeader
	TransportHeader
	InnerHeader
)

// Payload loads bytes of the packet into Dreg, or if Writes is set writes them from Sreg.
type Payload struct {
	Base        PayloadBase
	Offset, Len uint32
	Dreg        Register
	Writes      bool
	Sreg        Register
	// The sum that is mended when bytes are written.
	CsumType, CsumOffset, CsumFlags uint32
}

// ExthdrOp says what kind of optional header it is about (enum nft_exthdr_op).
type ExthdrOp uint8

// The kinds.
const (
	ExthdrIPv6 ExthdrOp = iota
	ExthdrTCPOption
	ExthdrIPv4
	ExthdrSCTP
)

// Exthdr loads bytes of an optional header, or whether it is there (Present), or if Writes is set writes them.
type Exthdr struct {
	Op          ExthdrOp
	Type        uint8
	Offset, Len uint32
	Present     bool
	Dreg        Register
	Writes      bool
	Sreg        Register
}

// Meta loads what the kernel knows of the packet beside its bytes into Dreg, or if Writes is set writes it from Sreg.
type Meta struct {
	Key    MetaKey
	Dreg   Register
	Writes bool
	Sreg   Register
}

// CT loads something of the packet's connection, or if Writes is set writes it. Dir is nil where the key has no direction; 0 is the
// original one, 1 the reply's.
type CT struct {
	Key    CTKey
	Dir    *uint8
	Dreg   Register
	Writes bool
	Sreg   Register
}

// The keys of RT (enum nft_rt_keys in include/uapi/linux/netfilter/nf_tables.h).
const (
	RTClassID uint32 = iota
	RTNextHop4
	RTNextHop6
	RTTCPMSS // the greatest segment that fits the route
	RTXFRM
)

// RT loads something of the packet's route: Key is one of the constants above.
type RT struct {
	Key  uint32
	Dreg Register
}

// Socket loads something of the socket that a packet belongs to (enum nft_socket_keys).
type Socket struct {
	Key, Level uint32
	Dreg       Register
}

// Osf loads the operating system that a TCP SYN looks like.
type Osf struct {
	TTL   uint8
	Flags uint32
	Dreg  Register
}

// XFRM loads something of the packet's IPsec state (enum nft_xfrm_keys).
type XFRM struct {
	Key, SPNum uint32
	Dir        uint8
	Dreg       Register
}

// Fib loads what the routing tables say of an address of the packet (net/netfilter/nft_fib.c).
type Fib struct {
	Result FibResult
	Flags  FibFlags
	Dreg   Register
}

// Numgen loads a number below Modulus, plus Offset (net/netfilter/nft_numgen.c).
type Numgen struct {
	Random          bool // otherwise each packet gets the next one
	Modulus, Offset uint32
	Dreg            Register
}

// Hash loads a hash below Modulus, plus Offset (net/netfilter/nft_hash.c).
type Hash struct {
	Symmetric       bool // symhash; otherwise jhash of Sreg
	Sreg            Register
	Len             int
	Modulus, Offset uint32
	Seed            uint32
	HasSeed         bool
	Dreg            Register
}

// Lookup goes on if a register's value is in a set (or, inverted, is not); with Map it loads what the map has for it into Dreg.
type Lookup struct {
	Sreg Register
	Set  string
	// SetID is the number of a set of the same transaction, which anonymous sets are found by before they have a name; 0 for none.
	SetID  uint32
	Map    bool
	Dreg   Register
	Invert bool
}

// DynsetOp is what Dynset does with an element (enum nft_dynset_ops).
type DynsetOp uint8

// The operations.
const (
	DynsetAdd DynsetOp = iota
	DynsetUpdate
	DynsetDelete
)

// Dynset changes a set by a packet (net/netfilter/nft_dynset.c).
type Dynset struct {
	Op      DynsetOp
	Key     Register
	Data    Register
	HasData bool
	Set     string
	SetID   uint32
	Timeout time.Duration
	Invert  bool
	Exprs   []Expr // that the element gets
}

// Objref does what an object of the table says, which is named or found in a map of objects.
type Objref struct {
	Type   ObjectType
	Object string
	Set    string // the map, if not empty
	SetID  uint32
	Sreg   Register
}

// Counter counts packets and bytes. Its numbers go on counting after the commit, and a copy of the rule shares them.
type Counter struct{ *netfilter.Counters }

// Quota goes on as long as no more bytes than these have passed, or with Over once more have.
type Quota struct {
	Bytes    uint64
	Over     bool
	Consumed *netfilter.Counters // its bytes
}

// Used are the bytes that have passed.
func (q *Quota) Used() uint64 {
	if q.Consumed == nil {
		return 0
	}
	return q.Consumed.Bytes()
}

// Limit goes on as long as packets, or bytes, come at no higher rate; with Over if they do.
type Limit struct {
	Rate  uint64
	Unit  time.Duration
	Burst uint32
	Bytes bool
	Over  bool
}

// Connlimit goes on if the connections that are counted are at most so many; with Over if they are more.
type Connlimit struct {
	Count uint32
	Over  bool
}

// Last notes when a packet came.
type Last struct {
	Set bool
	Ago time.Duration
}

// Log tells the kernel's log, or a group of netlink, of the packet.
type Log struct {
	Prefix                string
	HasGroup              bool
	Group, QueueThreshold uint16
	Snaplen               uint32
	HasSnaplen            bool
	HasQueueThreshold     bool
	HasLevel              bool
	Level                 uint32
	Flags                 uint32
}

// RejectKind is how a packet is rejected (enum nft_reject_types).
type RejectKind uint8

// The kinds.
const (
	RejectICMP RejectKind = iota
	RejectTCPReset
	RejectICMPX
)

// Reject answers the sender and drops the packet.
type Reject struct {
	Kind RejectKind
	Code uint8
}

// NATFlags are NF_NAT_RANGE_*.
type NATFlags uint32

// The flags (include/uapi/linux/netfilter/nf_nat.h).
const (
	NATMapIPs          NATFlags = 1
	NATProtoSpecified  NATFlags = 2
	NATProtoRandom     NATFlags = 4
	NATPersistent      NATFlags = 8
	NATProtoFullRandom NATFlags = 16
	NATProtoOffset     NATFlags = 32
	NATNetmap          NATFlags = 64
)

// NAT translates the connection's source or destination to what registers hold; a register of 0 is not given.
type NAT struct {
	Source             bool
	Family             uint8 // NFPROTO_IPV4, NFPROTO_IPV6
	AddrMin, AddrMax   Register
	ProtoMin, ProtoMax Register
	Flags              NATFlags
}

// Masq translates the source to an address of the device that the packet leaves by.
type Masq struct {
	Flags              NATFlags
	ProtoMin, ProtoMax Register
}

// Redir translates the destination to the host itself.
type Redir struct {
	Flags              NATFlags
	ProtoMin, ProtoMax Register
}

// Notrack keeps the packet from being tracked.
type Notrack struct{}

// QueueTo hands the packet to a program (nft_queue). With Sreg the number is in a register.
type QueueTo struct {
	Num, Total uint16
	Flags      uint16
	Sreg       Register
}

// Dup sends a copy of the packet; Fwd hands it to a device.
type Dup struct{ Addr, Dev Register }

// Fwd hands the packet to a device.
type Fwd struct {
	Dev, Addr Register
	Family    uint8
}

// Tproxy hands the packet to a local socket.
type Tproxy struct {
	Family     uint8
	Addr, Port Register
}

// Synproxy answers a SYN in place of the server.
type Synproxy struct {
	MSS    uint16
	Wscale uint8
	Flags  uint32
}

// FlowOffload puts the connection into a flowtable.
type FlowOffload struct{ Table string }

// Xt is a match or a target of x_tables, as iptables-nft writes it.
type Xt struct {
	Target   bool
	Ext      string // its name
	Revision uint32
	Info     []byte
	// Words are what libxtables translates it into; nil if it has no translation. Unspelled says that chainwalk does not know the translation.
	Words     *string
	Unspelled bool
}

// Opaque is an expression whose kind alone is known.
type Opaque struct {
	Kind string
	Data []byte // its netlink attributes
}
