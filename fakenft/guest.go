package fakenft

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// guest is a table that other tools of the namespace keep.
type guest struct {
	*nftables.Table
	of nftables.Guest
}

// guests are the tables that other tools keep, as they are now.
func (t *Tools) guests() []guest {
	var all []guest
	for _, g := range t.kernel.Guests() {
		for _, table := range g.GuestTables() {
			all = append(all, guest{table, g})
		}
	}
	return all
}

// allTables are the kernel's tables and those of guests, in the order in which they were made.
func (r *run) allTables() []*nftables.Table {
	tables := r.state.Tables()
	if len(r.guests) == 0 {
		return tables
	}
	for _, g := range r.guests {
		tables = append(tables, g.Table)
	}
	slices.SortStableFunc(tables, func(a, b *nftables.Table) int { return cmp.Compare(a.Handle, b.Handle) })
	return tables
}

// tableNamed is a table of the kernel or of a guest; nil if there is none.
func (r *run) tableNamed(f nftables.Family, name string) *nftables.Table {
	if t := r.state.Table(f, name); t != nil {
		return t
	}
	for _, g := range r.guests {
		if g.Family == f && g.Name == name {
			return g.Table
		}
	}
	return nil
}

// visit is what a transaction does to the tables of guests.
type visit struct {
	left []guest // those that are still there
	do   []func()
}

// take takes the changes of guests' tables away from the requests. It says why the transaction cannot be carried out: what nft would change
// in such a table is not imitated, but for taking it or its rules away.
func (v *visit) take(requests []request) (rest []request, wrong *syntax.Mistake) {
	if len(v.left) == 0 {
		return requests, nil
	}
	for _, one := range requests {
		forKernel, mistake := v.change(&one)
		if mistake != nil {
			return nil, mistake
		}
		if forKernel {
			rest = append(rest, one)
		}
	}
	return rest, nil
}

// change notes what a change does to guests' tables. It says whether the kernel is to be asked for it.
func (v *visit) change(one *request) (forKernel bool, wrong *syntax.Mistake) {
	if d, is := one.Change.(*nftables.DeleteTable); is {
		return v.delete(d), nil
	}
	f, name := tableOfChange(one.Change)
	i := slices.IndexFunc(v.left, func(g guest) bool { return g.Family == f && g.Name == name })
	if i < 0 {
		return true, nil
	}
	g := v.left[i]
	switch c := one.Change.(type) {
	case *nftables.AddTable:
		if !c.Exclusive && c.Flags == 0 {
			return false, nil
		}
		if c.Exclusive {
			return false, syntax.Wrong("Could not process rule: File exists", one.Places(nftables.PartTable, 0))
		}
	case *nftables.DeleteRule:
		if c.Chain == "" && c.Handle == 0 {
			v.do = append(v.do, func() { g.of.FlushTable(f, name) })
			return false, nil
		}
	}
	return false, syntax.Wrong(fmt.Sprintf("chainwalk does not support changes by nft of tables that iptables-nft made: table %s %s", f, name),
		one.command.Loc)
}

// delete deletes tables of guests. It asks the kernel as well, unless the command names one table, and the kernel does not have it.
func (v *visit) delete(d *nftables.DeleteTable) (forKernel bool) {
	every := d.Name == "" && d.Handle == 0
	forKernel = true
	v.left = slices.DeleteFunc(v.left, func(g guest) bool {
		meant := every || d.Handle == 0 && g.Name == d.Name || d.Handle != 0 && g.Handle == d.Handle
		if !meant || d.Family != 0 && g.Family != d.Family {
			return false
		}
		f, name := g.Family, g.Name
		v.do = append(v.do, func() { g.of.DeleteTable(f, name) })
		forKernel = every
		return true
	})
	return forKernel
}

// tableOfChange is the table that a change is about.
func tableOfChange(change nftables.Change) (nftables.Family, string) {
	switch c := change.(type) {
	case *nftables.AddTable:
		return c.Family, c.Name
	case *nftables.AddChain:
		return c.Family, c.Table
	case *nftables.DeleteChain:
		return c.Family, c.Table
	case *nftables.AddRule:
		return c.Family, c.Table
	case *nftables.DeleteRule:
		return c.Family, c.Table
	case *nftables.AddSet:
		return c.Family, c.Table
	case *nftables.DeleteSet:
		return c.Family, c.Table
	case *nftables.AddElements:
		return c.Family, c.Table
	case *nftables.DeleteElements:
		return c.Family, c.Table
	case *nftables.AddObject:
		return c.Family, c.Table
	case *nftables.DeleteObject:
		return c.Family, c.Table
	case *nftables.AddFlowtable:
		return c.Family, c.Table
	case *nftables.DeleteFlowtable:
		return c.Family, c.Table
	}
	return 0, ""
}
