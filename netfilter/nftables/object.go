package nftables

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// TableFlags are NFT_TABLE_F_*.
type TableFlags uint32

// The flags of tables.
const (
	TableDormant TableFlags = 1
	TableOwner   TableFlags = 2
)

// TableSpec is what a table is made of.
type TableSpec struct {
	Family   Family
	Name     string
	Flags    TableFlags
	UserData []byte // of programs, such as a comment (see UserData)
}

// Hooking is how a base chain hangs on a hook.
type Hooking struct {
	Type     string // "filter", "nat", "route"
	Hook     uint32 // of the family: netfilter.Hook for IPv4, IPv6 and inet
	Priority int32
	Devices  []string // of netdev
}

// ChainFlags are NFT_CHAIN_*.
type ChainFlags uint32

// The flags of chains.
const (
	ChainHWOffload ChainFlags = 2
	ChainBinding   ChainFlags = 4 // an anonymous chain, written in the rule that jumps to it
)

// ChainSpec is what a chain is made of.
type ChainSpec struct {
	Name string // empty for one with ChainBinding: the kernel gives it a name
	ID   uint32 // within the transaction, for verdicts and rules that come before the chain has a name
	// Hooking is nil for a chain that is no base chain.
	Hooking *Hooking
	// Policy is nil if none was given: accept for a base chain.
	Policy   *expr.Code
	Flags    ChainFlags
	UserData []byte
}

// SetFlags are NFT_SET_*.
type SetFlags uint32

// The flags of sets.
const (
	SetAnonymous SetFlags = 1
	SetConstant  SetFlags = 2
	SetInterval  SetFlags = 4
	SetMap       SetFlags = 8
	SetTimeout   SetFlags = 16
	SetEval      SetFlags = 32 // "dynamic"
	SetObject    SetFlags = 64
	SetConcat    SetFlags = 128
	SetExpr      SetFlags = 256
)

// DataVerdict is the type of the data of a map of verdicts (NFT_DATA_VERDICT).
const DataVerdict uint32 = 0xffffff00

// SetSpec is what a set or map is made of. Types are numbers of programs, which the kernel only keeps.
type SetSpec struct {
	Name              string
	ID                uint32 // within the transaction, for rules that come before the set has a name
	Flags             SetFlags
	KeyType, KeyLen   uint32 // length in bytes
	DataType, DataLen uint32
	ObjectType        expr.ObjectType
	Timeout           time.Duration
	GCInterval        time.Duration
	Policy            uint32 // 0: performance, 1: memory
	Size              uint32
	FieldLens         []uint8 // in bytes, of the parts of a concatenation with intervals
	UserData          []byte
	Exprs             []expr.Expr // that each element gets
}

// ElementFlags are NFT_SET_ELEM_*.
type ElementFlags uint32

// The flags of elements.
const (
	ElementIntervalEnd ElementFlags = 1
	ElementCatchall    ElementFlags = 2
)

// ElementSpec is what an element is made of.
type ElementSpec struct {
	Data        *expr.Data
	Exprs       []expr.Expr
	Key, KeyEnd []byte // KeyEnd: of a concatenation with intervals
	Object      string // of a map of objects
	Timeout     time.Duration
	HasTimeout  bool
	Flags       ElementFlags
	Expires     time.Duration // of an element that is given its rest of life; 0: its timeout
	UserData    []byte
}

// ObjectSpec is what a named object is made of.
type ObjectSpec struct {
	Name     string
	Type     expr.ObjectType
	Value    expr.Expr // *expr.Counter, *expr.Quota, *expr.Limit, *expr.Opaque
	UserData []byte
}
