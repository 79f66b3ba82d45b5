package fakeipt

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// NFAcctMode is what the quota of an object is about.
type NFAcctMode uint8

// The modes.
const (
	NFAcctNoQuota NFAcctMode = iota
	NFAcctByteQuota
	NFAcctPacketQuota
)

// NFAcctObject is a named pair of counters.
type NFAcctObject struct {
	Name           string
	Packets, Bytes uint64
	// Mode and Quota are those of an object that -m nfacct matches beyond a quota only.
	Mode  NFAcctMode
	Quota uint64
	// Over says that the quota has been reached since the object was made.
	Over bool
}

// Errors of an NFAcctTable.
var (
	ErrNFAcctExists  = errors.New("object of that name exists")
	ErrNFAcctName    = errors.New("object name is empty or too long")
	ErrNFAcctMissing = errors.New("no object of that name")
)

// NFAcctTable is the accounting objects of one network namespace. It is safe for concurrent use.
type NFAcctTable struct {
	lock    sync.RWMutex
	objects map[string]*nfacctCounters
	names   []string // in the order they were added
}

type nfacctCounters struct {
	packets, bytes atomic.Uint64
	mode           NFAcctMode
	quota          uint64
	over           atomic.Bool
}

// object is the state of the counters.
func (c *nfacctCounters) object(name string) NFAcctObject {
	return NFAcctObject{Name: name, Packets: c.packets.Load(), Bytes: c.bytes.Load(), Mode: c.mode, Quota: c.quota, Over: c.over.Load()}
}

// seen is the counter that the quota is about.
func (c *nfacctCounters) seen(packets, bytes uint64) uint64 {
	if c.mode == NFAcctPacketQuota {
		return c.packets.Load() + packets
	}
	return c.bytes.Load() + bytes
}

func newNFAcctTable() *NFAcctTable {
	return &NFAcctTable{objects: map[string]*nfacctCounters{}}
}

// Add makes an object with counters at zero.
func (t *NFAcctTable) Add(name string) error { return t.AddObject(NFAcctObject{Name: name}) }

// AddObject makes an object with what is in o.
func (t *NFAcctTable) AddObject(o NFAcctObject) error {
	name := o.Name
	if name == "" || len(name) > maxNFAcctName {
		return fmt.Errorf("%w: %q", ErrNFAcctName, name)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.objects[name] != nil {
		return fmt.Errorf("%w: %q", ErrNFAcctExists, name)
	}
	c := &nfacctCounters{mode: o.Mode, quota: o.Quota}
	c.packets.Store(o.Packets)
	c.bytes.Store(o.Bytes)
	c.over.Store(o.Over)
	t.objects[name] = c
	t.names = append(t.names, name)
	return nil
}

// Get returns an object and whether it is there.
func (t *NFAcctTable) Get(name string) (NFAcctObject, bool) {
	c := t.counters(name)
	if c == nil {
		return NFAcctObject{}, false
	}
	return c.object(name), true
}

func (t *NFAcctTable) counters(name string) *nfacctCounters {
	t.lock.RLock()
	defer t.lock.RUnlock()
	return t.objects[name]
}

// List returns every object, in the order they were added.
func (t *NFAcctTable) List() []NFAcctObject {
	t.lock.RLock()
	defer t.lock.RUnlock()
	list := make([]NFAcctObject, 0, len(t.objects))
	for _, name := range t.names {
		list = append(list, t.objects[name].object(name))
	}
	return list
}

// Count adds to an object's counters; there need not be such an object.
func (t *NFAcctTable) Count(name string, packets, bytes uint64) {
	if c := t.counters(name); c != nil {
		c.packets.Add(packets)
		c.bytes.Add(bytes)
		if c.mode != NFAcctNoQuota && c.seen(0, 0) >= c.quota {
			c.over.Store(true)
		}
	}
}

// Matches reports whether -m nfacct holds for a packet of so many bytes, which is not counted yet: always, but for an
// object with a quota that the packet does not go beyond.
func (t *NFAcctTable) Matches(name string, bytes uint64) bool {
	c := t.counters(name)
	return c == nil || c.mode == NFAcctNoQuota || c.seen(1, bytes) > c.quota
}

// Reset sets an object's counters to zero; a quota can then be reached again.
func (t *NFAcctTable) Reset(name string) {
	if c := t.counters(name); c != nil {
		c.packets.Store(0)
		c.bytes.Store(0)
		c.over.Store(false)
	}
}

// Delete removes an object. Whether a rule names it is not looked at.
func (t *NFAcctTable) Delete(name string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.objects[name] == nil {
		return fmt.Errorf("%w: %q", ErrNFAcctMissing, name)
	}
	delete(t.objects, name)
	t.names = slices.DeleteFunc(t.names, func(n string) bool { return n == name })
	return nil
}
