package nftables

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// State is all tables at one moment. It never changes: a commit, or a packet that changes a set, makes another one, which differs as a
// pointer and shares what is the same.
type State struct {
	// Generation counts the transactions (NFTA_GEN_ID).
	Generation uint32

	tables []*Table
}

// Table is a table.
type Table struct {
	TableSpec
	Handle uint64
}

// Chain is a chain.
type Chain struct {
	ChainSpec
	Handle uint64
	// Turn is when a base chain was registered (netfilter.Namespace.NextTurn).
	Turn  uint64
	Rules []*Rule
}

// Rule is a rule. One that a commit did not change is the same pointer afterwards.
type Rule struct {
	Handle   uint64
	Exprs    []expr.Expr
	UserData []byte
}

// Set is a set or map with its elements.
type Set struct {
	SetSpec
	Handle uint64
}

// Element is a member of a set.
type Element struct {
	ElementSpec
	// Deadline is when it expires; zero: never.
	Deadline time.Time
}

// Object is a named object.
type Object struct {
	ObjectSpec
	Handle uint64
}

// Tables are all tables in the order in which they were made.
func (s *State) Tables() []*Table { return s.tables }
