package nfacct

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// The modes of a quota, as the tool spells them: the counter that it is about.
const (
	noQuota     = ""
	byteQuota   = "byte"
	packetQuota = "packet"
)

// Object is a named pair of counters.
type Object struct {
	Name           string
	Packets, Bytes uint64
	// Mode and Quota belong to an object that -m nfacct matches only beyond a quota: "byte" or "packet"; "" is no quota.
	Mode  string
	Quota uint64
	// Over says that the quota has been reached since the object was made.
	Over bool
}

// MaxName is the length of an object's name.
const MaxName = 31

var (
	errExists  = errors.New("object of that name exists")
	errName    = errors.New("object name is empty or too long")
	errMissing = errors.New("no object of that name")
)

// Table is the accounting objects of one network namespace. It is safe for concurrent use.
type Table struct {
	lock    sync.RWMutex
	objects map[string]*counters
	names   []string // in the order they were added
}

type counters struct {
	packets, bytes atomic.Uint64
	mode           string
	quota          uint64
	over           atomic.Bool
}

// object is the state of the counters.
func (c *counters) object(name string) Object {
	return Object{Name: name, Packets: c.packets.Load(), Bytes: c.bytes.Load(), Mode: c.mode, Quota: c.quota, Over: c.over.Load()}
}

// seen is the counter that the quota is about.
func (c *counters) seen(packets, bytes uint64) uint64 {
	if c.mode == packetQuota {
		return c.packets.Load() + packets
	}
	return c.bytes.Load() + bytes
}

// NewTable returns a table without objects.
func NewTable() *Table {
	return &Table{objects: map[string]*counters{}}
}

// Add makes an object with counters at zero.
func (t *Table) Add(name string) error { return t.AddObject(Object{Name: name}) }

// AddObject makes an object with what is in o.
func (t *Table) AddObject(o Object) error {
	name := o.Name
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("%w: %q", errName, name)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.objects[name] != nil {
		return fmt.Errorf("%w: %q", errExists, name)
	}
	c := &counters{mode: o.Mode, quota: o.Quota}
	c.packets.Store(o.Packets)
	c.bytes.Store(o.Bytes)
	c.over.Store(o.Over)
	t.objects[name] = c
	t.names = append(t.names, name)
	return nil
}

// Get returns an object and whether it is there.
func (t *Table) Get(name string) (Object, bool) {
	c := t.find(name)
	if c == nil {
		return Object{}, false
	}
	return c.object(name), true
}

func (t *Table) find(name string) *counters {
	t.lock.RLock()
	defer t.lock.RUnlock()
	return t.objects[name]
}

// List returns every object, in the order they were added.
func (t *Table) List() []Object {
	t.lock.RLock()
	defer t.lock.RUnlock()
	list := make([]Object, 0, len(t.objects))
	for _, name := range t.names {
		list = append(list, t.objects[name].object(name))
	}
	return list
}

// Count adds to an object's counters; there need not be such an object.
func (t *Table) Count(name string, packets, bytes uint64) {
	if c := t.find(name); c != nil {
		c.packets.Add(packets)
		c.bytes.Add(bytes)
		if c.mode != noQuota && c.seen(0, 0) >= c.quota {
			c.over.Store(true)
		}
	}
}

// Matches reports whether -m nfacct holds for a packet of so many bytes, which is not counted yet: always, but for an
// object with a quota that the packet does not go beyond.
func (t *Table) Matches(name string, bytes uint64) bool {
	c := t.find(name)
	return c == nil || c.mode == noQuota || c.seen(1, bytes) > c.quota
}

// reset sets an object's counters to zero; a quota can then be reached again.
func (t *Table) reset(name string) {
	if c := t.find(name); c != nil {
		c.packets.Store(0)
		c.bytes.Store(0)
		c.over.Store(false)
	}
}

// remove removes an object. Whether a rule names it is not looked at.
func (t *Table) remove(name string) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.objects[name] == nil {
		return fmt.Errorf("%w: %q", errMissing, name)
	}
	delete(t.objects, name)
	t.names = slices.DeleteFunc(t.names, func(n string) bool { return n == name })
	return nil
}
