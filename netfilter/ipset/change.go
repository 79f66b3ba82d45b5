package ipset

import (
	"cmp"
	"errors"
	"fmt"
)

// maxRange is the greatest number of elements that one message may stand for. The kernel would go on.
const maxRange = 1 << 20

var errRangeSize = fmt.Errorf("not supported: an element that stands for more than %d entries", maxRange)

// change carries add or del out.
func (t *Table) change(s *set, adds bool, m *message, exist bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err := cmp.Or(s.checkElement(m), s.checkParts(m)); err != nil {
		return err
	}
	if s.kind == listSet {
		return t.changeList(s, adds, m, exist)
	}
	e, number := s.entryOf(m), 0
	return s.elements(m, false, func(k key) (err error) {
		if number++; number > maxRange {
			return errRangeSize
		}
		if adds {
			err = s.add(k, e, exist)
		} else {
			err = s.del(k)
		}
		if exist && (errors.Is(err, errElemExists) || errors.Is(err, errElemMissing)) {
			return nil
		}
		return err
	})
}

// entryOf is what a message says of its elements.
func (s *set) entryOf(m *message) entry {
	return entry{
		nomatch: m.flags.nomatch, wildcard: m.flags.wildcard, mac: m.mac, filled: m.has(optMAC),
		expires: s.expiry(m.has(optTimeout), m.timeout), stored: s.seconds(m.has(optTimeout), m.timeout),
		packets: m.packets, bytes: m.bytes, comment: m.comment, skb: m.skb,
	}
}

// add puts an entry in. Where there is one already, it is replaced if exist is set.
func (s *set) add(k key, e entry, exist bool) error { return (*Overlay)(nil).add(s, k, e, exist) }

// del takes an entry out. A bitmap loses one whose time is over and calls it missing all the same.
func (s *set) del(k key) error {
	k, e := s.entry(k)
	switch {
	case e == nil || s.kind.hash() && !s.live(e):
		return errElemMissing
	case !s.settled(e):
		s.remove(k)
		return errElemMissing
	}
	s.remove(k)
	return nil
}
