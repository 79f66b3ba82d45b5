package nftables

import (
	"bytes"
	"slices"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

func (tx *transaction) addElements(c *AddElements) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Set, PartName)
	if f != nil {
		return f
	}
	entry := t.setFor(c.Set, c.SetID)
	switch {
	case entry == nil:
		return refuse(syscall.ENOENT, PartName)
	case entry.uses > 0 && entry.set.Flags&(SetConstant|SetAnonymous) != 0 && !tx.restores:
		return refuse(syscall.EBUSY, PartWhole)
	}
	set := t.ownSet(entry.set.Name, len(c.Elements))
	set.begun = nil
	leads := false
	var told []MadeElement
	// The elements of one change are kept together.
	kept := make([]Element, len(c.Elements))
	for i := range c.Elements {
		spec := &c.Elements[i]
		made, errno := t.addElement(set, spec, &kept[i], c.Exclusive)
		if errno != 0 {
			return &fault{errno: errno, part: PartElement, index: i}
		}
		if made != nil && c.Notify != nil {
			told = append(told, MadeElement{made, tx.batch.takes(set, c.Exclusive)})
		}
		if v := verdictOf(&kept[i]); v != nil && v.Chain != "" {
			leads = true
			t.dirtyVerdicts = append(t.dirtyVerdicts, dirtyVerdict{set.Name, v})
		}
	}
	if len(told) > 0 {
		c.Notify(set, told)
	}
	return t.checked(leads)
}

// addElement is nft_add_set_elem. The element is kept in e. It returns the element if it is made or changed.
func (t *tableEdit) addElement(set *Set, spec *ElementSpec, e *Element, exclusive bool) (*Element, syscall.Errno) {
	if errno := set.checkElement(spec); errno != 0 {
		return nil, errno
	}
	e.ElementSpec = *spec
	if errno := set.time(e, t.tx.now); errno != 0 {
		return nil, errno
	}
	if errno := set.giveExprs(e); errno != 0 {
		return nil, errno
	}
	if set.Flags&SetObject != 0 && spec.Flags&ElementIntervalEnd == 0 && t.objects.Ref(objectKey(set.ObjectType, spec.Object)) == nil {
		return nil, syscall.ENOENT
	}
	if errno := t.takeData(set, e); errno != 0 {
		return nil, errno
	}
	m := set.members.Load()
	old, errno := m.clash(set, e, t.tx.now)
	if old != nil && !old.Live(t.tx.now) {
		t.removeElement(set, m, old)
		old = nil
	}
	if errno == 0 && old != nil && m.isNull(e) {
		return nil, 0
	}
	if errno == 0 && old != nil {
		changed, errno := t.again(set, m, old, e, exclusive)
		t.release(verdictOf(e))
		return changed, errno
	}
	if errno != 0 {
		t.release(verdictOf(e))
		return nil, errno
	}
	// One too many is refused and stays until all is undone. A set that got a size later may have more elements.
	if !t.tx.restores && spec.Flags&ElementCatchall == 0 && m.len() >= m.capacity(&set.SetSpec) && !t.expireSet(set) {
		errno = syscall.ENFILE
	}
	m.put(&set.SetSpec, e, nil)
	set.begun = nil
	if e.Object != "" {
		t.objects.Ref(objectKey(set.ObjectType, e.Object)).uses++
	}
	t.tx.changed = true
	return e, errno
}

func verdictOf(e *Element) *expr.Verdict {
	if e.Data == nil {
		return nil
	}
	return e.Data.Verdict
}

// checkElement says whether the set can have such an element.
func (s *SetSpec) checkElement(e *ElementSpec) syscall.Errno {
	end, catchall := e.Flags&ElementIntervalEnd != 0, e.Flags&ElementCatchall != 0
	timed := e.HasTimeout || e.Expires != 0
	switch {
	case e.Flags&^(ElementIntervalEnd|ElementCatchall) != 0:
		return syscall.EOPNOTSUPP
	case end && (s.Flags&SetInterval == 0 || catchall),
		catchall != (e.Key == nil),
		s.Flags&SetMap == 0 && e.Data != nil, s.Flags&SetMap != 0 && e.Data == nil && !end,
		s.Flags&SetObject == 0 && e.Object != "", s.Flags&SetObject != 0 && e.Object == "" && !end,
		!s.fitsEnd(e),
		end && (e.Data != nil || e.Object != "" || timed || e.UserData != nil || e.Exprs != nil),
		timed && s.Flags&SetTimeout == 0,
		!catchall && len(e.Key) != int(s.KeyLen), e.KeyEnd != nil && len(e.KeyEnd) != int(s.KeyLen):
		return syscall.EINVAL
	}
	return 0
}

