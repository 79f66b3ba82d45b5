package nftables

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/internal/persist"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// State is all tables at one moment. It never changes: a commit makes another one, which differs as a pointer and shares what is the same.
// What goes on in it is what packets do: counters, quotas, and the elements that they put into sets (see Overlay).
type State struct {
	// Generation counts the transactions (NFTA_GEN_ID).
	Generation uint32

	tables   []*Table // by family and name
	rulesets [2]Ruleset
}

// Tables are all tables in the order in which they were made.
func (s *State) Tables() []*Table {
	return slices.SortedFunc(slices.Values(s.tables), func(a, b *Table) int { return cmp.Compare(a.Handle, b.Handle) })
}

// Table is a table by its name; nil if there is none.
func (s *State) Table(f Family, name string) *Table {
	if i, found := findTable(s.tables, f, name); found {
		return s.tables[i]
	}
	return nil
}

// findTable is where a table is among those of a State, or would be.
func findTable(tables []*Table, f Family, name string) (int, bool) {
	return slices.BinarySearchFunc(tables, name, func(t *Table, name string) int {
		return cmp.Or(cmp.Compare(t.Family, f), cmp.Compare(t.Name, name))
	})
}

// Table is a table.
type Table struct {
	TableSpec
	Handle uint64

	*counted
	chains  *persist.Map[chainEntry]
	sets    *persist.Map[setEntry]
	objects *persist.Map[objectEntry]
	// What it has of each kind in the order of creation, which is that of the handles.
	chainList  *persist.List[*Chain]
	setList    *persist.List[*Set]
	objectList *persist.List[*Object]
	flowtables []flowtableEntry // in that order, too
	bases      []*Chain         // base chains, in that order
	anonymous  map[string]numbers
}

// counted is what a table goes on counting even in a transaction that is undone.
type counted struct {
	handle uint64 // the last one
}

// nextHandle is a handle of the table that was never given (nf_tables_alloc_handle).
func (c *counted) nextHandle() uint64 {
	c.handle++
	return c.handle
}

// handleFor is the handle that somebody wants, and the next one for nobody. Those that come are greater.
func (c *counted) handleFor(want uint64) uint64 {
	if want == 0 {
		return c.nextHandle()
	}
	c.handle = max(c.handle, want)
	return want
}

func newTable(spec TableSpec, handle uint64) *Table {
	return &Table{TableSpec: spec, Handle: handle, counted: &counted{},
		chains: &persist.Map[chainEntry]{}, sets: &persist.Map[setEntry]{}, objects: &persist.Map[objectEntry]{},
		chainList: &persist.List[*Chain]{}, setList: &persist.List[*Set]{}, objectList: &persist.List[*Object]{}}
}

// chainEntry is a chain and what the table knows about it.
type chainEntry struct {
	chain *Chain
	uses  int32 // verdicts of rules and elements that lead to it
	reach reach // from where packets may come to it: at least what is so
}

// setEntry is a set and what the table knows about it.
type setEntry struct {
	set   *Set
	uses  int32 // rules that name it
	reach reach
}

// objectEntry is an object and how many rules and elements name it.
type objectEntry struct {
	object *Object
	uses   int32
}

// Chains are the table's chains in the order of creation.
func (t *Table) Chains() []*Chain { return t.chainList.Values() }

// BaseChains are those of Chains that packets meet at hooks; not to be written to.
func (t *Table) BaseChains() []*Chain { return t.bases }

// Chain is a chain by its name; nil if there is none.
func (t *Table) Chain(name string) *Chain { return first(t.chains.Get(name)).chain }

// Sets are the table's sets and maps in the order of creation.
func (t *Table) Sets() []*Set { return t.setList.Values() }

// Set is a set or map by its name; nil if there is none.
func (t *Table) Set(name string) *Set { return first(t.sets.Get(name)).set }

// Objects are the table's named objects in the order of creation.
func (t *Table) Objects() []*Object { return t.objectList.Values() }

// Object is a named object; nil if there is none.
func (t *Table) Object(kind expr.ObjectType, name string) *Object {
	return first(t.objects.Get(objectKey(kind, name))).object
}

func first[V any](v V, _ bool) V { return v }

func objectKey(kind expr.ObjectType, name string) string { return string(rune(kind)) + name }

// Chain is a chain. One that a commit did not change is the same pointer afterwards.
type Chain struct {
	ChainSpec
	Handle uint64
	// Turn is when a base chain was registered (netfilter.Namespace.NextTurn); 0 if it is not, because its table is dormant.
	Turn  uint64
	Rules []*Rule
	// Memo is for what a reader works out from the chain and wants to find again. This package neither sets nor reads it.
	Memo atomic.Value

	made  *edit // the transaction that may still write to it
	dirty bool  // that transaction has added rules
}

// Rule is a rule. One that a commit did not change is the same pointer afterwards.
type Rule struct {
	Handle   uint64
	Exprs    []expr.Expr
	UserData []byte
	// Origin is what a Guest has made the rule from; nil for a rule that nft wrote.
	Origin any
	// Memo is as that of a Chain.
	Memo atomic.Value
}

// SavedOrigin is an Origin that was read from a saved state: what its String said.
type SavedOrigin string

// Object is a named object.
type Object struct {
	ObjectSpec
	Handle uint64
}

// edit is the identity of a transaction; its address is all that counts.
type edit struct{ _ byte }
