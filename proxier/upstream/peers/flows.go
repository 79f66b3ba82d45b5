package peers

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// Flows are the UDP connections that a peer's node knows.
type Flows struct {
	entries map[v1.IPFamily][]conntrack.Entry
	looked  map[v1.IPFamily]bool
	deleted map[v1.IPFamily][]conntrack.Entry
}

var _ conntrack.Table = (*Flows)(nil)

func newFlows() *Flows {
	return &Flows{
		entries: map[v1.IPFamily][]conntrack.Entry{}, looked: map[v1.IPFamily]bool{}, deleted: map[v1.IPFamily][]conntrack.Entry{},
	}
}

// Set gives the node these connections, and forgets who looked at those before.
func (f *Flows) Set(family v1.IPFamily, entries []conntrack.Entry) {
	f.entries[family], f.looked[family], f.deleted[family] = slices.Clone(entries), false, nil
}

// Looked says whether the proxier has listed the connections since they were set.
func (f *Flows) Looked(family v1.IPFamily) bool { return f.looked[family] }

// Deleted are the flows that it has deleted since, as they were listed.
func (f *Flows) Deleted(family v1.IPFamily) []conntrack.Entry { return f.deleted[family] }

// Walk implements conntrack.Table.
func (f *Flows) Walk(family v1.IPFamily, visit func(conntrack.Entry)) error {
	f.looked[family] = true
	for _, e := range f.entries[family] {
		visit(e)
	}
	return nil
}

// Delete implements conntrack.Table.
func (f *Flows) Delete(family v1.IPFamily, entries []conntrack.Entry) (int, error) {
	before := len(f.entries[family])
	f.entries[family] = slices.DeleteFunc(f.entries[family], func(e conntrack.Entry) bool {
		gone := slices.Contains(entries, e)
		if gone {
			f.deleted[family] = append(f.deleted[family], e)
		}
		return gone
	})
	return before - len(f.entries[family]), nil
}