// fitsEnd says that the element has no last key where it can have none (nft_setelem_valid_key_end); without one it is a single key.
func (s *SetSpec) fitsEnd(e *ElementSpec) bool {
	if s.Flags&(SetConcat|SetInterval) != SetConcat|SetInterval {
		return e.KeyEnd == nil
	}
	if e.Flags&ElementCatchall != 0 {
		return e.KeyEnd == nil
	}
	return e.Flags&ElementIntervalEnd == 0
}

// time gives an element the time at which it expires.
func (s *SetSpec) time(e *Element, now time.Time) syscall.Errno {
	if !e.HasTimeout && s.Flags&SetTimeout != 0 && e.Flags&ElementIntervalEnd == 0 {
		e.Timeout = s.Timeout
	}
	life := e.Timeout
	if e.Expires != 0 {
		if e.Timeout == 0 {
			return syscall.EOPNOTSUPP
		}
		if life = e.Expires; life > e.Timeout {
			return syscall.ERANGE
		}
	}
	if life != 0 {
		e.Deadline = now.Add(life)
	}
	return 0
}

// giveExprs gives an element expressions of its own: those that it came with, or the set's.
func (s *SetSpec) giveExprs(e *Element) syscall.Errno {
	given := e.Exprs
	if len(given) == 0 {
		if e.Flags&ElementIntervalEnd == 0 {
			e.Exprs = copies(s.Exprs)
		}
		return 0
	}
	if len(given) > maxSetExprs {
		return syscall.E2BIG
	}
	if len(s.Exprs) > 0 && len(s.Exprs) != len(given) {
		return syscall.EOPNOTSUPP
	}
	for i, x := range given {
		if len(s.Exprs) > 0 && x.Name() != s.Exprs[i].Name() {
			return syscall.EOPNOTSUPP
		}
	}
	e.Exprs = copies(given)
	return 0
}

// takeData checks what an element maps to; a verdict leads to its chain from then on.
func (t *tableEdit) takeData(set *Set, e *Element) syscall.Errno {
	if e.Data == nil {
		return 0
	}
	v := e.Data.Verdict
	if (v != nil) != (set.DataType == DataVerdict) || v == nil && len(e.Data.Bytes) != int(set.DataLen) {
		return syscall.EINVAL
	}
	if v == nil || v.Code != expr.Jump && v.Code != expr.Goto {
		return 0
	}
	if v.Chain == "" {
		return syscall.EINVAL
	}
	_, errno := t.lead(v)
	return errno
}

// again adds an element that is there: it must map to the same, and may get another time to live, which the element that it returns has.
func (t *tableEdit) again(set *Set, m *members, old, e *Element, exclusive bool) (*Element, syscall.Errno) {
	if !sameData(old.Data, e.Data) || old.Object != e.Object || exclusive {
		return nil, syscall.EEXIST
	}
	if set.Flags&SetTimeout == 0 || e.Flags&ElementIntervalEnd != 0 || old.Timeout == e.Timeout && e.Expires == 0 {
		return nil, 0
	}
	t.tx.updateElement(t, set, old, e)
	changed := &Element{ElementSpec: old.ElementSpec}
	changed.Timeout, changed.HasTimeout, changed.Deadline = e.Timeout, e.HasTimeout, e.Deadline
	return changed, 0
}

// updateElement gives an element another time to live when all changes are made: until then it is compared with the old one.
func (tx *transaction) updateElement(t *tableEdit, set *Set, old, e *Element) {
	tx.changed = true
	changed := tx.updates[old]
	if changed == nil {
		changed = &Element{ElementSpec: old.ElementSpec}
		if tx.updates == nil {
			tx.updates = map[*Element]*Element{}
		}
		tx.updates[old] = changed
		tx.late = append(tx.late, func() {
			now := t.Set(set.Name)
			if t.deleted || now == nil || now.id != set.id {
				return
			}
			m := t.ownSet(set.Name, 0).members.Load()
			if m.exact(&set.SetSpec, old) == old {
				m.put(&set.SetSpec, changed, old)
			}
		})
	}
	changed.Deadline = e.Deadline
	if old.Timeout != e.Timeout {
		changed.Timeout, changed.HasTimeout = e.Timeout, e.HasTimeout
	}
}

func sameData(a, b *expr.Data) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Verdict != nil && b.Verdict != nil {
		return *a.Verdict == *b.Verdict
	}
	return a.Verdict == b.Verdict && bytes.Equal(a.Bytes, b.Bytes)
}

// capacity is how many elements a set with these members may have.
func (m *members) capacity(s *SetSpec) int {
	if s.Size == 0 {
		return 1<<32 - 1
	}
	if s.Flags&SetInterval == 0 || m.structure() != ordering {
		return int(s.Size)
	}
	most := int(s.Size) * 2 // a beginning and an end each
	for b := range m.ordered.All() {
		if b.Flags&ElementIntervalEnd != 0 && len(bytes.Trim(b.Key, "\x00")) == 0 {
			most++ // the end at 0, which nft puts before the first interval, belongs to none
		}
		break
	}
	return most
}

