package ipset

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"

	"k8s.io/utils/clock"
)

// Table is the sets of one network namespace. It is safe for concurrent use.
type Table struct {
	lock  sync.RWMutex
	sets  map[string]*set
	order []*set // by slot
	clock clock.PassiveClock
}

// NewTable returns a table without sets, whose entries expire by the clock.
func NewTable(c clock.PassiveClock) *Table {
	return &Table{sets: map[string]*set{}, clock: c}
}

// Has reports whether there is a set of that name.
func (t *Table) Has(name string) bool { return t.find(name) != nil }

// Family is the family of the set of that name, 0 if its type has none. ok is false if there is no such set.
func (t *Table) Family(name string) (f Family, ok bool) {
	s := t.find(name)
	if s == nil {
		return 0, false
	}
	return s.options.family, true
}

func (t *Table) find(name string) *set {
	t.lock.RLock()
	defer t.lock.RUnlock()
	return t.sets[name]
}

// names are the names of the sets, in the kernel's order.
func (t *Table) names() []string {
	t.lock.RLock()
	defer t.lock.RUnlock()
	names := make([]string, len(t.order))
	for i, s := range t.order {
		names[i] = s.name
	}
	return names
}

// dumped are the sets in the order in which the kernel tells them: sets of sets come last. The caller holds the lock.
func (t *Table) dumped() []*set {
	sets := slices.Clone(t.order)
	slices.SortStableFunc(sets, func(a, b *set) int {
		return cmp.Compare(btoi(a.kind == listSet), btoi(b.kind == listSet))
	})
	return sets
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// create makes a set. An error that says so leaves one that is there as it was; with exist it is none, if the two are the same.
func (t *Table) create(m *message, exist bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	o, err := m.options()
	if err != nil {
		return err
	}
	if old := t.sets[m.name]; old != nil {
		if exist && old.kind == m.kind && old.options.same(o) {
			return nil
		}
		return errExists
	}
	if m.kind.hash() && !m.has(optInitVal) {
		// The kernel draws this number; the same name always gets the same one here.
		h := fnv.New32a()
		_, _ = h.Write([]byte(m.name))
		o.initVal = h.Sum32()
	}
	t.insert(newSet(m.name, m.kind, o, t.clock))
	return nil
}

// newSet is a set without entries.
func newSet(name string, kind *setType, o options, c clock.PassiveClock) *set {
	s := &set{name: name, kind: kind, options: o, entries: map[key]*entry{}, clock: c}
	if kind.hash() {
		s.table = newHashTable(&o)
	}
	return s
}

// insert gives a set the first free slot.
func (t *Table) insert(s *set) {
	for s.slot < len(t.order) && t.order[s.slot].slot == s.slot {
		s.slot++
	}
	t.sets[s.name] = s
	t.order = slices.Insert(t.order, s.slot, s)
}

func (t *Table) destroy(name string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.sets, name)
	t.order = slices.DeleteFunc(t.order, func(s *set) bool { return s.name == name })
}

func (t *Table) rename(from, to string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	s := t.sets[from]
	if t.sets[to] != nil {
		return errRenameExists
	}
	delete(t.sets, from)
	s.name = to
	t.sets[to] = s
	return nil
}

// swap changes the contents of two sets of one family and of elements that are made alike.
func (t *Table) swap(a, b string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	x, y := t.sets[a], t.sets[b]
	switch {
	case x == nil:
		return errMissing
	case y == nil:
		return errSwapMissing
	case !x.kind.sameFeatures(y.kind) || x.options.family != y.options.family:
		return errSwapType
	}
	x.name, y.name = b, a
	t.sets[a], t.sets[b] = y, x
	i, j := slices.Index(t.order, x), slices.Index(t.order, y)
	t.order[i], t.order[j] = y, x
	x.slot, y.slot = y.slot, x.slot
	return nil
}

func (t *Table) flush(s *set) {
	t.lock.Lock()
	defer t.lock.Unlock()
	s.flush()
}
