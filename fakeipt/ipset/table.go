package ipset

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/bits"
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

// create makes a set.
func (t *Table) create(name string, kind *setType, o options) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.sets[name] != nil {
		return errExists
	}
	if kind.hash() {
		o.hashSize = uint32(1) << bits.Len32(max(o.hashSize, minHashSize)-1)
		if o.initVal == 0 {
			// The kernel draws this number; the same name always gets the same one here.
			h := fnv.New32a()
			_, _ = h.Write([]byte(name))
			o.initVal = h.Sum32()
		}
	}
	s := &set{name: name, kind: kind, options: o, entries: map[key]*entry{}, clock: t.clock}
	for s.slot < len(t.order) && t.order[s.slot].slot == s.slot {
		s.slot++
	}
	t.sets[name] = s
	t.order = slices.Insert(t.order, s.slot, s)
	return nil
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

// swap changes the contents of two sets of one type and family.
func (t *Table) swap(a, b string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	x, y := t.sets[a], t.sets[b]
	switch {
	case x == nil:
		return errMissing
	case y == nil:
		return errSwapMissing
	case x.kind != y.kind || x.options.family != y.options.family:
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
	s.entries, s.order, s.prefixes = map[key]*entry{}, nil, [129]int{}
}

// Save writes every set as "ipset save" prints it.
func (t *Table) Save(w io.Writer) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	var text []byte
	for _, s := range t.dumped() {
		text = s.appendSave(text, false)
	}
	_, err := w.Write(text)
	return err
}
