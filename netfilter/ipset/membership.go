package ipset

// holds reports whether the element is in the set, as "ipset test" asks. What the kernel refuses is just not there, but for a message that
// the type has no use for.
func (t *Table) holds(s *set, m *message) (found bool, err error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	if err := s.checkElement(m); err != nil {
		return false, err
	}
	if s.checkParts(m) != nil {
		return false, nil
	}
	if s.kind == listSet {
		member := t.sets[m.member]
		known := member != nil && member.kind != listSet && (!m.has(optReference) || t.sets[m.reference] != nil)
		return known && s.refuse(m) == nil && s.holdsMember(m), nil
	}
	// An error is that of an element that no set can hold.
	_ = s.elements(m, true, func(k key) error {
		found = s.answersTest(k, m)
		return nil
	})
	return found, nil
}

// answersTest reports whether the element is there. With nomatch it asks for entries that are marked so.
func (s *set) answersTest(k key, m *message) bool {
	var e *entry
	if s.kind.nets() && int(s.prefixOf(k)) == s.options.family.bits() {
		for n, over := s.options.family.bits(), false; n >= 0 && e == nil && !over; n-- {
			_, e, over = (*Overlay)(nil).underNet(s, k, uint8(n))
		}
	} else {
		_, e = s.entry(k)
	}
	switch {
	case !s.live(e):
		return false
	case s.kind == bitmapIPMAC:
		return !e.filled || !m.has(optMAC) || e.mac == m.mac
	}
	return e.nomatch == (m.flags.nomatch && s.kind.nets())
}
