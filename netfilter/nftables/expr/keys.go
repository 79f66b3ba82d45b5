package expr

// MetaKey is enum nft_meta_keys.
type MetaKey uint32

// The keys.
const (
	MetaLen MetaKey = iota
	MetaProtocol
	MetaPriority
	MetaMark
	MetaIif
	MetaOif
	MetaIifname
	MetaOifname
	MetaIiftype
	MetaOiftype
	MetaSkuid
	MetaSkgid
	MetaNftrace
	MetaRtclassid
	MetaSecmark
	MetaNfproto
	MetaL4proto
	MetaBriIifname
	MetaBriOifname
	MetaPkttype
	MetaCPU
	MetaIifgroup
	MetaOifgroup
	MetaCgroup
	MetaPRandom
	MetaSecpath
	MetaIifkind
	MetaOifkind
	MetaBriIifpvid
	MetaBriIifvproto
	MetaTimeNS
	MetaTimeDay
	MetaTimeHour
	MetaSdif
	MetaSdifname
	MetaBroute
)

// CTKey is enum nft_ct_keys.
type CTKey uint32

// The keys.
const (
	CTState CTKey = iota
	CTDirection
	CTStatus
	CTMark
	CTSecmark
	CTExpiration
	CTHelper
	CTL3Protocol
	CTSrc
	CTDst
	CTProtocol
	CTProtoSrc
	CTProtoDst
	CTLabels
	CTPkts
	CTBytes
	CTAvgpkt
	CTZone
	CTEventmask
	CTSrcIP
	CTDstIP
	CTSrcIP6
	CTDstIP6
	CTID
)

// FibResult is enum nft_fib_result.
type FibResult uint32

// The results.
const (
	FibOif     FibResult = 1
	FibOifname FibResult = 2
	FibType    FibResult = 3
)

// FibFlags is enum nft_fib_flags.
type FibFlags uint32

// The flags.
const (
	FibSaddr   FibFlags = 1
	FibDaddr   FibFlags = 2
	FibMark    FibFlags = 4
	FibIif     FibFlags = 8
	FibOifFlag FibFlags = 16
	FibPresent FibFlags = 32
)

// ObjectType is a kind of named object (NFT_OBJECT_*).
type ObjectType uint32

// The kinds.
const (
	ObjectCounter   ObjectType = 1
	ObjectQuota     ObjectType = 2
	ObjectCTHelper  ObjectType = 3
	ObjectLimit     ObjectType = 4
	ObjectConnlimit ObjectType = 5
	ObjectTunnel    ObjectType = 6
	ObjectCTTimeout ObjectType = 7
	ObjectSecmark   ObjectType = 8
	ObjectCTExpect  ObjectType = 9
	ObjectSynproxy  ObjectType = 10
)
