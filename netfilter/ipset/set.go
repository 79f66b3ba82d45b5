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
	order   []key      // of list:set
	table   *hashTable // of the hash types
	// prefixes counts the entries by the length of their net.
	prefixes [129]int
	clock    clock.PassiveClock
}

// entry is what is kept with a key.
type entry struct {
	nomatch        bool
	wildcard       bool      // the interface is the beginning of a name
	mac            [6]byte   // of bitmap:ip,mac
	filled         bool      // there is a MAC address
	expires        time.Time // zero: never
	stored         uint32    // the timeout of an entry without a MAC address, which does not run, in seconds
	packets, bytes uint64
	comment        string
	skb            skbInfo
	at             place // in the table of a hash type
}

// skbInfo is what an entry says for packets that match it.
type skbInfo struct {
	mark, mask   uint32
	major, minor uint16 // of the priority
	queue        uint16
}

// live reports whether the entry is there and has not expired.
func (s *set) live(e *entry) bool {
	return e != nil && (e.expires.IsZero() || s.clock.Now().Before(e.expires))
}

// settled is live in the eyes of add and del, which take the timeout of an entry without a MAC address for one that is long over.
func (s *set) settled(e *entry) bool { return s.live(e) && e.stored == 0 }

// expiry is when an entry that is added now expires: after so many seconds, if they are given, else after the set's own. 0 is never.
func (s *set) expiry(given bool, seconds uint32) time.Time {
	if seconds = s.seconds(given, seconds); seconds == 0 {
		return time.Time{}
	}
	return s.clock.Now().Add(time.Duration(seconds) * time.Second)
}

// seconds is the timeout of an entry: the one that is given, or else the set's own.
func (s *set) seconds(given bool, seconds uint32) uint32 {
	if !given {
		seconds = s.options.timeout
	}
	if !s.options.hasTimeout {
		return 0
	}
	return seconds
}

// entry is the entry of a key, and the key that it is kept with; nil if there is none.
func (s *set) entry(k key) (key, *entry) { return (*Overlay)(nil).find(s, k) }

// remove takes an entry out that is there.
func (s *set) remove(k key) {
	if s.kind.hash() {
		s.table.remove(s, s.entries[k].at)
	}
	s.drop(k)
}

// drop forgets an entry that is there; its place in the table of a hash type is seen to.
func (s *set) drop(k key) {
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

// put puts an entry in the place of the one that is there, or makes room for another.
func (s *set) put(k key, e entry) {
	if old := s.entries[k]; old != nil {
		e.at = old.at
	} else {
		s.prefixes[s.prefixOf(k)]++
		switch s.kind.store {
		case storeList:
			s.order = append(s.order, k)
		case storeHash:
			e.at = s.table.room(s, k)
		}
	}
	s.entries[k] = &e
}

// flush removes all entries.
func (s *set) flush() {
	s.entries, s.order, s.prefixes = map[key]*entry{}, nil, [129]int{}
	if s.table != nil {
		s.table.flush()
	}
}

// expire removes the entries of a hash type or a list whose time is over.
func (s *set) expire() {
	if !s.options.hasTimeout {
		return
	}
	for k, e := range s.entries {
		if !s.live(e) {
			s.remove(k)
		}
	}
}
