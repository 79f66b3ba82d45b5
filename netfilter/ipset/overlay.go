package ipset

import (
	"math"
	"slices"
)

// Overlay is sets as packets have left them, which nobody else sees: what packets add, delete and count lies over the table, or
// over another overlay, until Commit writes it there. Dropping it undoes all of that. It is not safe for concurrent use,
// but the table may be used meanwhile; of the entries that the overlay has changed it goes on to see its own.
//
// Within this package a nil Overlay is the table itself. Its lock is held by whoever calls the methods that are not exported.
type Overlay struct {
	table   *Table
	below   *Overlay
	frozen  bool
	changed map[*set]*changes
}

// changes are what an overlay has of one set.
type changes struct {
	entries map[key]change
	added   []key         // those of the kind entryAdded, in their order
	nets    map[uint8]int // how many entries there are more than below, by the length of their net
}

// change is what became of a key.
type change struct {
	kind           changeKind
	entry          *entry // as it is now, nil if it was removed
	packets, bytes uint64 // that were counted
}

// changeKind is what a Commit does to the key.
type changeKind uint8

const (
	entryCounted  changeKind = iota // counters advance by what was counted
	entryReplaced                   // the entry takes the place of the one that is there
	entryAdded                      // the entry comes last
	entryRemoved
)

// Overlay is a new one over the table.
func (t *Table) Overlay() *Overlay { return &Overlay{table: t} }

// Overlay is a new one over this one, which must not be changed before the new one is committed or dropped.
func (o *Overlay) Overlay() *Overlay { return &Overlay{table: o.table, below: o, frozen: o.frozen} }

// Freeze keeps everybody from changing the sets until thaw is called. All overlays over the one that it gives see the same sets. That one
// cannot be committed.
func (t *Table) Freeze() (frozen *Overlay, thaw func()) {
	t.lock.RLock()
	return &Overlay{table: t, frozen: true}, t.lock.RUnlock
}

// Commit writes the changes to what lies below, and the overlay is empty then.
func (o *Overlay) Commit() {
	switch {
	case o.below == nil:
		o.table.lock.Lock()
		defer o.table.lock.Unlock()
	case !o.frozen:
		o.table.lock.RLock()
		defer o.table.lock.RUnlock()
	}
	for s, c := range o.changed {
		o.below.take(s, c)
	}
	o.changed = nil
}

// take makes the changes of an overlay that lies over this one.
func (o *Overlay) take(s *set, c *changes) {
	for k, change := range c.entries {
		switch change.kind {
		case entryCounted:
			o.count(s, k, change.packets, change.bytes)
		case entryReplaced:
			o.put(s, k, *change.entry)
		case entryAdded, entryRemoved:
			o.remove(s, k)
		}
	}
	for _, k := range c.added {
		o.put(s, k, *c.entries[k].entry)
	}
}

// of are the overlay's changes of a set, to be written to.
func (o *Overlay) of(s *set) *changes {
	c := o.changed[s]
	if c == nil {
		c = &changes{entries: map[key]change{}, nets: map[uint8]int{}}
		if o.changed == nil {
			o.changed = map[*set]*changes{}
		}
		o.changed[s] = c
	}
	return c
}

// entry is the entry of a key, whether its time is over or not; nil if there is none. It is not written to.
func (o *Overlay) entry(s *set, k key) *entry {
	for ; o != nil; o = o.below {
		if c := o.changed[s]; c != nil {
			if change, known := c.entries[k]; known {
				return change.entry
			}
		}
	}
	return s.entries[k]
}

// nets is the number of entries whose net is so long.
func (o *Overlay) nets(s *set, bits uint8) int {
	n := s.prefixes[bits]
	for ; o != nil; o = o.below {
		if c := o.changed[s]; c != nil {
			n += c.nets[bits]
		}
	}
	return n
}

// size is the number of entries.
func (o *Overlay) size(s *set) int {
	n := len(s.entries)
	for ; o != nil; o = o.below {
		if c := o.changed[s]; c != nil {
			for _, more := range c.nets {
				n += more
			}
		}
	}
	return n
}

// put puts an entry in the place of the one that is there, or behind all others.
func (o *Overlay) put(s *set, k key, e entry) {
	if o == nil {
		s.put(k, e)
		return
	}
	before, c := o.entry(s, k), o.of(s)
	kind := entryReplaced
	if before == nil || c.entries[k].kind == entryAdded {
		kind = entryAdded
	}
	e.at.index = math.MaxInt32
	if before == nil {
		c.nets[s.prefixOf(k)]++
		c.added = append(c.added, k)
	} else {
		e.at = before.at
	}
	c.entries[k] = change{kind: kind, entry: &e}
}

// remove takes an entry out, and says whether there was one.
func (o *Overlay) remove(s *set, k key) bool {
	if o.entry(s, k) == nil {
		return false
	}
	if o == nil {
		s.remove(k)
		return true
	}
	c := o.of(s)
	c.nets[s.prefixOf(k)]--
	if c.entries[k].kind == entryAdded {
		c.added = slices.DeleteFunc(c.added, func(added key) bool { return added == k })
	}
	if o.below.entry(s, k) == nil {
		delete(c.entries, k)
	} else {
		c.entries[k] = change{kind: entryRemoved}
	}
	return true
}

// count advances the counters of an entry, if there is one.
func (o *Overlay) count(s *set, k key, packets, bytes uint64) {
	e := o.entry(s, k)
	if e == nil {
		return
	}
	if o != nil {
		c := o.of(s)
		counted, change := *e, c.entries[k]
		e = &counted
		change.entry, change.packets, change.bytes = e, change.packets+packets, change.bytes+bytes
		c.entries[k] = change
	}
	e.packets += packets
	e.bytes += bytes
}
