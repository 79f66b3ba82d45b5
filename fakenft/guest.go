package fakenft

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// view is all tables of a namespace at one moment: the kernel's, and those that other tools keep.
type view struct {
	state  *nftables.State
	guests []*nftables.Table
}

// view is what is there now.
func (t *Tools) view() view {
	v := view{state: t.kernel.State()}
	for _, g := range t.kernel.Guests() {
		v.guests = append(v.guests, g.GuestTables()...)
	}
	return v
}

// Tables are all tables in the order in which they were made.
func (v *view) Tables() []*nftables.Table {
	tables := v.state.Tables()
	if len(v.guests) == 0 {
		return tables
	}
	tables = append(tables, v.guests...)
	slices.SortStableFunc(tables, func(a, b *nftables.Table) int { return cmp.Compare(a.Handle, b.Handle) })
	return tables
}

// Table is a table by its name; nil if there is none.
func (v *view) Table(f nftables.Family, name string) *nftables.Table {
	if t := v.state.Table(f, name); t != nil {
		return t
	}
	for _, t := range v.guests {
		if t.Family == f && t.Name == name {
			return t
		}
	}
	return nil
}
