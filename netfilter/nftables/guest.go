package nftables

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Guest is a tool of another language that keeps tables of nf_tables in a form of its own, as iptables-nft does: it joins the namespace
// beside the Kernel. What walks packets asks it for its rules (netfilter.Tools), so that a State has none of these tables; nft shows them
// all the same. The namespace is locked when one of the methods is called.
type Guest interface {
	netfilter.Tools
	// GuestTables are the tables for reading. Those that have not changed are the same pointers.
	GuestTables() []*Table
	// DeleteTable takes one of them away.
	DeleteTable(f Family, name string)
	// FlushTable takes the rules of all its chains away.
	FlushTable(f Family, name string)
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

// GuestTable is a table of a Guest, with its chains by their handles. The chains are the table's from then on.
func GuestTable(spec TableSpec, handle uint64, chains []*Chain) *Table {
	t := newTable(spec, handle)
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
