package nftables

import (
	"bytes"
	"cmp"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Overlay is the sets of a kernel as packets have left them, which nobody else sees: what packets add and delete lies over the kernel, or
// over another overlay, until Commit writes it there. Dropping it undoes all of that. It is not safe for concurrent use, but the kernel
// may be used meanwhile. Counters of elements are their expressions' own: who walks packets counts them as those of rules.
type Overlay struct {
	kernel  *Kernel
	below   *Overlay
	frozen  bool
	changed map[*setID]*overlaid
}

// overlaid is what an overlay has of one set.
type overlaid struct {
	table    *Table
	set      *Set
	elements map[string]*Element // nil for one that was deleted
	keys     []string            // those of elements, in the order in which they came
	more     int                 // elements than below
}

func (c *overlaid) change(key string, e *Element) {
	if _, known := c.elements[key]; !known {
		c.keys = append(c.keys, key)
	}
	c.elements[key] = e
}

// Overlay is a new one over the kernel.
func (k *Kernel) Overlay() *Overlay { return &Overlay{kernel: k} }

// Overlay is a new one over this one, which must not be changed before the new one is committed or dropped.
func (o *Overlay) Overlay() *Overlay { return &Overlay{kernel: o.kernel, below: o, frozen: o.frozen} }

// Freeze keeps everybody from changing the kernel until thaw is called. All overlays over the one that it gives see the same sets. That one
// cannot be committed.
func (k *Kernel) Freeze() (frozen *Overlay, thaw func()) {
	k.lock.RLock()
	return &Overlay{kernel: k, frozen: true}, k.lock.RUnlock
}

// DynsetElement is what a packet puts into a set.
type DynsetElement struct {
	Key, Data []byte // Data: of a map
	Timeout   time.Duration
	Exprs     []expr.Expr // patterns of what the element gets
}

// Find is the live element that a packet's key meets; nil if there is none.
func (o *Overlay) Find(s *Set, key []byte) *Element {
	now := o.now(s)
	for at := o; at != nil; at = at.below {
		c := at.changed[s.id]
		if c == nil {
			continue
		}
		if e, known := c.elements[string(key)]; known {
			if e != nil && e.Live(now) {
				return e
			}
			if e = s.members.Load().catchall; e != nil && e.Live(now) {
				return e
			}
			return nil
		}
	}
	return s.Find(key, now)
}

// now is the time, for a set whose elements expire.
func (o *Overlay) now(s *Set) time.Time {
	if s.Flags&SetTimeout == 0 {
		return time.Time{}
	}
	return o.kernel.clock.Now()
}

// element is the element of a key, expired or not.
func (o *Overlay) element(s *Set, key []byte) *Element {
	for ; o != nil; o = o.below {
		if c := o.changed[s.id]; c != nil {
			if e, known := c.elements[string(key)]; known {
				return e
			}
		}
	}
	e, _ := s.members.Load().hashed.GetBytes(key)
	return e
}

// Len is the number of elements, expired ones too.
func (o *Overlay) Len(s *Set) int {
	n := s.Len()
	for ; o != nil; o = o.below {
		if c := o.changed[s.id]; c != nil {
			n += c.more
		}
	}
	return n
}

// of is what the overlay has of a set, to be written to.
func (o *Overlay) of(t *Table, s *Set) *overlaid {
	c := o.changed[s.id]
	if c == nil {
		c = &overlaid{table: t, set: s, elements: map[string]*Element{}}
		if o.changed == nil {
			o.changed = map[*setID]*overlaid{}
		}
		o.changed[s.id] = c
	}
	return c
}

// Put adds an element, or finds the one of its key, whose life begins again if refresh is set (NFT_DYNSET_OP_UPDATE). It is nil if the set
// is full: then the rule does not go on. The element's expressions are to be run by the packet, whether it is new or not.
func (o *Overlay) Put(t *Table, s *Set, e DynsetElement, refresh bool) *Element {
	now := o.now(s)
	life := cmp.Or(e.Timeout, s.Timeout)
	old := o.element(s, e.Key)
	if old != nil && old.Live(now) {
		if !refresh || old.Timeout == 0 {
			return old
		}
		again := &Element{ElementSpec: old.ElementSpec, Deadline: now.Add(life)}
		o.of(t, s).change(string(e.Key), again)
		return again
	}
	if old != nil {
		o.Delete(t, s, e.Key)
	}
	if o.Len(s) >= s.members.Load().capacity(&s.SetSpec) && !o.expire(t, s, now) {
		return nil
	}
	added := &Element{ElementSpec: ElementSpec{Key: bytes.Clone(e.Key), Timeout: life, Exprs: copies(e.Exprs)}}
	if e.Data != nil {
		added.Data = &expr.Data{Bytes: bytes.Clone(e.Data)}
	}
	if len(e.Exprs) == 0 {
		added.Exprs = copies(s.Exprs)
	}
	if life != 0 {
		added.HasTimeout, added.Deadline = e.Timeout != 0, now.Add(life)
	}
	c := o.of(t, s)
	c.change(string(e.Key), added)
	c.more++
	return added
}

// Delete takes an element out (NFT_DYNSET_OP_DELETE).
func (o *Overlay) Delete(t *Table, s *Set, key []byte) {
	if o.element(s, key) == nil {
		return
	}
	c := o.of(t, s)
	c.change(string(key), nil)
	c.more--
}

// expire deletes the elements whose time is over, and says whether there were any.
func (o *Overlay) expire(t *Table, s *Set, now time.Time) bool {
	if s.Flags&SetTimeout == 0 {
		return false
	}
	var over []string
	s.members.Load().hashed.Each(func(key string, _ *Element) bool {
		if e := o.element(s, []byte(key)); e != nil && !e.Live(now) {
			over = append(over, key)
		}
		return true
	})
	for at := o; at != nil; at = at.below {
		if c := at.changed[s.id]; c != nil {
			for _, key := range c.keys {
				if e := c.elements[key]; e != nil && !e.Live(now) && o.element(s, []byte(key)) == e {
					over = append(over, key)
				}
			}
		}
	}
	for _, key := range over {
		o.Delete(t, s, []byte(key))
	}
	return len(over) > 0
}

// Commit writes the changes to what lies below, and the overlay is empty then.
func (o *Overlay) Commit() {
	switch {
	case o.below != nil:
		for _, c := range o.changed {
			o.below.take(c)
		}
	case o.frozen:
		panic("nftables: a frozen overlay is committed")
	case len(o.changed) > 0:
		o.kernel.take(o.changed)
	}
	o.changed = nil
}

// take makes the changes of an overlay that lies over this one.
func (o *Overlay) take(c *overlaid) {
	own := o.of(c.table, c.set)
	for _, key := range c.keys {
		own.change(key, c.elements[key])
	}
	own.more += c.more
}

// take makes the changes of an overlay in the sets that there are now.
func (k *Kernel) take(changed map[*setID]*overlaid) {
	k.lock.Lock()
	defer k.lock.Unlock()
	for id, c := range changed {
		t := k.State().Table(c.table.Family, c.table.Name)
		if t == nil {
			continue
		}
		s := t.Set(c.set.Name)
		if s == nil || s.id != id {
			continue
		}
		m := s.members.Load().edit(max(c.more, 0))
		for _, key := range c.keys {
			e := c.elements[key]
			if e == nil {
				m.changes([]byte(key))
				m.hashed.Remove(key)
				continue
			}
			old, _ := m.hashed.Get(key)
			m.put(&s.SetSpec, e, old)
		}
		s.members.Store(m)
	}
}
