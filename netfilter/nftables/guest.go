package nftables

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Guest is a tool of another language that keeps tables of nf_tables in a form of its own, as iptables-nft does: it joins the namespace
// beside the Kernel. What walks packets asks it for its rules (netfilter.Tools), so that a State has none of these tables; nft shows them
// all the same. A transaction that is about such a table makes it the kernel's own, and gives it back if the guest can still hold it.
// The namespace is locked when one of the methods is called.
type Guest interface {
	netfilter.Tools
	// GuestTables are the tables for reading. Those that have not changed are the same pointers.
	GuestTables() []*Table
	// Hold makes a table as a transaction has left it one of the guest's, and says whether it can.
	Hold(t *Table) bool
	// Drop takes one of the tables away, which is deleted or the kernel's from now on.
	Drop(f Family, name string)
	// Count says the last handle that was given in one of the tables, by a transaction that was undone.
	Count(f Family, name string, handle uint64)
}

// guestTable is a table of a guest.
type guestTable struct {
	table *Table
	of    Guest
}

// Guests are the tools in the kernel's namespace that keep tables of their own.
func (k *Kernel) Guests() []Guest {
	if k.space == nil {
		return nil
	}
	var guests []Guest
	for _, t := range k.space.Tools() {
		if g, is := t.(Guest); is {
			guests = append(guests, g)
		}
	}
	return guests
}

func (k *Kernel) guestTables() []guestTable {
	var all []guestTable
	for _, g := range k.Guests() {
		for _, t := range g.GuestTables() {
			all = append(all, guestTable{t, g})
		}
	}
	return all
}

// GuestTable is a table of a Guest, with its chains by their handles, in which last was the last handle that was given. The chains are
// the table's from then on.
func GuestTable(spec TableSpec, handle, last uint64, chains []*Chain) *Table {
	t := newTable(spec, handle)
	t.handle = last
	slices.SortStableFunc(chains, func(a, b *Chain) int { return cmp.Compare(a.Handle, b.Handle) })
	t.chains = t.chains.Edit(len(chains))
	t.chainList = t.chainList.Edit()
	for _, c := range chains {
		t.chains.Put(c.Name, chainEntry{chain: c})
		t.chainList.Append(c)
		if c.Hooking != nil {
			t.bases = append(t.bases, c)
		}
	}
	return t
}

// LastHandle is the last handle that was given to something in the table.
func (t *Table) LastHandle() uint64 { return t.handle }

// adopt makes a table of a guest the kernel's, and gives its place in tables.
func (tx *transaction) adopt(f Family, name string) (at int, found bool) {
	i := slices.IndexFunc(tx.guests, func(g guestTable) bool { return g.table.Family == f && g.table.Name == name })
	if i < 0 {
		return 0, false
	}
	given := tx.guests[i].table
	tx.guests = slices.Delete(slices.Clone(tx.guests), i, i+1)
	handle, nextTurn := tx.handle, tx.kernel.nextTurn
	r := &restoring{tx: tx}
	tx.kernel.nextTurn = func() uint64 { return r.turn }
	tx.adopts = true
	defer func() { tx.handle, tx.kernel.nextTurn, tx.adopts = handle, nextTurn, false }()
	saved := given.saved()
	if err := r.table(&saved); err != nil {
		tx.failed = fmt.Errorf("table %s %s: %w", f, name, err)
		return 0, false
	}
	table := tx.table(f, name)
	for _, c := range given.Chains() {
		for k, rule := range table.Chain(c.Name).Rules {
			rule.Origin = c.Rules[k].Origin
		}
	}
	return findTable(tx.tables, f, name)
}

// settle gives tables of a new state back to guests that can hold them, and takes those from guests that they have no more.
func (tx *transaction) settle(s *State) *State {
	guests := tx.kernel.Guests()
	if len(guests) == 0 {
		return s
	}
	var lent []guestTable
	for _, g := range tx.kernel.guestTables() {
		switch {
		case slices.Contains(tx.guests, g):
		case tx.left(g.table):
			lent = append(lent, g)
		default:
			g.of.Drop(g.table.Family, g.table.Name)
		}
	}
	var held []*Table
	for _, e := range tx.edits {
		if !e.deleted && slices.ContainsFunc(guests, func(g Guest) bool { return g.Hold(e.Table) }) {
			held = append(held, e.Table)
		}
	}
	for _, g := range lent {
		if !slices.ContainsFunc(held, func(t *Table) bool { return t.Handle == g.table.Handle }) {
			g.of.Drop(g.table.Family, g.table.Name)
		}
	}
	if len(held) == 0 {
		return s
	}
	rest := slices.DeleteFunc(slices.Clone(s.tables), func(t *Table) bool { return slices.Contains(held, t) })
	return (&State{Generation: s.Generation, tables: rest}).sealed()
}

// left says whether the transaction has left a table of a guest in the kernel.
func (tx *transaction) left(t *Table) bool {
	return slices.ContainsFunc(tx.edits, func(e *tableEdit) bool { return !e.deleted && e.Handle == t.Handle })
}

// handBack tells guests which handles a transaction has used up in their tables that was undone.
func (tx *transaction) handBack() {
	for _, e := range tx.edits {
		for _, g := range tx.kernel.guestTables() {
			if g.table.Handle == e.Handle && g.table.Family == e.Family && g.table.Name == e.Name {
				g.of.Count(e.Family, e.Name, e.handle)
			}
		}
	}
}

// nextTable is the handle of a table that the transaction makes.
func (tx *transaction) nextTable() uint64 {
	if tx.handle != 0 {
		return tx.handle
	}
	return tx.kernel.nextTable()
}

// nextTable is the handle of a table that is made now: greater than those of all others in the namespace.
func (k *Kernel) nextTable() uint64 {
	if k.space == nil {
		k.tableHandle++
		return k.tableHandle
	}
	k.space.PassTable(k.tableHandle)
	k.tableHandle = k.space.NextTable()
	return k.tableHandle
}