func (tx *transaction) deleteElements(c *DeleteElements) *fault {
	t, f := tx.tableFor(c.Family, c.Table, c.Set, PartName)
	if f != nil {
		return f
	}
	entry := t.sets.Ref(c.Set)
	switch {
	case entry == nil:
		return refuse(syscall.ENOENT, PartName)
	case entry.set.Flags&SetAnonymous != 0:
		return refuse(syscall.EOPNOTSUPP, PartWhole)
	case entry.uses > 0 && entry.set.Flags&SetConstant != 0:
		return refuse(syscall.EBUSY, PartWhole)
	case c.Elements == nil:
		t.flushSet(entry.set)
		return nil
	}
	set := t.ownSet(c.Set, 0)
	set.ended = nil
	m := set.members.Load()
	for i := range c.Elements {
		spec := &c.Elements[i]
		if spec.Flags&ElementCatchall != 0 != (spec.Key == nil) || !set.fitsEnd(spec) ||
			spec.Key != nil && len(spec.Key) != int(set.KeyLen) {
			return &fault{errno: syscall.EINVAL, part: PartElement, index: i}
		}
		old := m.exact(&set.SetSpec, &Element{ElementSpec: *spec})
		if old != nil && (set.hides(old) || !m.endsBegun(set, old)) {
			old = nil
		}
		switch {
		case old != nil && old.Live(tx.now):
			t.removeElement(set, m, old)
			tx.leave(set, old)
		case !c.MayLack:
			return &fault{errno: syscall.ENOENT, part: PartElement, index: i}
		}
	}
	return nil
}

// leave notes that a bound of intervals stays in the tree of its set until the transaction ends.
func (tx *transaction) leave(set *Set, e *Element) {
	if set.members.Load().structure() != ordering || e.Flags&ElementCatchall != 0 {
		return
	}
	if set.gone == nil {
		tx.late = append(tx.late, func() { set.gone = nil })
	}
	if at, found := slices.BinarySearchFunc(set.gone, e, compareOrdered); !found {
		set.gone = slices.Insert(set.gone, at, e)
	}
}

// hides says that an element cannot be deleted since the transaction has deleted another one before it (nft_rbtree_deactivate): the
// beginning at the same key, or, if it is the end of what is deleted, a bound of that interval.
func (s *Set) hides(e *Element) bool {
	at, found := slices.BinarySearchFunc(s.gone, e, compareOrdered)
	if e.Flags&ElementIntervalEnd == 0 || s.ended == nil {
		return found && e.Flags&ElementIntervalEnd == 0
	}
	return found || at > 0 && compareOrdered(s.gone[at-1], s.ended) > 0
}

// removeElement takes an element out that is there.
func (t *tableEdit) removeElement(set *Set, m *members, e *Element) {
	m.remove(&set.SetSpec, e)
	t.releaseElement(set, e)
	t.tx.changed = true
}

// releaseElement says that the element does not lead to a chain or name an object any more.
func (t *tableEdit) releaseElement(set *Set, e *Element) {
	t.thinned = true
	t.release(verdictOf(e))
	if e.Object != "" {
		if o := t.objects.Ref(objectKey(set.ObjectType, e.Object)); o != nil {
			o.uses--
		}
	}
}

// releaseElements is releaseElement of all.
func (t *tableEdit) releaseElements(set *Set) {
	if set.DataType != DataVerdict && set.Flags&SetObject == 0 {
		return
	}
	set.members.Load().each(func(e *Element) { t.releaseElement(set, e) })
}

// flushSet takes all elements out.
func (t *tableEdit) flushSet(set *Set) {
	if m := set.members.Load(); m.len() == 0 && m.catchall == nil {
		return
	}
	t.releaseElements(set)
	set = t.ownSet(set.Name, 0)
	for b := range set.members.Load().ordered.All() {
		t.tx.leave(set, b.Element)
	}
	set.members.Store(newMembers(set.members.Load().structure()))
	t.tx.changed = true
}

// expireSet takes the elements out whose time is over, and says whether there were any.
func (t *tableEdit) expireSet(set *Set) bool {
	if set.Flags&SetTimeout == 0 {
		return false
	}
	m := set.members.Load()
	var over []*Element
	m.each(func(e *Element) {
		if !e.Live(t.tx.now) {
			over = append(over, e)
		}
	})
	for _, e := range over {
		t.removeElement(set, m, e)
	}
	return len(over) > 0
}

// expireVerdicts is expireSet of all maps of verdicts.
func (t *tableEdit) expireVerdicts() {
	for _, set := range t.Sets() {
		if set.DataType == DataVerdict && set.Flags&SetTimeout != 0 {
			t.expireSet(t.ownSet(set.Name, 0))
		}
	}
}
