package fakenft

import (
	"github.com/chainwalk/chainwalk/fakenft/check"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// world is what nft knows while it evaluates commands: the kernel's tables as far as it has asked for them, and the machine. It is a
// check.World.
type world struct {
	run  *run
	need need
}

var _ check.World = (*world)(nil)

// Tables are the tables that were asked for.
func (w *world) Tables() []check.TableName {
	if !w.need.tables {
		return nil
	}
	var names []check.TableName
	for _, t := range w.run.view.Tables() {
		if only := w.need.only; only != nil && (only.Table != t.Name || only.Family != t.Family) {
			continue
		}
		names = append(names, check.TableName{Family: t.Family, Name: t.Name})
	}
	return names
}

func (w *world) table(name check.TableName) *nftables.Table {
	return w.run.view.Table(name.Family, name.Name)
}

// Chains are the names of a table's chains.
func (w *world) Chains(of check.TableName) []string {
	t := w.table(of)
	if t == nil || !w.need.chains {
		return nil
	}
	var names []string
	for _, c := range t.Chains() {
		if c.Flags&nftables.ChainBinding == 0 && w.HasChain(of, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// HasChain says whether a table has a chain.
func (w *world) HasChain(of check.TableName, name string) bool {
	if only := w.need.only; !w.need.chains || only != nil && only.Chain != "" && only.Chain != name {
		return false
	}
	t := w.table(of)
	return t != nil && t.Chain(name) != nil
}

// Objects are a table's named objects.
func (w *world) Objects(of check.TableName) []check.Object {
	t := w.table(of)
	if t == nil || !w.need.objects {
		return nil
	}
	var objects []check.Object
	for _, o := range t.Objects() {
		objects = append(objects, check.Object{Type: o.Type, Name: o.Name})
	}
	return objects
}

// Flowtables are the names of a table's flowtables.
func (w *world) Flowtables(of check.TableName) []string {
	t := w.table(of)
	if t == nil || !w.need.flows {
		return nil
	}
	var names []string
	for _, f := range t.Flowtables() {
		names = append(names, f.Name)
	}
	return names
}

// SetNames are the names of a table's sets and maps.
func (w *world) SetNames(of check.TableName) []string {
	t := w.table(of)
	if t == nil || !w.need.sets {
		return nil
	}
	var names []string
	for _, s := range t.Sets() {
		if s.Flags&nftables.SetAnonymous == 0 && w.sees(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (w *world) sees(set string) bool {
	only := w.need.only
	return w.need.sets && (only == nil || only.Name == "" || only.Name == set)
}

// Set is a set or map without its elements.
func (w *world) Set(of check.TableName, name string) *syntax.SetDecl {
	t := w.table(of)
	if t == nil || !w.sees(name) {
		return nil
	}
	s := t.Set(name)
	if s == nil {
		return nil
	}
	return w.run.setDecl(t, s, false)
}

// Elements are the elements of a set with intervals.
func (w *world) Elements(of check.TableName, name string) []syntax.Expr {
	t := w.table(of)
	if t == nil || !w.need.elements || !w.sees(name) || w.need.flushed[setName{of, name}] {
		return nil
	}
	s := t.Set(name)
	if s == nil {
		return nil
	}
	items := elementsOf(w.run.setDecl(t, s, true))
	for i, item := range items {
		items[i] = ranged(item)
	}
	return items
}

// Rules are the handles of a chain's rules.
func (w *world) Rules(of check.TableName, chain string) []uint64 {
	t := w.table(of)
	if t == nil || !w.need.rules {
		return nil
	}
	c := t.Chain(chain)
	if c == nil {
		return nil
	}
	handles := make([]uint64, len(c.Rules))
	for i, r := range c.Rules {
		handles[i] = r.Handle
	}
	return handles
}

// Device is the number of a device.
func (w *world) Device(name string) (uint32, bool) { return w.run.tools.device(name) }

// Names are the names of the C library.
func (w *world) Names() *libc.Names { return w.run.libcNames() }
