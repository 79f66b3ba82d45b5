package ruleset

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Table is one table of a ruleset. A Table is immutable.
type Table struct {
	id     *TableID
	kind   *Kind
	chains *chainMap
	order  *chainOrder
	// made are the built-in chains that the nft tools have made. The others look the same in every print.
	made xtables.HookMask
	// counted are the built-in chains whose policy counts packets.
	counted xtables.HookMask
	// registered are the turns at which the kernel was given the built-in chains, by hook; 0 for a chain that it has not.
	registered [netfilter.NumHooks]uint64
	handles    handles
}

// TableID is the identity of a Table: no two tables have the same pointer. Who keeps it does not keep the table's rules in memory.
type TableID struct{ _ byte }

// Chain is a list of rules. A Chain is immutable but for its Counters, and
// stays the same pointer as long as no commit changes it.
type Chain struct {
	Name     string
	Policy   Policy              // PolicyNone for a user-defined chain
	Rules    []*xtables.Rule     // not to be written to
	Counters *netfilter.Counters // what the policy has decided; nil for a user-defined chain
	handle   uint64              // of a user-defined chain of the nft tools
	// Memo is for what a reader works out from the chain and wants to find again, such as an index of its rules.
	// This package neither sets nor reads it. It is gone with the chain, but for a chain that differs by its Counters alone.
	Memo atomic.Value
}

// chainOrder is a table's chains in the order of iptables-save, made when somebody asks.
type chainOrder struct {
	once   sync.Once
	chains []*Chain
}

// NewTable returns the table as the kernel sets it up.
func NewTable(kind *Kind) *Table {
	empty := &chainMap{}
	t := &Table{id: &TableID{}, kind: kind, chains: empty.edit(netfilter.NumHooks), order: &chainOrder{}, counted: kind.hooks}
	for _, name := range kind.builtins() {
		e := chainEntry{chain: &Chain{Name: name, Policy: PolicyAccept, Counters: &netfilter.Counters{}}, hash: hashName(name)}
		e.reached.add(kind.hookOf(name), 1)
		t.chains.set(e)
	}
	return t
}

// ID is the table's identity.
func (t *Table) ID() *TableID { return t.id }

// Name is the table's name.
func (t *Table) Name() string { return t.kind.Name }

// Made says whether the nft tools have made a built-in chain of the table, which they do at its first use. What they
// print of a table names all of its built-in chains, but packets meet only those that are made. The legacy tools make all at once.
func (t *Table) Made(chain string) bool { return t.made&t.kind.hookOf(chain) != 0 }

// CountsPolicy says whether the kernel counts what the policy of a built-in chain decides. It does so in every chain of
// the legacy tools, and in those of the nft tools that a restore has declared or whose counters were set to zero.
func (t *Table) CountsPolicy(chain string) bool {
	return t.counted&t.kind.hookOf(chain) != 0
}

// Chain returns the chain of that name, nil if there is none.
func (t *Table) Chain(name string) *Chain {
	if e := t.chains.get(name); e != nil {
		return e.chain
	}
	return nil
}

// Differing are the names of the chains that are not the same Chain in another table, in no order: of two tables one of which was made of
// the other by commits, those that the commits have changed. It costs by these.
func (t *Table) Differing(other *Table) (names []string) {
	t.chains.differing(other.chains, func(name string) { names = append(names, name) })
	return names
}

// Reached is the number of rules that lead to a chain from chains that a hook reaches, for each hook.
func (t *Table) Reached(chain string) [netfilter.NumHooks]int32 {
	if e := t.chains.get(chain); e != nil {
		return e.reached
	}
	return [netfilter.NumHooks]int32{}
}

// References is the number of rules that jump or go to a chain.
func (t *Table) References(chain string) int {
	if e := t.chains.get(chain); e != nil {
		return int(e.refs)
	}
	return 0
}

// Chains are the table's chains in the order of iptables-save: the built-in
// ones by hook, then the others by name.
func (t *Table) Chains() iter.Seq[*Chain] { return slices.Values(t.sorted()) }

// Unsorted are the table's chains in no order. To sort them takes longer than to look at each.
func (t *Table) Unsorted() iter.Seq[*Chain] {
	return func(yield func(*Chain) bool) {
		more := true
		t.chains.each(func(e *chainEntry) { more = more && yield(e.chain) })
	}
}

// sorted is the chains in the order of iptables-save.
func (t *Table) sorted() []*Chain {
	t.order.once.Do(func() {
		user := make([]sortedChain, 0, t.chains.count)
		t.chains.each(func(e *chainEntry) {
			if e.chain.Policy == PolicyNone {
				user = append(user, newSortedChain(e.chain))
			}
		})
		slices.SortFunc(user, sortedChain.compare)
		chains := make([]*Chain, 0, t.chains.count)
		for _, name := range t.kind.builtins() {
			chains = append(chains, t.Chain(name))
		}
		for i := range user {
			chains = append(chains, user[i].chain)
		}
		t.order.chains = chains
	})
	return t.order.chains
}

// sortedChain is a chain with the beginning of its name at hand: to compare two of them, names need not be looked at.
type sortedChain struct {
	first, second uint64 // 16 bytes of the name
	chain         *Chain
}

func newSortedChain(c *Chain) sortedChain {
	var head [16]byte
	copy(head[:], c.Name)
	return sortedChain{binary.BigEndian.Uint64(head[:8]), binary.BigEndian.Uint64(head[8:]), c}
}

func (s sortedChain) compare(other sortedChain) int {
	if s.first != other.first {
		return cmp.Compare(s.first, other.first)
	}
	if s.second != other.second {
		return cmp.Compare(s.second, other.second)
	}
	return cmp.Compare(s.chain.Name, other.chain.Name)
}

// ChainCount is the number of chains.
func (t *Table) ChainCount() int { return t.chains.count }

// RuleCount is the number of rules in all chains.
func (t *Table) RuleCount() int {
	n := 0
	t.chains.each(func(e *chainEntry) { n += len(e.chain.Rules) })
	return n
}
