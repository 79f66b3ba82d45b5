package syntax

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Op is what a command does.
type Op uint8

// The operations.
const (
	OpAdd Op = iota
	OpReplace
	OpCreate
	OpInsert
	OpDelete
	OpGet
	OpList
	OpFlush
	OpReset
	OpRename
	OpImport
	OpExport
	OpMonitor
	OpDescribe
)

// Kind is what a command is about.
type Kind uint8

// The kinds.
const (
	KindElements Kind = iota + 1
	KindSet
	KindMap
	KindRule
	KindChain
	KindTable
	KindRuleset
	KindFlowtable
	KindCounter
	KindQuota
	KindLimit
	KindCTHelper
	KindCTTimeout
	KindCTExpectation
	KindSecmark
	KindSynproxy
	KindMeter
	KindSets // and what lists all of a kind: "list sets"
	KindMaps
	KindChains
	KindTables
	KindCounters
	KindQuotas
	KindLimits
	KindCTHelpers
	KindCTTimeouts
	KindCTExpectations
	KindSecmarks
	KindSynproxies
	KindMeters
	KindFlowtables
	KindHooks
	KindExpr // describe
)

// Handle names what a command is about. Each part has its place; the Loc of one that was not written has In nil.
type Handle struct {
	Family                                 nftables.Family
	FamilyGiven                            bool
	Table, Chain, Name                     string // Name: of a set, map, object or flowtable
	Number                                 uint64 // of a rule, or of a table, chain, set and so on by handle
	TableLoc, ChainLoc, NameLoc, NumberLoc Loc
	Placed                                 *Placement // of a rule that is placed by another one; nil: of one that is not
}

// Placement is by which other rule a rule is placed.
type Placement struct {
	Position, Index       uint64 // of the other rule; Index counts from 1; 0: none
	PositionLoc, IndexLoc Loc
	// Neighbour is the rule of the same transaction that Index means, once check has found it; of one of the kernel it sets Position.
	Neighbour *Rule
}

// Placement is by which other rule the rule is placed, none if it is not. It is not to be written to.
func (h *Handle) Placement() *Placement {
	if h.Placed == nil {
		return &unplaced
	}
	return h.Placed
}

var unplaced Placement

// Command is one command. The declaration that it is about is in one of the pointers.
type Command struct {
	Op   Op
	Kind Kind
	// Begins: the set that gets elements has none, so that the kernel is told of what is before its first interval too.
	Begins bool
	Loc    Loc
	Handle Handle

	Table    *TableDecl
	Chain    *ChainDecl
	Rule     *Rule
	Set      *SetDecl
	Elements Expr // a Set or a SetRef's elements
	Object   *ObjectDecl
	Flow     *FlowtableDecl
	NewName  string // rename
	Describe Expr
	// Before and After are commands that check adds: elements that go as others are merged, elements that stay of one that is deleted.
	Before, After []*Command
	// Word is the type word of "monitor" and "list hooks" and the like.
	Word string
}

// TableDecl is a table, with what stands in its block.
type TableDecl struct {
	Loc        Loc
	Handle     Handle
	Flags      nftables.TableFlags
	Comment    string
	HasComment bool
	Chains     []*ChainDecl
	Sets       []*SetDecl
	Objects    []*ObjectDecl
	Flows      []*FlowtableDecl
}

// ChainDecl is a chain.
type ChainDecl struct {
	Loc    Loc
	Handle Handle
	// Type is nil for a chain that hangs on no hook.
	Hook       *HookDecl
	Policy     Expr // a Value, Symbol or Variable; nil if none was written
	Flags      nftables.ChainFlags
	Comment    string
	HasComment bool
	Rules      []*Rule
	// Anonymous: it is a ChainStmt's. ID is its number in the transaction then.
	Anonymous bool
	ID        uint32
}

// HookDecl is "type T hook H [device D] priority P".
type HookDecl struct {
	Loc, TypeLoc, HookLoc Loc
	Type, Hook            string
	HookNumber            uint32
	Priority              Expr // a Value, Symbol or Variable, with an offset
	PriorityNumber        int32
	Devices               Expr
	DeviceNames           []string
}

// Rule is a rule.
type Rule struct {
	Loc Loc
	// Handle is that of the command or the chain that it stands in, once check has seen it.
	Handle     *Handle
	Stmts      []Stmt
	Comment    string
	HasComment bool
	// ID is its number in the transaction if another rule is placed beside it; else 0.
	ID uint32
	// Want is the handle that it had in a listing that is read; 0: the next one.
	Want uint64
}

// Number is the rule's handle; 0 for a rule that has none yet.
func (r *Rule) Number() uint64 {
	if r.Handle == nil {
		return 0
	}
	return r.Handle.Number
}

// SetDecl is a set or a map.
type SetDecl struct {
	Loc                 Loc
	Handle              Handle
	Flags               nftables.SetFlags
	Map                 bool
	Typeof              bool // the key was written as typeof
	IntervalData        bool // the data may be ranges: "type X : interval Y"
	PolicyGiven         bool
	AutoMerge           bool
	HasComment          bool
	Key                 Expr // whose type the keys have; a Value of no number for "type X"
	Data                Expr
	Object              expr.ObjectType
	Timeout, GCInterval uint64 // ms
	Policy              uint32
	Size                uint32
	Comment             string
	Stmts               []Stmt
	Elements            Expr // a Set or nil
	// Unsent are elements that nft forgets to send, but counts: those that stand in "create set".
	Unsent Expr
	// Before are deletions that check adds: of elements that its own are joined with.
	Before []*Command
	// ID is its number in the transaction, if it is anonymous.
	ID uint32
}

// ObjectDecl is a named object.
type ObjectDecl struct {
	Loc      Loc
	Handle   Handle
	Type     expr.ObjectType
	Counter  *Counter
	Quota    *QuotaStmt
	Limit    *LimitStmt
	Synproxy *SynproxyStmt
	// Others are kept as they were written: name of the option and value.
	Options    [][2]string
	States     []Loc // where the states of a ct timeout stand, in their order
	Comment    string
	HasComment bool
}

// FlowtableDecl is a flowtable.
type FlowtableDecl struct {
	Loc    Loc
	Handle Handle
	Hook   *HookDecl
	Flags  uint32
}
