package nftables

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Change is one request of a transaction: a message of netlink. The types of this file whose names begin with Add, Delete and Flush, as
// pointers, are all of them.
type Change interface{ change() }

// AddTable makes a table (NFT_MSG_NEWTABLE). Exclusive: it must not be there.
type AddTable struct {
	TableSpec
	Exclusive bool
	// Notify is told of the table if it is made or gets other flags, even if the transaction deletes it again; nil: nobody. Those of the
	// other changes are told of what they make, or change, and of its table (nf_tables_commit).
	Notify func(made *Table)
}

// DeleteTable deletes a table with all that it has; by handle if Handle is not 0. Without a name, all tables (of the family, if one is
// given). MayLack: one that is not there is fine (NFT_MSG_DESTROYTABLE; the same below).
type DeleteTable struct {
	Family  Family
	Name    string
	Handle  uint64
	MayLack bool
}

// AddChain makes a chain, or changes what there is of it.
type AddChain struct {
	Family    Family
	Table     string
	Chain     ChainSpec
	Handle    uint64 // of the chain that is to have the name of Chain (rename)
	Exclusive bool
	Notify    func(in *Table, made *Chain)
}

// DeleteChain deletes a chain with its rules.
type DeleteChain struct {
	Family      Family
	Table, Name string
	Handle      uint64
	MayLack     bool
}

// Place is where a rule comes to stand.
type Place uint8

// The places.
const (
	Last    Place = iota // behind the rule of a handle, or at the end of the chain ("add")
	First                // before the rule of a handle, or at the beginning ("insert")
	Instead              // in the place of the rule of a handle ("replace")
)

// AddRule makes a rule.
type AddRule struct {
	Family       Family
	Table, Chain string
	// ChainID is the number of a chain of the same transaction (ChainSpec.ID), if Chain is empty.
	ChainID uint32
	Place   Place
	Handle  uint64 // of the rule that Place is about; 0: none
	// Want is the handle that the rule gets, as one that is read from a listing; 0: the next one.
	Want uint64
	// ID is a number within the transaction, and PlaceID that of the rule that Place is about, if that has no handle yet.
	ID, PlaceID uint32
	Exprs       []expr.Expr
	UserData    []byte
	// Origin is that of the Rule.
	Origin any
	// Notify is told of the rule that is made, and of its table and the chain's rules as they are then, even if the transaction deletes it
	// again (nf_tables_rule_notify); nil: nobody.
	Notify func(in *Table, made *Rule, among []*Rule)
}

// DeleteRule deletes the rule of a handle, or if that is 0 all rules of the chain; without a chain, of all chains of the table.
type DeleteRule struct {
	Family       Family
	Table, Chain string
	Handle       uint64
	MayLack      bool
}

// AddSet makes a set or a map.
type AddSet struct {
	Family    Family
	Table     string
	Set       SetSpec
	Exclusive bool
	Notify    func(in *Table, made *Set)
}

// DeleteSet deletes one, by handle if Handle is not 0.
type DeleteSet struct {
	Family      Family
	Table, Name string
	Handle      uint64
	MayLack     bool
}

// AddElements puts elements into a set.
type AddElements struct {
	Family     Family
	Table, Set string
	SetID      uint32
	Elements   []ElementSpec
	Exclusive  bool
	// Notify is told of the elements that are made or get another time to live, in their order.
	Notify func(of *Set, made []MadeElement)
}

// MadeElement is an element that a transaction makes. The kernel keeps those of a set together that follow each other in a transaction,
// and tells of all that they are exclusive if the first one is (nft_trans_collapse_set_elem).
type MadeElement struct {
	*Element
	Exclusive bool
}

// DeleteElements takes elements out of a set: those that are given, or all if Elements is nil.
type DeleteElements struct {
	Family     Family
	Table, Set string
	Elements   []ElementSpec
	MayLack    bool
}

// AddObject makes a named object.
type AddObject struct {
	Family    Family
	Table     string
	Object    ObjectSpec
	Exclusive bool
	// Elsewhere: it was read from another kernel, or kept, and is taken as it is.
	Elsewhere bool
	Notify    func(in *Table, made *Object)
}

// DeleteObject deletes one.
type DeleteObject struct {
	Family      Family
	Table, Name string
	Type        expr.ObjectType
	Handle      uint64
	MayLack     bool
}

// AddFlowtable makes a flowtable, or gives one that is there more devices.
type AddFlowtable struct {
	Family    Family
	Table     string
	Flowtable FlowtableSpec
	Exclusive bool
}

// DeleteFlowtable deletes one, by handle if Handle is not 0.
type DeleteFlowtable struct {
	Family      Family
	Table, Name string
	Handle      uint64
	MayLack     bool
}

func (*AddTable) change()        {}
func (*DeleteTable) change()     {}
func (*AddChain) change()        {}
func (*DeleteChain) change()     {}
func (*AddRule) change()         {}
func (*DeleteRule) change()      {}
func (*AddSet) change()          {}
func (*DeleteSet) change()       {}
func (*AddElements) change()     {}
func (*DeleteElements) change()  {}
func (*AddObject) change()       {}
func (*DeleteObject) change()    {}
func (*AddFlowtable) change()    {}
func (*DeleteFlowtable) change() {}

// Part is the part of a change that a refusal is about: the attribute that the kernel's extended acknowledgement points at
// (NLMSGERR_ATTR_OFFS). nft draws its carets there.
type Part uint8

// The parts.
const (
	PartWhole   Part = iota // none was said: the whole command
	PartTable               // the table's name
	PartChain               // the chain's name
	PartName                // the name of the set, object or flowtable
	PartHandle              // the handle of a table, chain, set, object or rule
	PartPlace               // the rule that another one is placed by
	PartElement             // an element, by Refusal.Index
	PartExpr                // an expression of a rule, by Refusal.Index: its loading failed, or what it names is not there
	PartHook                // the hook, its type or priority
	PartPolicy
	PartFlags
)

// Refusal is why the kernel does not take a change.
type Refusal struct {
	Change int // its number in the transaction
	Errno  syscall.Errno
	Part   Part
	Index  int
}
