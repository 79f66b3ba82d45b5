package ipset

import (
	"fmt"
	"slices"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/internal/record"
)

// setState is a set as the state of the tools has it.
type setState struct {
	Name    string
	Slot    uint32
	Type    string
	Options options
	Seq     uint64
	Keys    []key // in the order of list:set
	Entries []entry
}

// tableState is a table as the state of the tools has it.
type tableState struct{ Sets []setState }

var stateTypes = sync.OnceValue(func() *record.Types { return record.NewTypes(nil, &tableState{}) })

// AppendState appends the sets with their elements so that ReadState makes them again, just as they are. What has expired is left out.
func (t *Table) AppendState(dst []byte) []byte {
	t.lock.RLock()
	defer t.lock.RUnlock()
	state := tableState{Sets: make([]setState, 0, len(t.order))}
	for _, s := range t.order {
		o := setState{Name: s.name, Slot: uint32(s.slot), Type: s.kind.name, Options: s.options, Seq: s.seq, Keys: s.liveKeys(true)}
		for _, k := range o.Keys {
			o.Entries = append(o.Entries, *s.entries[k])
		}
		state.Sets = append(state.Sets, o)
	}
	w := stateTypes().Writer(dst, 0)
	w.Write(&state)
	return w.Record()
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
		o := &state.Sets[i]
		kind := findType(o.Type)
		if kind == nil || t.sets[o.Name] != nil || len(o.Keys) != len(o.Entries) {
			return fmt.Errorf("a set %q of type %q cannot be", o.Name, o.Type)
		}
		s := &set{name: o.Name, slot: int(o.Slot), kind: kind, options: o.Options, entries: map[key]*entry{}, seq: o.Seq, clock: t.clock}
		for i, k := range o.Keys {
			s.entries[k] = &o.Entries[i]
			s.prefixes[s.prefixOf(k)]++
		}
		if kind == listSet {
			s.order = slices.Clone(o.Keys)
		}
		t.sets[s.name] = s
		t.order = append(t.order, s)
	}
	return nil
}
