package check

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// TableName names a table.
type TableName struct {
	Family nftables.Family
	Name   string
}

// Object names an object.
type Object struct {
	Type expr.ObjectType
	Name string
}

// World is what nft asks the kernel and the machine about before it evaluates commands: which tables, chains and so on it sees depends on
// the commands of the transaction, and is the world's matter. Lists are in the order in which the kernel has them.
type World interface {
	// Tables are all tables.
	Tables() []TableName
	// Chains, Flowtables and Objects are those of a table, which is there.
	Chains(TableName) []string
	// HasChain says whether a table has a chain.
	HasChain(t TableName, name string) bool
	// Objects are those of a table.
	Objects(TableName) []Object
	// Flowtables are those of a table.
	Flowtables(TableName) []string
	// SetNames are the names of a table's sets and maps.
	SetNames(TableName) []string
	// Set is a set or map, with the types of its keys and data but without elements; nil if it is not there. The checker may change it.
	Set(t TableName, name string) *syntax.SetDecl
	// Elements are the elements of a set with intervals, each an Element whose Key is a Range, or a Mapping of one. The checker may change
	// them.
	Elements(t TableName, name string) []syntax.Expr
	// Rules are the handles of a chain's rules, in order.
	Rules(t TableName, chain string) []uint64
	// Device is the index of a device.
	Device(name string) (uint32, bool)
	// Names are the names of the C library.
	Names() *libc.Names
}

// Empty is the world without anything but the device lo.
type Empty struct{}

// Tables are none.
func (Empty) Tables() []TableName { return nil }

// Chains are none.
func (Empty) Chains(TableName) []string { return nil }

// HasChain is false.
func (Empty) HasChain(TableName, string) bool { return false }

// Objects are none.
func (Empty) Objects(TableName) []Object { return nil }

// Flowtables are none.
func (Empty) Flowtables(TableName) []string { return nil }

// SetNames are none.
func (Empty) SetNames(TableName) []string { return nil }

// Set is nil.
func (Empty) Set(TableName, string) *syntax.SetDecl { return nil }

// Elements are none.
func (Empty) Elements(TableName, string) []syntax.Expr { return nil }

// Rules are none.
func (Empty) Rules(TableName, string) []uint64 { return nil }

// Device knows lo.
func (Empty) Device(name string) (uint32, bool) { return 1, name == "lo" }

// Names has the names that every machine knows.
func (Empty) Names() *libc.Names { return libc.NewNames(nil) }
