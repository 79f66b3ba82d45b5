package fakeipt

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/bits"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxSetName is the length of a set's name.
const maxSetName = 31

// IPSetOptions are what a set was created with.
type IPSetOptions struct {
	Family   Family // 0 for the types that have none
	HashSize uint32
	MaxElem  uint32
	// NetMask is the length of the prefix that addresses are cut to; 0: not given.
	NetMask uint8
	// HasTimeout says that entries may have a timeout; Timeout is theirs where they are not given one, in seconds, 0: none.
	HasTimeout bool
	Timeout    uint32
	Counters   bool
	Comment    bool
	// SKBInfo: entries may have a mark, a priority and a queue for packets that -j SET --map-set takes them for.
	SKBInfo    bool
	BucketSize uint8
	InitVal    uint32
	// MinPort and MaxPort are the range of bitmap:port.
	MinPort, MaxPort uint16
	Size             uint32 // of list:set; the kernel does not hold lists to it
}

// IPSet is one set.
type IPSet struct {
	name    string
	slot    int // its place in the kernel's table; the first free one is taken
	kind    *setKind
	options IPSetOptions
	entries map[setKey]*setEntry
	order   []setKey // of list:set
	seq     uint64   // of the entry added last
	// prefixes counts the entries by the length of their net.
	prefixes [129]int
	clock    clock.PassiveClock
}

// setKey is what tells entries apart. Fields that the type does not have are zero.
type setKey struct {
	addr  netip.Addr
	bits  uint8
	proto uint8
	port  uint16
	addr2 netip.Addr
	bits2 uint8
	set   string
}

// setEntry is what is kept with a key.
type setEntry struct {
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

// Name is the set's name.
func (s *IPSet) Name() string { return s.name }

// Type is the set's type, such as "hash:ip,port".
func (s *IPSet) Type() string { return s.kind.name }

// Options are what the set was created with.
func (s *IPSet) Options() IPSetOptions { return s.options }

// IPSetTable is the sets of one network namespace. It is safe for concurrent use.
type IPSetTable struct {
	lock  sync.RWMutex
	sets  map[string]*IPSet
	order []*IPSet // by slot
	clock clock.PassiveClock
}

func newIPSetTable(c clock.PassiveClock) *IPSetTable {
	return &IPSetTable{sets: map[string]*IPSet{}, clock: c}
}

// Has reports whether there is a set of that name.
func (t *IPSetTable) Has(name string) bool { return t.find(name) != nil }

func (t *IPSetTable) find(name string) *IPSet {
	t.lock.RLock()
	defer t.lock.RUnlock()
	return t.sets[name]
}

// Names are the names of the sets, in the kernel's order.
func (t *IPSetTable) Names() []string {
	t.lock.RLock()
	defer t.lock.RUnlock()
	names := make([]string, len(t.order))
	for i, s := range t.order {
		names[i] = s.name
	}
	return names
}

// dumped are the sets in the order in which the kernel tells them: sets of sets come last. The caller holds the lock.
func (t *IPSetTable) dumped() []*IPSet {
	sets := slices.Clone(t.order)
	slices.SortStableFunc(sets, func(a, b *IPSet) int {
		return cmp.Compare(btoi(a.kind == listSetKind), btoi(b.kind == listSetKind))
	})
	return sets
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// setError is an error in the words of the ipset tool.
type setError struct {
	msg   string
	usage bool // the tool says how to get help and exits with 2
}

func (e *setError) Error() string { return e.msg }

func setErrorf(format string, args ...any) error { return &setError{msg: fmt.Sprintf(format, args...)} }

func setUsagef(format string, args ...any) error {
	return &setError{msg: fmt.Sprintf(format, args...), usage: true}
}

// The refusals of the kernel, in the words of the tool.
var (
	errSetMissing      = setErrorf("The set with the given name does not exist")
	errSetExists       = setErrorf("Set cannot be created: set with the same name already exists")
	errSetBusy         = setErrorf("Set cannot be destroyed: it is in use by a kernel component")
	errSetRenameBusy   = setErrorf("Set cannot be renamed: it is in use by another system")
	errSetRenameExists = setErrorf("Set cannot be renamed: a set with the new name already exists")
	errSetSwapMissing  = setErrorf("Sets cannot be swapped: the second set does not exist")
	errSetSwapType     = setErrorf("The sets cannot be swapped: their type does not match")
	errSetElemExists   = setErrorf("Element cannot be added to the set: it's already added")
	errSetElemMissing  = setErrorf("Element cannot be deleted from the set: it's not added")
	errSetFull         = setErrorf("Hash is full, cannot add more elements")
	errSetNull         = setErrorf("Null-valued element, cannot be stored in a hash type of set")
	errSetCIDR         = setErrorf("The value of the CIDR parameter of the IP address is invalid")
	errSetRange        = setErrorf("Element is out of the range of the set")
	errSetNestedList   = setErrorf("Sets with list:set type cannot be added to the set.")
	errSetNoRef        = setErrorf("The set to which you referred with 'before' or 'after' does not exist.")
	errSetRefNotAdded  = setErrorf("The set to which you referred with 'before' or 'after' is not added to the set.")
	errSetProtocol     = setErrorf("Kernel error received: ipset protocol error")
	errSetInvalid      = setErrorf("Kernel error received: Invalid argument")
	errSetNoElemSet    = setErrorf("Set to be added/deleted/tested as element does not exist.")
	errSetNoTimeout    = setErrorf("Timeout cannot be used: set was created without timeout support")
	errSetNoCounters   = setErrorf("Packet/byte counters cannot be used: set was created without counter support")
	errSetNoSKBInfo    = setErrorf("Skbinfo mapping cannot be used: set was created without skbinfo support")
	errSetNoComment    = setErrorf("Comment cannot be used: set was created without comment support")
)

// The defaults of hash types, with the kernel's values.
const (
	setHashSize    = 1024
	setMinHashSize = 64
	setMaxElem     = 65536
	setBucketSize  = 12
	setListSize    = 8
	setMinListSize = 4
)

// create makes a set.
func (t *IPSetTable) create(name string, kind *setKind, o IPSetOptions) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.sets[name] != nil {
		return errSetExists
	}
	if kind.hash() {
		o.HashSize = uint32(1) << bits.Len32(max(o.HashSize, setMinHashSize)-1)
		if o.InitVal == 0 {
			// The kernel draws this number; the same name always gets the same one here.
			h := fnv.New32a()
			_, _ = h.Write([]byte(name))
			o.InitVal = h.Sum32()
		}
	}
	s := &IPSet{name: name, kind: kind, options: o, entries: map[setKey]*setEntry{}, clock: t.clock}
	for s.slot < len(t.order) && t.order[s.slot].slot == s.slot {
		s.slot++
	}
	t.sets[name] = s
	t.order = slices.Insert(t.order, s.slot, s)
	return nil
}

func (t *IPSetTable) destroy(name string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.sets, name)
	t.order = slices.DeleteFunc(t.order, func(s *IPSet) bool { return s.name == name })
}

