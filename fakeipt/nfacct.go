package fakeipt

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// NFAcctObject is a named pair of counters.
type NFAcctObject struct {
	Name           string
	Packets, Bytes uint64
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
}

func newNFAcctTable() *NFAcctTable {
	return &NFAcctTable{objects: map[string]*nfacctCounters{}}
}

// Add makes an object with counters at zero.
func (t *NFAcctTable) Add(name string) error {
	if name == "" || len(name) > maxNFAcctName {
		return fmt.Errorf("%w: %q", ErrNFAcctName, name)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.objects[name] != nil {
		return fmt.Errorf("%w: %q", ErrNFAcctExists, name)
	}
	t.objects[name] = &nfacctCounters{}
	t.names = append(t.names, name)
	return nil
}

// Get returns an object and whether it is there.
func (t *NFAcctTable) Get(name string) (NFAcctObject, bool) {
	c := t.counters(name)
	if c == nil {
		return NFAcctObject{}, false
	}
	return NFAcctObject{Name: name, Packets: c.packets.Load(), Bytes: c.bytes.Load()}, true
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
		c := t.objects[name]
		list = append(list, NFAcctObject{Name: name, Packets: c.packets.Load(), Bytes: c.bytes.Load()})
	}
	return list
}

// Count adds to an object's counters; there need not be such an object.
func (t *NFAcctTable) Count(name string, packets, bytes uint64) {
	if c := t.counters(name); c != nil {
		c.packets.Add(packets)
		c.bytes.Add(bytes)
	}
}

// Reset sets an object's counters to zero.
func (t *NFAcctTable) Reset(name string) {
	if c := t.counters(name); c != nil {
		c.packets.Store(0)
		c.bytes.Store(0)
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
