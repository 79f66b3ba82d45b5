package ipset

import "slices"

// changeList is change of a list:set (net/netfilter/ipset/ip_set_list_set.c).
func (t *Table) changeList(s *set, adds bool, m *message, exist bool) error {
	if err := s.refuse(m); err != nil {
		return err
	}
	member := t.sets[m.member]
	switch {
	case member == nil:
		return errNoElemSet
	case member.kind == listSet:
		return errNestedList
	case m.has(optReference) && t.sets[m.reference] == nil:
		return errNoRef
	}
	s.expire()
	k, change := key{name: m.member}, s.delMember
	if adds {
		change = func(k key, m *message) error { return s.addMember(k, m, exist) }
	}
	err := change(k, m)
	if exist && (err == errElemExists || err == errElemMissing) {
		return nil
	}
	return err
}

// addMember adds a set, before or after another one or behind all. One that is there stays in its place.
func (s *set) addMember(k key, m *message, exist bool) error {
	ref := key{name: m.reference}
	known := s.entries[k] != nil
	switch {
	case m.has(optReference) && (s.entries[ref] == nil || ref == k):
		return errRefNotAdded
	case known && !exist:
		return errElemExists
	}
	e := s.entryOf(m)
	e.stored = 0
	s.put(k, e)
	if known || !m.has(optReference) {
		return nil
	}
	s.order = s.order[:len(s.order)-1]
	at := slices.Index(s.order, ref)
	if !m.flags.before {
		at++
	}
	s.order = slices.Insert(s.order, at, k)
	return nil
}

// delMember takes a set out, if it stands beside the other that is named.
func (s *set) delMember(k key, m *message) error {
	switch {
	case m.has(optReference) && !s.holdsMember(m):
		return errRefNotAdded
	case s.entries[k] == nil:
		return errElemMissing
	}
	s.remove(k)
	return nil
}

// holdsMember reports whether a set is in the list:set, and beside the other that was named.
func (s *set) holdsMember(m *message) bool {
	k := key{name: m.member}
	at := slices.Index(s.order, k)
	if at < 0 || !s.live(s.entries[k]) {
		return false
	}
	beside := at - 1
	if m.flags.before {
		beside = at + 1
	}
	return !m.has(optReference) || beside >= 0 && beside < len(s.order) && s.order[beside].name == m.reference
}