func (t *IPSetTable) rename(from, to string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	s := t.sets[from]
	if t.sets[to] != nil {
		return errSetRenameExists
	}
	delete(t.sets, from)
	s.name = to
	t.sets[to] = s
	return nil
}

// swap changes the contents of two sets of one type and family.
func (t *IPSetTable) swap(a, b string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	x, y := t.sets[a], t.sets[b]
	switch {
	case x == nil:
		return errSetMissing
	case y == nil:
		return errSetSwapMissing
	case x.kind != y.kind || x.options.Family != y.options.Family:
		return errSetSwapType
	}
	x.name, y.name = b, a
	t.sets[a], t.sets[b] = y, x
	i, j := slices.Index(t.order, x), slices.Index(t.order, y)
	t.order[i], t.order[j] = y, x
	x.slot, y.slot = y.slot, x.slot
	return nil
}

func (t *IPSetTable) flush(s *IPSet) {
	t.lock.Lock()
	defer t.lock.Unlock()
	s.entries, s.order, s.prefixes = map[setKey]*setEntry{}, nil, [129]int{}
}

// live reports whether the entry has not expired.
func (s *IPSet) live(e *setEntry) bool {
	return e != nil && (e.expires.IsZero() || s.clock.Now().Before(e.expires))
}

// expire removes the entries whose time is over. The caller holds the lock.
func (s *IPSet) expire() {
	if !s.options.HasTimeout {
		return
	}
	for k, e := range s.entries {
		if !s.live(e) {
			s.remove(k)
		}
	}
}

func (s *IPSet) remove(k setKey) {
	delete(s.entries, k)
	s.prefixes[s.prefixOf(k)]--
	if s.kind == listSetKind {
		s.order = slices.DeleteFunc(s.order, func(o setKey) bool { return o == k })
	}
}

func (s *IPSet) prefixOf(k setKey) uint8 {
	if s.kind.net2() {
		return k.bits2
	}
	return k.bits
}

// add puts an entry in. An entry that is there is replaced if exist is set.
func (s *IPSet) add(k setKey, e setEntry, exist bool) error {
	old := s.entries[k]
	if old != nil && s.live(old) && !exist {
		return errSetElemExists
	}
	if old == nil {
		s.expire()
		if s.kind.hash() && len(s.entries) >= int(s.options.MaxElem) {
			return errSetFull
		}
		s.prefixes[s.prefixOf(k)]++
		if s.kind == listSetKind {
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
