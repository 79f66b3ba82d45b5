package fakeipt

import (
	"iter"
	"slices"
	"strings"
	"sync"
)

// Table is one table of a ruleset. A Table is immutable.
type Table struct {
	kind   *tableKind
	chains *chainMap
	order  *chainOrder
	// made are the built-in chains that the nft tools have made. The others look the same in every print.
	made hookMask
}

// Chain is a list of rules. A Chain is immutable but for its Counters, and
// stays the same pointer as long as no commit changes it.
type Chain struct {
	Name     string
	Policy   Policy    // PolicyNone for a user-defined chain
	Rules    []*Rule   // not to be written to
	Counters *Counters // what the policy has decided; nil for a user-defined chain
}

// chainOrder is the names of a table's user-defined chains, sorted when somebody asks.
type chainOrder struct {
	sort  sync.Once
	names []string
}

// newTable returns the table as the kernel sets it up.
func newTable(kind *tableKind) *Table {
	empty := &chainMap{}
	t := &Table{kind: kind, chains: empty.edit(hookNumber), order: &chainOrder{}}
	for _, name := range kind.builtins() {
		e := chainEntry{chain: &Chain{Name: name, Policy: PolicyAccept, Counters: &Counters{}}, hash: hashName(name)}
		e.reached.add(kind.hookOf(name), 1)
		t.chains.set(e)
	}
	return t
}

// Name is the table's name.
func (t *Table) Name() string { return t.kind.name }

// Chain returns the chain of that name, nil if there is none.
func (t *Table) Chain(name string) *Chain {
	if e := t.chains.get(name); e != nil {
		return e.chain
	}
	return nil
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
func (t *Table) Chains() iter.Seq[*Chain] {
	return func(yield func(*Chain) bool) {
		for _, name := range t.kind.builtins() {
			if !yield(t.Chain(name)) {
				return
			}
		}
		for _, name := range t.userChains() {
			if !yield(t.Chain(name)) {
				return
			}
		}
	}
}

// userChains are the names of the user-defined chains, sorted.
func (t *Table) userChains() []string {
	t.order.sort.Do(func() {
		names := make([]string, 0, t.chains.count)
		t.chains.each(func(e *chainEntry) {
			if e.chain.Policy == PolicyNone {
				names = append(names, e.chain.Name)
			}
		})
		slices.SortFunc(names, strings.Compare)
		t.order.names = names
	})
	return t.order.names
}

// RuleCount is the number of rules in all chains.
func (t *Table) RuleCount() int {
	n := 0
	t.chains.each(func(e *chainEntry) { n += len(e.chain.Rules) })
	return n
}
