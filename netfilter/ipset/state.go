package ipset

import (
	"fmt"
	"slices"
	"sync"

	"github.com/chainwalk/chainwalk/internal/record"
)

// setState is a set as the state of the tools has it.
type setState struct {
	Name    string
	Slot    uint32
	Type    string
	Options options
	Keys    []key // in the order of list:set
	Entries []entry
	Table   hashState // of the hash types
}

// hashState is the table of a hash type: the places of the elements, which decide where another one goes.
type hashState struct {
	Bits       uint8
	BucketSize uint8
	ExtSize    int64
	Buckets    []bucketState
}

// bucketState is a bucket: how many places it has room for, and which of the keys stand in those that have been used.
type bucketState struct {
	Index  uint32
	Size   uint8
	Places []int32 // indices of keys, -1 for a place that is free
}

// tableState is a table as the state of the tools has it.
type tableState struct{ Sets []setState }

var stateTypes = sync.OnceValue(func() *record.Types { return record.NewTypes(nil, &tableState{}) })

// AppendState appends the sets with their elements so that ReadState makes them again, just as they are.
func (t *Table) AppendState(dst []byte) []byte {
	t.lock.RLock()
	defer t.lock.RUnlock()
	state := tableState{Sets: make([]setState, 0, len(t.order))}
	for _, s := range t.order {
		state.Sets = append(state.Sets, s.state())
	}
	w := stateTypes().Writer(dst, 0)
	w.Write(&state)
	return w.Record()
}

// state is the set as the state of the tools has it.
func (s *set) state() setState {
	state := setState{Name: s.name, Slot: uint32(s.slot), Type: s.kind.name, Options: s.options}
	switch s.kind.store {
	case storeList:
		state.Keys = s.order
	case storeHash:
		state.Table, state.Keys = s.table.state()
	default:
		for k := range s.entries {
			state.Keys = append(state.Keys, k)
		}
		slices.SortFunc(state.Keys, key.compare)
	}
	for _, k := range state.Keys {
		state.Entries = append(state.Entries, *s.entries[k])
	}
	return state
}

// state is the table as the state of the tools has it, and the keys in it.
func (h *hashTable) state() (state hashState, keys []key) {
	state = hashState{Bits: uint8(h.bits), BucketSize: h.bucketSize, ExtSize: int64(h.extSize)}
	for _, index := range h.indices() {
		b := h.buckets[index]
		kept := bucketState{Index: index, Size: uint8(b.size), Places: make([]int32, len(b.places))}
		for i, p := range b.places {
			kept.Places[i] = -1
			if p.used {
				kept.Places[i] = int32(len(keys))
				keys = append(keys, p.key)
			}
		}
		state.Buckets = append(state.Buckets, kept)
	}
	return state, keys
}

// ReadState makes the sets that AppendState has written, in a table without any.
func (t *Table) ReadState(text []byte) error {
	var state tableState
	r, err := stateTypes().Reader(text)
	if err != nil {
		return err
	}
	if err := r.Read(&state); err != nil {
		return err
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	for i := range state.Sets {
		if err := t.readSet(&state.Sets[i]); err != nil {
			return err
		}
	}
	return nil
}

// readSet makes one set.
func (t *Table) readSet(state *setState) error {
	kind := findType(state.Type)
	cannotBe := fmt.Errorf("a set %q of type %q cannot be", state.Name, state.Type)
	if kind == nil || kind.absent || t.sets[state.Name] != nil || len(state.Keys) != len(state.Entries) {
		return cannotBe
	}
	s := newSet(state.Name, kind, state.Options, t.clock)
	s.slot = int(state.Slot)
	for i, k := range state.Keys {
		s.entries[k] = &state.Entries[i]
		s.prefixes[s.prefixOf(k)]++
	}
	switch kind.store {
	case storeList:
		s.order = slices.Clone(state.Keys)
	case storeHash:
		if !s.readTable(state) {
			return cannotBe
		}
	}
	t.sets[s.name] = s
	t.order = append(t.order, s)
	return nil
}

// readTable puts the elements into their places.
func (s *set) readTable(state *setState) (ok bool) {
	h := s.table
	h.bits, h.bucketSize = int(state.Table.Bits), state.Table.BucketSize
	if h.bits > maxHashBits {
		return false
	}
	h.flush()
	h.extSize = int(state.Table.ExtSize)
	for _, kept := range state.Table.Buckets {
		b := &bucket{size: int(kept.Size), places: make([]slot, len(kept.Places))}
		for i, at := range kept.Places {
			if at < 0 {
				continue
			}
			if int(at) >= len(state.Keys) {
				return false
			}
			k := state.Keys[at]
			b.places[i] = slot{used: true, key: k, hash: s.entries[k].at.hash}
			h.elements[h.region(kept.Index)]++
		}
		h.buckets[kept.Index] = b
	}
	return true
}
