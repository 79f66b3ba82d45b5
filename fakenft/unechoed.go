package fakenft

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// unechoed names what nft would echo in a way that is not imitated: it looks up sets and tables among those that it knows when all is done,
// and warns of those that it does not find, or takes another one of that name.
func (r *run) unechoed(changes []nftables.Change) string {
	if !r.echo || r.check {
		return ""
	}
	type named struct {
		family      nftables.Family
		table, name string
	}
	used := map[named]bool{} // sets that got elements or that rules name; tables, without a name, that got rules or sets
	use := func(f nftables.Family, table, name string) {
		used[named{f, table, name}], used[named{f, table, ""}] = true, true
	}
	for _, change := range changes {
		switch c := change.(type) {
		case *nftables.AddSet:
			used[named{c.Family, c.Table, ""}] = true
		case *nftables.AddElements:
			use(c.Family, c.Table, c.Set)
		case *nftables.AddRule:
			use(c.Family, c.Table, "")
			for _, e := range c.Exprs {
				use(c.Family, c.Table, setOf(e))
			}
		case *nftables.DeleteSet:
			if used[named{c.Family, c.Table, r.setNamed(c)}] {
				return "-e/--echo of elements or rules of a set that is deleted again"
			}
		case *nftables.DeleteTable:
			for is := range used {
				if is.name == "" && r.deletes(c, is.family, is.table) {
					return "-e/--echo of rules or sets of a table that is deleted again"
				}
			}
		}
	}
	return ""
}

// setOf is the set that an expression names; empty if it names none.
func setOf(e expr.Expr) string {
	switch e := e.(type) {
	case *expr.Lookup:
		return e.Set
	case *expr.Dynset:
		return e.Set
	case *expr.Objref:
		return e.Set
	}
	return ""
}

// setNamed is the name of a set that is deleted, perhaps by its handle.
func (r *run) setNamed(c *nftables.DeleteSet) string {
	if t := r.view.Table(c.Family, c.Table); c.Handle != 0 && t != nil {
		for _, s := range t.Sets() {
			if s.Handle == c.Handle {
				return s.Name
			}
		}
	}
	return c.Name
}

// deletes says whether a change deletes a table.
func (r *run) deletes(c *nftables.DeleteTable, f nftables.Family, table string) bool {
	if c.Family != 0 && c.Family != f {
		return false
	}
	if c.Handle != 0 {
		t := r.view.Table(f, table)
		return t != nil && t.Handle == c.Handle
	}
	return c.Name == "" || c.Name == table
}
