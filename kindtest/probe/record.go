package probe

import (
	"context"
	"slices"
	"sync"
)

// remembered is how many entries a record has at most; the oldest go.
const remembered = 10_000

// record is a list that others wait on.
type record[T any] struct {
	mu      sync.Mutex
	most    int
	entries []T
	dropped int           // how many of the oldest went
	grown   chan struct{} // closed when there is more
}

func newRecord[T any](most int) *record[T] {
	return &record[T]{most: most, grown: make(chan struct{})}
}

// add makes an entry, which is told its number, from 1.
func (r *record[T]) add(entry func(number int) T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == r.most {
		// A quarter at once, so that a full record is not moved for each entry.
		gone := r.most/4 + 1
		r.entries, r.dropped = slices.Delete(r.entries, 0, gone), r.dropped+gone
	}
	r.entries = append(r.entries, entry(r.dropped+len(r.entries)+1))
	close(r.grown)
	r.grown = make(chan struct{})
}

// clear forgets all entries. Their numbers do not come again.
func (r *record[T]) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += len(r.entries)
	r.entries = nil
}

// found has the entries that are wanted.
func (r *record[T]) found(wanted func(*T) bool) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []T{}
	for i := range r.entries {
		if wanted(&r.entries[i]) {
			found = append(found, r.entries[i])
		}
	}
	return found
}

// find has the entries that are wanted, without the first known ones. If there is none it waits for one, until the context ends.
func (r *record[T]) find(ctx context.Context, known int, wanted func(*T) bool) []T {
	known = max(known, 0)
	for {
		r.mu.Lock()
		grown := r.grown
		r.mu.Unlock()
		found := r.found(wanted)
		if len(found) > known {
			return found[known:]
		}
		select {
		case <-ctx.Done():
			return nil
		case <-grown:
		}
	}
}
