package ipset

import "slices"

// maxRange is the greatest number of entries that one element may stand for. The kernel would go on.
const maxRange = 1 << 20

var errRangeSize = errorf("not supported: an element that stands for more than %d entries", maxRange)

// change carries add or del out.
func (t *Table) change(s *set, adds bool, c *entryChange, exist bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := c.refused(s); err != nil {
		return err
	}
	if s.kind == listSet {
		return t.changeList(s, adds, c, exist)
	}
	e := c.entry
	e.expires = s.expiry(c.hasTimeout, c.timeout)
	number := 0
	return s.keys(&c.element, func(k key) error {
		if number++; number > maxRange {
			return errRangeSize
		}
		if adds {
			return s.add(k, e, exist)
		}
		if old := s.entries[k]; old == nil || !s.live(old) {
			if exist {
				return nil
			}
			return errElemMissing
		}
		s.remove(k)
		return nil
	})
}

// changeList is change of a list:set.
func (t *Table) changeList(s *set, adds bool, c *entryChange, exist bool) error {
	member := t.sets[c.element.set]
	switch {
	case member == nil:
		return errNoElemSet
	case member.kind == listSet:
		return errNestedList
	case c.ref != "" && t.sets[c.ref] == nil:
		return errNoRef
	}
	k, ref := key{set: c.element.set}, key{set: c.ref}
	if c.ref != "" && s.entries[ref] == nil {
		return errRefNotAdded
	}
	if !adds {
		if s.entries[k] == nil {
			if exist {
				return nil
			}
			return errElemMissing
		}
		s.remove(k)
		return nil
	}
	e := c.entry
	e.expires = s.expiry(c.hasTimeout, c.timeout)
	known := s.entries[k] != nil
	if err := s.add(k, e, exist); err != nil || known || c.ref == "" {
		return err
	}
	s.order = s.order[:len(s.order)-1]
	at := slices.Index(s.order, ref)
	if !c.before {
		at++
	}
	s.order = slices.Insert(s.order, at, k)
	return nil
}

// refused is the kernel's refusal of options that the set was not created for.
func (c *entryChange) refused(s *set) error {
	o := &s.options
	switch {
	case s.kind == bitmapPort && (c.element.port < o.minPort || c.element.port > o.maxPort):
		return errRange // the first port is looked at before anything else
	case c.hasTimeout && !o.hasTimeout:
		return errNoTimeout
	case c.counted && !o.counters:
		return errNoCounters
	case c.commented && !o.comment:
		return errNoComment
	case c.mapped && !o.skbInfo:
		return errNoSKBInfo
	case s.kind == listSet:
		return nil
	case s.kind == bitmapPort:
		if c.element.last > o.maxPort {
			return errRange
		}
		return nil
	}
	return c.refusedElement(s)
}

// refusedElement is the kernel's refusal of elements that hash types cannot hold.
func (c *entryChange) refusedElement(s *set) error {
	for i, part := range s.kind.parts {
		a := &c.element.addr
		if i > 0 {
			a = &c.element.addr2
		}
		switch {
		case part == partPort:
		case i == 0 && s.kind.masked() && s.cut(a.given).IsUnspecified():
			if len(s.kind.parts) > 1 {
				return errInvalid
			}
			return errNull
		case a.bits == 0 && (part == partNet || c.command != "test"):
			return errCIDR
		}
	}
	return nil
}
