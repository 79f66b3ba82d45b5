package ipset

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// MaxName is the length of a set's name.
const MaxName = 31

// options are what a set was created with.
type options struct {
	family   Family // 0 for the types that have none
	hashSize uint32
	maxElem  uint32
	// netMask is the length of the prefix that addresses are cut to; 0: not given.
	netMask uint8
	// hasTimeout says that entries may have a timeout; timeout is theirs where they are not given one, in seconds, 0: none.
	hasTimeout bool
	timeout    uint32
	counters   bool
	comment    bool
	// skbInfo: entries may have a mark, a priority and a queue for packets that -j SET --map-set takes them for.
	skbInfo    bool
	bucketSize uint8
	initVal    uint32
	// minPort and maxPort are the range of bitmap:port.
	minPort, maxPort uint16
	size             uint32 // of list:set; the kernel does not hold lists to it
}

// Set is one set.
type Set struct {
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

// key is what tells entries apart. Fields that the type does not have are zero.
type key struct {
	addr  netip.Addr
	bits  uint8
	proto uint8
	port  uint16
	addr2 netip.Addr
	bits2 uint8
	set   string
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

// Table is the sets of one network namespace. It is safe for concurrent use.
type Table struct {
	lock  sync.RWMutex
	sets  map[string]*Set
	order []*Set // by slot
	clock clock.PassiveClock
}

// NewTable returns a table without sets, whose entries expire by the clock.
func NewTable(c clock.PassiveClock) *Table {
	return &Table{sets: map[string]*Set{}, clock: c}
}

// Has reports whether there is a set of that name.
func (t *Table) Has(name string) bool { return t.find(name) != nil }

// Family is the family of the set of that name, 0 if its type has none. ok is false if there is no such set.
func (t *Table) Family(name string) (f Family, ok bool) {
	s := t.find(name)
	if s == nil {
		return 0, false
	}
	return s.options.family, true
}

func (t *Table) find(name string) *Set {
	t.lock.RLock()
	defer t.lock.RUnlock()
	return t.sets[name]
}

// names are the names of the sets, in the kernel's order.
func (t *Table) names() []string {
	t.lock.RLock()
	defer t.lock.RUnlock()
	names := make([]string, len(t.order))
	for i, s := range t.order {
		names[i] = s.name
	}
	return names
}

// dumped are the sets in the order in which the kernel tells them: sets of sets come last. The caller holds the lock.
func (t *Table) dumped() []*Set {
	sets := slices.Clone(t.order)
	slices.SortStableFunc(sets, func(a, b *Set) int {
		return cmp.Compare(btoi(a.kind == listSet), btoi(b.kind == listSet))
	})
	return sets
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// toolError is an error in the words of the ipset tool.
type toolError struct {
	msg   string
	usage bool // the tool says how to get help and exits with 2
}

func (e *toolError) Error() string { return e.msg }

func errorf(format string, args ...any) error { return &toolError{msg: fmt.Sprintf(format, args...)} }

func usagef(format string, args ...any) error {
	return &toolError{msg: fmt.Sprintf(format, args...), usage: true}
}

// The refusals of the kernel, in the words of the tool.
var (
	errMissing      = errorf("The set with the given name does not exist")
	errExists       = errorf("Set cannot be created: set with the same name already exists")
	errBusy         = errorf("Set cannot be destroyed: it is in use by a kernel component")
	errRenameBusy   = errorf("Set cannot be renamed: it is in use by another system")
	errRenameExists = errorf("Set cannot be renamed: a set with the new name already exists")
	errSwapMissing  = errorf("Sets cannot be swapped: the second set does not exist")
	errSwapType     = errorf("The sets cannot be swapped: their type does not match")
	errElemExists   = errorf("Element cannot be added to the set: it's already added")
	errElemMissing  = errorf("Element cannot be deleted from the set: it's not added")
	errFull         = errorf("Hash is full, cannot add more elements")
	errNull         = errorf("Null-valued element, cannot be stored in a hash type of set")
	errCIDR         = errorf("The value of the CIDR parameter of the IP address is invalid")
	errRange        = errorf("Element is out of the range of the set")
	errNestedList   = errorf("Sets with list:set type cannot be added to the set.")
	errNoRef        = errorf("The set to which you referred with 'before' or 'after' does not exist.")
	errRefNotAdded  = errorf("The set to which you referred with 'before' or 'after' is not added to the set.")
	errProtocol     = errorf("Kernel error received: ipset protocol error")
	errInvalid      = errorf("Kernel error received: Invalid argument")
	errNoElemSet    = errorf("Set to be added/deleted/tested as element does not exist.")
	errNoTimeout    = errorf("Timeout cannot be used: set was created without timeout support")
	errNoCounters   = errorf("Packet/byte counters cannot be used: set was created without counter support")
	errNoSKBInfo    = errorf("Skbinfo mapping cannot be used: set was created without skbinfo support")
	errNoComment    = errorf("Comment cannot be used: set was created without comment support")
)

// The defaults of hash types, with the kernel's values.
const (
	defaultHashSize   = 1024
	minHashSize       = 64
	defaultMaxElem    = 65536
	defaultBucketSize = 12
	defaultListSize   = 8
	minListSize       = 4
)

// create makes a set.
func (t *Table) create(name string, kind *setType, o options) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.sets[name] != nil {
		return errExists
	}
	if kind.hash() {
		o.hashSize = uint32(1) << bits.Len32(max(o.hashSize, minHashSize)-1)
		if o.initVal == 0 {
			// The kernel draws this number; the same name always gets the same one here.
			h := fnv.New32a()
			_, _ = h.Write([]byte(name))
			o.initVal = h.Sum32()
		}
	}
	s := &Set{name: name, kind: kind, options: o, entries: map[key]*entry{}, clock: t.clock}
	for s.slot < len(t.order) && t.order[s.slot].slot == s.slot {
		s.slot++
	}
	t.sets[name] = s
	t.order = slices.Insert(t.order, s.slot, s)
	return nil
}

func (t *Table) destroy(name string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.sets, name)
	t.order = slices.DeleteFunc(t.order, func(s *Set) bool { return s.name == name })
}

func (t *Table) rename(from, to string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	s := t.sets[from]
	if t.sets[to] != nil {
		return errRenameExists
	}
	delete(t.sets, from)
	s.name = to
	t.sets[to] = s
	return nil
}

// swap changes the contents of two sets of one type and family.
func (t *Table) swap(a, b string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	x, y := t.sets[a], t.sets[b]
	switch {
	case x == nil:
		return errMissing
	case y == nil:
		return errSwapMissing
	case x.kind != y.kind || x.options.family != y.options.family:
		return errSwapType
	}
	x.name, y.name = b, a
	t.sets[a], t.sets[b] = y, x
	i, j := slices.Index(t.order, x), slices.Index(t.order, y)
	t.order[i], t.order[j] = y, x
	x.slot, y.slot = y.slot, x.slot
	return nil
}

func (t *Table) flush(s *Set) {
	t.lock.Lock()
	defer t.lock.Unlock()
	s.entries, s.order, s.prefixes = map[key]*entry{}, nil, [129]int{}
}

// live reports whether the entry has not expired.
func (s *Set) live(e *entry) bool {
	return e != nil && (e.expires.IsZero() || s.clock.Now().Before(e.expires))
}

// expire removes the entries whose time is over. The caller holds the lock.
func (s *Set) expire() {
	if !s.options.hasTimeout {
		return
	}
	for k, e := range s.entries {
		if !s.live(e) {
			s.remove(k)
		}
	}
}

func (s *Set) remove(k key) {
	delete(s.entries, k)
	s.prefixes[s.prefixOf(k)]--
	if s.kind == listSet {
		s.order = slices.DeleteFunc(s.order, func(o key) bool { return o == k })
	}
}

func (s *Set) prefixOf(k key) uint8 {
	if s.kind.net2() {
		return k.bits2
	}
	return k.bits
}

// add puts an entry in. An entry that is there is replaced if exist is set.
func (s *Set) add(k key, e entry, exist bool) error {
	old := s.entries[k]
	if old != nil && s.live(old) && !exist {
		return errElemExists
	}
	if old == nil {
		s.expire()
		if s.kind.hash() && len(s.entries) >= int(s.options.maxElem) {
			return errFull
		}
		s.prefixes[s.prefixOf(k)]++
		if s.kind == listSet {
			s.order = append(s.order, k)
		}
		s.seq++
		e.seq = s.seq
	} else {
		e.seq = old.seq
	}
	s.entries[k] = &e
	return nil
}

// Save writes every set as "ipset save" prints it.
func (t *Table) Save(w io.Writer) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	var text []byte
	for _, s := range t.dumped() {
		text = s.appendSave(text, false)
	}
	_, err := w.Write(text)
	return err
}
