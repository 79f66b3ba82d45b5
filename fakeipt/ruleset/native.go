package ruleset

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Native is a table as the kernel of nf_tables has it, all of whose rules are rules of iptables.
type Native struct {
	Handle, Last uint64 // the table's own, and the last one that it gave
	Chains       []NativeChain
}

// NativeChain is a chain of such a table.
type NativeChain struct {
	Name         string
	Policy       Policy // PolicyNone for a chain that is not built in
	Handle, Turn uint64
	Rules        []*xtables.Rule
}

// FromNative makes a table of the nft tools of what the kernel has. What the ruleset has of it already stays the same. It is nil if the
// tools could not have made such a table.
func (rs *Ruleset) FromNative(kind *Kind, n *Native, in *Surroundings) *Table {
	old := rs.Table(kind.Name)
	if old != nil && old.handles.Table != n.Handle {
		rs, old = rs.Without(kind), nil
	}
	e := rs.Edit(kind, len(n.Chains), in)
	e.Touch()
	for c := range e.Base.Chains() {
		if !slices.ContainsFunc(n.Chains, func(has NativeChain) bool { return has.Name == c.Name }) {
			e.lose(e.SlotOf(c.Name))
		}
	}
	for i := range n.Chains {
		e.take(&n.Chains[i])
	}
	e.handles.Table, e.handles.Last = n.Handle, n.Last
	if old != nil && len(e.opened) == 0 && e.handles == old.handles {
		return old
	}
	if e.update() != 0 {
		return nil
	}
	t := e.build()
	for _, c := range n.Chains {
		if h, is := netfilter.HookOf(c.Name); is && t.made&(1<<h) != 0 {
			t.registered[h] = c.Turn
		}
	}
	return t
}

// lose takes a chain away that the kernel has no more. A built-in one looks as if it had never been used.
func (e *Edit) lose(s *Slot) {
	switch {
	case s.Hook == 0:
		e.FlushChain(s)
		s.Live = false
	case e.Made&s.Hook != 0:
		e.FlushChain(s)
		e.Made &^= s.Hook
		e.Counted &^= s.Hook
		e.handles.forget(s.Hook)
		s.policy, s.Counters = PolicyAccept, nil
	}
}

// take makes a chain what the kernel has.
func (e *Edit) take(c *NativeChain) {
	s := e.SlotOf(c.Name)
	handle := &s.handle
	if s.Hook != 0 {
		h, _ := netfilter.HookOf(c.Name)
		handle = &e.handles.Builtins[h]
	}
	if s.Live && s.base != nil && s.Hook&^e.Made == 0 && slices.Equal(s.base.chain.Rules, c.Rules) && s.base.chain.Policy == c.Policy &&
		(s.Hook == 0 && s.base.chain.handle == c.Handle || s.Hook != 0 && *handle == c.Handle) {
		return
	}
	e.FlushChain(s)
	s.Live, s.rules, s.owned, s.policy = true, c.Rules, false, c.Policy
	*handle = c.Handle
	e.Made |= s.Hook
	for _, r := range c.Rules {
		e.count(r, 1)
	}
}

// Hooking is the hook and priority that a built-in chain of the table has in the nft tools; false for other chains.
func (k *Kind) Hooking(chain string) (netfilter.Hook, netfilter.Priority, bool) {
	h, is := netfilter.HookOf(chain)
	if !is || k.hooks&(1<<h) == 0 {
		return 0, 0, false
	}
	return h, k.priorityAt(h, netfilter.NFT), true
}

// LastHandle is the last handle that was given to something in a table of the nft tools.
func (t *Table) LastHandle() uint64 { return t.handles.Last }

// WithLastHandle is the table when more handles have been given in it.
func (t *Table) WithLastHandle(last uint64) *Table {
	n := *t
	n.id = &TableID{}
	n.handles.Last = max(n.handles.Last, last)
	return &n
}
