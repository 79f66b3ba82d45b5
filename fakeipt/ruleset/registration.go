package ruleset

import (
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Register notes at the next turn that the kernel was given the built-in chains of a table that nobody reads yet: a table of the legacy
// tools with all of its chains at once, those of the nft tools one by one.
func (t *Table) Register(d netfilter.Dialect, next func() uint64) {
	there := t.kind.hooks
	if d == netfilter.NFT {
		there = t.made
	}
	for i := range t.registered {
		switch has := there&(1<<i) != 0; {
		case has && t.registered[i] == 0:
			t.registered[i] = next()
		case !has && t.registered[i] != 0:
			t.registered[i] = 0
		}
	}
}

// WithoutTurn is the table without the turn of a chain, so that it gets another one.
func (t *Table) WithoutTurn(chain string) *Table {
	n := *t
	if h, is := netfilter.HookOf(chain); is {
		n.registered[h] = 0
	}
	return &n
}

// LastTurn is the last turn at which the kernel was given a chain of the table.
func (t *Table) LastTurn() uint64 { return slices.Max(t.registered[:]) }

// Registered is the turn, counted over both dialects, at which the kernel was given a built-in chain; 0 for a chain that it has not. Of two
// chains of the same hook and priority, packets meet the one first that was registered last (nf_hook_entries_grow in
// net/netfilter/core.c). The legacy tools register a table when they first use it and never take it back; the nft tools register each
// chain when it is made, and a table that they flush as a whole anew.
func (t *Table) Registered(chain string) uint64 {
	h, is := netfilter.HookOf(chain)
	if !is {
		return 0
	}
	return t.registered[h]
}

// BaseChains are the built-in chains that packets meet: all of a table of the legacy tools, and of the nft tools those that are made.
func (rs *Ruleset) BaseChains() []netfilter.BaseChain {
	var chains []netfilter.BaseChain
	for _, t := range rs.tables {
		there := t.kind.hooks
		if rs.dialect == netfilter.NFT {
			there = t.made
		}
		for h := range netfilter.Hook(netfilter.NumHooks) {
			if there&(1<<h) != 0 {
				chains = append(chains, netfilter.BaseChain{Dialect: rs.dialect, Table: t.kind.Name, Chain: h.String(), Hook: h,
					Priority: t.kind.priorityAt(h, rs.dialect), Turn: t.registered[h]})
			}
		}
	}
	return chains
}
