package fakeipt

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter"
)

// register notes when the kernel was given the built-in chains of a table that nobody reads yet: a table of the legacy tools with all of
// its chains at once, those of the nft tools one by one.
func (k *Kernel) register(t *Table) {
	there := t.kind.hooks
	if k.dialect == netfilter.NFT {
		there = t.made
	}
	for i := range t.registered {
		switch has := there&(1<<i) != 0; {
		case has && t.registered[i] == 0:
			t.registered[i] = k.namespace.NextTurn()
		case !has && t.registered[i] != 0:
			t.registered[i] = 0
		}
	}
}

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
				chains = append(chains, netfilter.BaseChain{Dialect: rs.dialect, Table: t.kind.name, Chain: h.String(), Hook: h,
					Priority: t.kind.priorityAt(h), Turn: t.registered[h]})
			}
		}
	}
	return chains
}

// Register makes a built-in chain the one that was registered last, so that packets meet it before that of the other dialect. It is for
// rules that were loaded in another order than the one in which they came to be. A chain that the kernel has not is an error.
func (k *Kernel) Register(f netfilter.Family, table, chain string) error {
	k.namespace.Lock()
	defer k.namespace.Unlock()
	old := k.Ruleset(f).Table(table)
	if old == nil || old.Registered(chain) == 0 {
		return fmt.Errorf("the kernel has no chain %s in a table %s of the %s tools", chain, table, k.dialect)
	}
	t := *old
	h, _ := netfilter.HookOf(chain)
	t.registered[h] = 0
	k.store(f, &t)
	return nil
}
