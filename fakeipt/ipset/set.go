package ipset

import (
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// MaxName is the length of a set's name.
const MaxName = 31

// set is one set.
type set struct {
	name    string
	slot    int // its place in the kernel's table; the first free one is taken
	kind    *setType
	options options
	entries map[key]*entry
	order   []key  // of list:set
	seq     uint64 // of the entry added last
	// prefixes counts the entries by the length of their net.
	prefixes [129]int
	clock    clock.PassiveClock
}

// entry is what is kept with a key.
type entry struct {
	nomatch        bool
	expires        time.Time // zero: never
	packets, bytes uint64
	comment        string
	skb            skbInfo
	seq            uint64 // its place in the order of adding
}

// skbInfo is what an entry says for packets that match it.
type skbInfo struct {
	mark, mask   uint32
	major, minor uint16 // of the priority
	queue        uint16
}

// live reports whether the entry has not expired.
func (s *set) live(e *entry) bool {
	return e != nil && (e.expires.IsZero() || s.clock.Now().Before(e.expires))
}

// expiry is when an entry that is added now expires: after so many seconds, if they are given, else after the set's own. 0 is never.
func (s *set) expiry(given bool, seconds uint32) time.Time {
	if !given {
		seconds = s.options.timeout
	}
	if !s.options.hasTimeout || seconds == 0 {
		return time.Time{}
	}
	return s.clock.Now().Add(time.Duration(seconds) * time.Second)
}

// remove takes an entry out that is there.
func (s *set) remove(k key) {
	delete(s.entries, k)
	s.prefixes[s.prefixOf(k)]--
	if s.kind == listSet {
		s.order = slices.DeleteFunc(s.order, func(o key) bool { return o == k })
	}
}

func (s *set) prefixOf(k key) uint8 {
	if s.kind.net2() {
		return k.bits2
	}
	return k.bits
}

// put puts an entry in the place of the one that is there, or behind all others.
func (s *set) put(k key, e entry) {
	if old := s.entries[k]; old != nil {
		e.seq = old.seq
	} else {
		s.prefixes[s.prefixOf(k)]++
		if s.kind == listSet {
			s.order = append(s.order, k)
		}
		s.seq++
		e.seq = s.seq
	}
	s.entries[k] = &e
}

// add puts an entry in. An entry that is there is replaced if exist is set.
func (s *set) add(k key, e entry, exist bool) error { return (*Overlay)(nil).add(s, k, e, exist) }
