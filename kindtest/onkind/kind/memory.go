package kind

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// memory are the lists by which the nodes remember clients (session affinity). What a connection that is not kept leaves in them is taken
// back, and what is too old by the scenario's clock is taken out: the kernel's own cannot be moved.
type memory struct {
	backend *Backend
	now     time.Duration
	seen    map[remembered]time.Duration // when a kept connection was remembered last
}

// clientLists are the lists of one node, which are kept as the mode of its proxy has it. Those of both families are read and changed
// together.
type clientLists interface {
	// read says which clients the lists have, and when each was renewed.
	read(ctx context.Context, r relay) (map[listed]moment, error)
	// keepOnly takes all clients out of the lists but these.
	keepOnly(ctx context.Context, r relay, these []listed) error
	// remove takes clients out of the lists.
	remove(ctx context.Context, r relay, these []listed) error
	// lasts is how long each list remembers a client.
	lasts(ctx context.Context, r relay) (map[string]time.Duration, error)
}

// listed is a client in a list, remembered one on a node.
type (
	listed     struct{ list, client string }
	remembered struct {
		node string
		listed
	}
)

// moment is a time of a node's kernel, in units of its own; as exact as vague says.
type moment struct{ at, vague int64 }

// is reports whether two are the same, as far as they can be told apart.
func (m moment) is(other moment) bool {
	return max(m.at-other.at, other.at-m.at) <= max(m.vague, other.vague)
}

func newMemory(b *Backend) *memory {
	return &memory{backend: b, seen: map[remembered]time.Duration{}}
}

// lists are those of the mode that the proxies have now.
func (m *memory) lists() clientLists {
	if m.backend.facts.Mode == modeNFTables {
		return affinitySets{}
	}
	return recentLists{}
}

// entries are the entries of nodes, with the time of their renewal.
func (m *memory) entries(ctx context.Context, nodes []string) (map[remembered]moment, error) {
	out := map[remembered]moment{}
	var mu sync.Mutex
	err := together(nodes, func(node string) error {
		found, err := m.lists().read(ctx, m.backend.relays[node])
		mu.Lock()
		defer mu.Unlock()
		for entry, renewed := range found {
			out[remembered{node, entry}] = renewed
		}
		return err
	})
	return out, err
}

// Clients are the addresses in a node's lists of the match recent, by list.
func (b *Backend) Clients(ctx context.Context, node string) (map[string][]netip.Addr, error) {
	entries, err := recentLists{}.read(ctx, b.relays[node])
	out := map[string][]netip.Addr{}
	for entry := range entries {
		out[entry.list] = append(out[entry.list], parse(entry.client))
	}
	for _, clients := range out {
		slices.SortFunc(clients, netip.Addr.Compare)
	}
	return out, err
}

// forget takes out of the lists of nodes what was not there before.
func (m *memory) forget(ctx context.Context, nodes []string, before map[remembered]moment) error {
	return together(nodes, func(node string) error {
		var these []listed
		for entry := range before {
			if entry.node == node {
				these = append(these, entry.listed)
			}
		}
		return m.lists().keepOnly(ctx, m.backend.relays[node], these)
	})
}

// note remembers which entries a kept connection has made or renewed on nodes.
func (m *memory) note(ctx context.Context, nodes []string, before map[remembered]moment) error {
	now, err := m.entries(ctx, nodes)
	if err != nil {
		return err
	}
	for entry, renewed := range now {
		if was, known := before[entry]; !known || !renewed.is(was) {
			m.seen[entry] = m.now
		}
	}
	return nil
}

// advance moves the scenario's clock, and takes out what rules would not find any more.
func (m *memory) advance(ctx context.Context, d time.Duration) error {
	m.now += d
	nodes := map[string][]remembered{}
	for entry := range m.seen {
		nodes[entry.node] = append(nodes[entry.node], entry)
	}
	var mu sync.Mutex
	return together(sorted(nodes), func(node string) error {
		lasts, err := m.lists().lasts(ctx, m.backend.relays[node])
		if err != nil {
			return err
		}
		mu.Lock()
		var old []listed
		for _, entry := range nodes[node] {
			if last, known := lasts[entry.list]; known && m.now-m.seen[entry] >= last {
				old = append(old, entry.listed)
				delete(m.seen, entry)
			}
		}
		mu.Unlock()
		if len(old) == 0 {
			return nil
		}
		return m.lists().remove(ctx, m.backend.relays[node], old)
	})
}
