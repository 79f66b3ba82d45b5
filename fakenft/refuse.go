package fakenft

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakenft/misspell"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// refused prints why the kernel has not taken a change, at the place of what it is about.
func (r *run) refused(all []*syntax.Command, change nftables.Change, refusal *nftables.Refusal, at syntax.Loc) {
	text := "Could not process rule: " + libc.Strerror(refusal.Errno)
	if refusal.Errno == syscall.ENOENT {
		if meant := r.meant(all, change, refusal.Part); meant != "" {
			text = libc.Strerror(refusal.Errno) + "; did you mean " + meant + "?"
		}
	}
	r.mistake(syntax.Wrong(text, at))
}

// named is something that a table has, by its name.
type named struct {
	table      tableName
	name, word string
	kind       expr.ObjectType // of an object
}

// tableName is a table.
type tableName struct {
	family nftables.Family
	name   string
}

// meant is the table, chain, set or object that somebody may have meant who named one that is not there; empty if nft suggests nothing
// (nft_cmd_error in src/cmd.c).
func (r *run) meant(all []*syntax.Command, change nftables.Change, part nftables.Part) string {
	known := r.known(all)
	var found *named
	switch c := change.(type) {
	case *nftables.DeleteTable:
		found = nearest(known.tables, c.Name)
		part = nftables.PartTable
	case *nftables.AddChain:
		if c.Handle != 0 || c.Chain.Flags&nftables.ChainBinding != 0 {
			return "" // a chain that is renamed, or has no name
		}
		found = nearest(known.chains, c.Chain.Name)
	case *nftables.DeleteChain:
		found = nearest(known.chains, c.Name)
	case *nftables.AddRule:
		if part == nftables.PartPlace || c.ChainID != 0 {
			return ""
		}
		if found = nearest(known.chains, c.Chain); found != nil && found.name == c.Chain && part != nftables.PartTable {
			return ""
		}
	case *nftables.DeleteRule:
		if c.Chain == "" { // flush table
			found = nearest(known.tables, c.Table)
			part = nftables.PartTable
			break
		}
		if found = nearest(known.chains, c.Chain); found != nil && found.name == c.Chain && c.Handle != 0 && part != nftables.PartTable {
			return ""
		}
	case *nftables.DeleteSet:
		found = nearest(known.sets, c.Name)
	case *nftables.DeleteObject:
		found = nearest(known.objects, c.Name)
	}
	switch {
	case found == nil:
		return ""
	case part == nftables.PartTable:
		return fmt.Sprintf("table ‘%s’ in family %s", found.table.name, found.table.family)
	}
	return fmt.Sprintf("%s ‘%s’ in table %s ‘%s’", found.word, found.name, found.table.family, found.table.name)
}

// nearest is the one whose name is nearest; nil if none is near. Names of one letter are near nothing, not even themselves.
func nearest(among []named, name string) (found *named) {
	search := misspell.Search{Want: name}
	for i := range among {
		if search.Try(among[i].name) {
			found = &among[i]
		}
	}
	return found
}

// names are what nft knows when the kernel answers: what was there and what the commands have added.
type names struct{ tables, chains, sets, objects []named }

func (r *run) known(commands []*syntax.Command) *names {
	n := &names{}
	need := r.need
	for _, t := range r.view.Tables() {
		in := tableName{t.Family, t.Name}
		if need.tables {
			n.tables = append(n.tables, named{table: in, name: t.Name, word: "table"})
		}
		if need.chains {
			for _, c := range t.Chains() {
				if c.Flags&nftables.ChainBinding != 0 {
					continue
				}
				n.chains = append(n.chains, named{table: in, name: c.Name, word: "chain"})
			}
		}
		if need.sets {
			for _, s := range t.Sets() {
				if s.Flags&nftables.SetAnonymous == 0 {
					n.sets = append(n.sets, named{table: in, name: s.Name, word: setWord(s.Flags&(nftables.SetMap|nftables.SetObject) != 0)})
				}
			}
		}
		if need.objects {
			for _, o := range t.Objects() {
				n.objects = append(n.objects, named{in, o.Name, "obj", o.Type})
			}
		}
	}
	for _, c := range commands {
		switch c.Op {
		case syntax.OpAdd, syntax.OpCreate:
			n.add(c)
		case syntax.OpDelete:
			n.remove(c)
		}
	}
	n.sort(r.view.Tables())
	return n
}

// sort puts what tables have into the order of the tables: those of the kernel are first.
func (n *names) sort(kernel []*nftables.Table) {
	places := map[tableName]int{}
	note := func(t tableName) {
		if _, known := places[t]; !known {
			places[t] = len(places)
		}
	}
	for _, t := range kernel {
		note(tableName{t.Family, t.Name})
	}
	for _, t := range n.tables {
		note(t.table)
	}
	for _, list := range [][]named{n.chains, n.sets, n.objects} {
		slices.SortStableFunc(list, func(a, b named) int { return cmp.Compare(places[a.table], places[b.table]) })
	}
}

// remove takes away what a command deletes.
func (n *names) remove(c *syntax.Command) {
	in := tableName{c.Handle.Family, c.Handle.Table}
	without := func(list []named, name string) []named {
		return slices.DeleteFunc(list, func(k named) bool { return k.table == in && k.name == name })
	}
	switch c.Kind {
	case syntax.KindTable:
		for _, list := range []*[]named{&n.tables, &n.chains, &n.sets, &n.objects} {
			*list = slices.DeleteFunc(*list, func(k named) bool { return k.table == in })
		}
	case syntax.KindChain:
		n.chains = without(n.chains, c.Handle.Chain)
	case syntax.KindSet, syntax.KindMap:
		n.sets = without(n.sets, c.Handle.Name)
	default:
		if kind, is := objectKinds[c.Kind]; is {
			gone := named{in, c.Handle.Name, "obj", kind}
			n.objects = slices.DeleteFunc(n.objects, func(k named) bool { return k == gone })
		}
	}
}

func setWord(isMap bool) string {
	if isMap {
		return "map"
	}
	return "set"
}

// add notes what a command makes.
func (n *names) add(c *syntax.Command) {
	in := tableName{c.Handle.Family, c.Handle.Table}
	chain := func(d *syntax.ChainDecl) {
		n.chains = append(n.chains, named{table: in, name: d.Handle.Chain, word: "chain"})
	}
	set := func(d *syntax.SetDecl) {
		n.sets = append(n.sets, named{table: in, name: d.Handle.Name, word: setWord(d.Map)})
	}
	object := func(d *syntax.ObjectDecl) { n.objects = append(n.objects, named{in, d.Handle.Name, "obj", d.Type}) }
	switch {
	case c.Kind == syntax.KindTable:
		n.tables = append(n.tables, named{table: in, name: in.name, word: "table"})
		if c.Table == nil {
			return
		}
		for _, d := range c.Table.Chains {
			chain(d)
		}
		for _, d := range c.Table.Sets {
			set(d)
		}
		for _, d := range c.Table.Objects {
			object(d)
		}
	case c.Kind == syntax.KindChain && c.Chain == nil:
		n.chains = append(n.chains, named{table: in, name: c.Handle.Chain, word: "chain"})
	case c.Kind == syntax.KindChain:
		chain(c.Chain)
	case (c.Kind == syntax.KindSet || c.Kind == syntax.KindMap) && c.Set != nil:
		set(c.Set)
	case c.Object != nil:
		object(c.Object)
	}
}
