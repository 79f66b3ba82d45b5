package ruleset

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// handles are the numbers that the kernel of nf_tables gives a table of the nft tools and what is in it.
type handles struct {
	// Table is the table's own; 0 until it is committed.
	Table uint64
	// Last is the last that was given to a chain or a rule.
	Last uint64
	// Builtins are those of the built-in chains that are made, by hook.
	Builtins [netfilter.NumHooks]uint64
}

// forget takes those of built-in chains away.
func (h *handles) forget(hooks xtables.HookMask) {
	for i := range h.Builtins {
		if hooks&(1<<i) != 0 {
			h.Builtins[i] = 0
		}
	}
}

// nextHandle is the number of the next chain or rule; 0 for the legacy tools, which have none.
func (e *Edit) nextHandle() uint64 {
	if e.Dialect == netfilter.Legacy {
		return 0
	}
	e.handles.Last++
	return e.handles.Last
}

// number gives built-in chains that are made now their numbers.
func (e *Edit) number(hooks xtables.HookMask) {
	for i := range e.handles.Builtins {
		if hooks&(1<<i) != 0 && e.handles.Builtins[i] == 0 {
			e.handles.Builtins[i] = e.nextHandle()
		}
	}
}

// Handle is the table's number in nf_tables; 0 for one of the legacy tools.
func (t *Table) Handle() uint64 { return t.handles.Table }

// NumberTable gives a table of the nft tools that nobody reads yet its number, if it has none.
func (t *Table) NumberTable(next func() uint64) {
	if t.handles.Table == 0 {
		t.handles.Table = next()
	}
}

// ChainHandle is the number of one of the table's chains in it.
func (t *Table) ChainHandle(c *Chain) uint64 {
	if h, is := netfilter.HookOf(c.Name); is && t.kind.hooks&(1<<h) != 0 {
		return t.handles.Builtins[h]
	}
	return c.handle
}

// HookOf is the hook and priority of a built-in chain of a table of the nft tools that packets meet; false for other chains.
func (t *Table) HookOf(chain string) (netfilter.Hook, netfilter.Priority, bool) {
	h, priority, is := t.kind.Hooking(chain)
	return h, priority, is && t.made&(1<<h) != 0
}
