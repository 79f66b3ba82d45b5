package ipset

import "slices"

// holds reports whether the element is in the set, as "ipset test" asks.
func (t *Table) holds(s *set, c *entryChange) (bool, error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	if err := c.refusedTest(s); err != nil {
		return false, err
	}
	if c.refused(s) != nil {
		// For the kernel such an element is just not there.
		return false, nil
	}
	if s.kind == listSet {
		return s.holdsMember(c), nil
	}
	found, element := false, c.element
	if a := &element.addr; a.cidr && s.kind.parts[0] == partIP {
		// The kernel looks for the address that was given.
		a.min, a.max, a.bits = a.given, a.given, uint8(a.given.BitLen())
	}
	err := s.keys(&element, func(k key) error {
		e := s.entries[k]
		if s.kind.nets() && int(s.prefixOf(k)) == s.options.family.bits() {
			e = s.longest(k)
		}
		found = s.live(e) && e.nomatch == c.entry.nomatch
		return errStop
	})
	if err != errStop {
		return false, err
	}
	return found, nil
}

// refusedTest is the refusal of ranges, which test takes for hash:ip only.
func (c *entryChange) refusedTest(s *set) error {
	if s.kind == listSet || s.kind.name == "hash:ip" {
		return nil
	}
	what := ""
	switch e := &c.element; {
	case e.addr.cidr && s.kind.parts[0] == partIP:
		what = "IP/CIDR"
	case e.addr.ranged || e.addr2.ranged:
		what = "FROM-TO IP"
	case e.ports:
		what = "FROM-TO port"
	default:
		return nil
	}
	family := map[Family]string{0: "unspec", inet: "inet", inet6: "inet6"}[s.options.family]
	return errorf("%s range is not allowed in command test with set type %s and family %s", what, s.kind.name, family)
}

// holdsMember reports whether a set is in the list:set, and beside the other that was named.
func (s *set) holdsMember(c *entryChange) bool {
	k := key{set: c.element.set}
	at := slices.Index(s.order, k)
	if at < 0 || !s.live(s.entries[k]) {
		return false
	}
	beside := at - 1
	if c.before {
		beside = at + 1
	}
	return c.ref == "" || beside >= 0 && beside < len(s.order) && s.order[beside].set == c.ref
}

// errStop ends a walk over keys.
var errStop = errorf("stop")

// longest is the entry of the longest net that holds the key's address.
func (s *set) longest(k key) *entry {
	addr := k.addr
	if s.kind.net2() {
		addr = k.addr2
	}
	for n := addr.BitLen(); n > 0; n-- {
		if s.prefixes[n] == 0 {
			continue
		}
		if s.kind.net2() {
			k.addr2, k.bits2 = cutAddr(addr, uint8(n)), uint8(n)
		} else {
			k.addr, k.bits = cutAddr(addr, uint8(n)), uint8(n)
		}
		if e := s.entries[k]; s.live(e) {
			return e
		}
	}
	return nil
}
