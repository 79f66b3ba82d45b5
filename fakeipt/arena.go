package fakeipt

// slab hands out places for values, many from one allocation.
type slab[T any] struct {
	free []T
}

const slabSize = 128

// alloc returns a place for one value. Small restores pin little, big ones allocate seldom.
func (a *slab[T]) alloc() *T {
	if len(a.free) == cap(a.free) {
		a.free = make([]T, 0, min(max(2*cap(a.free), 1), slabSize))
	}
	a.free = a.free[:len(a.free)+1]
	return &a.free[len(a.free)-1]
}

// arena gives equal values the same pointer, and others a place in a slab: most
// matches and targets of a big ruleset are equal to another one. One arena lives as
// long as one restore.
type arena[T comparable] struct {
	slab[T]
	known map[T]*T
}

// intern returns a pointer to a value that nobody may change any more.
func (a *arena[T]) intern(v T) *T {
	if p, ok := a.known[v]; ok {
		return p
	}
	if a.known == nil {
		a.known = map[T]*T{}
	}
	p := a.alloc()
	*p = v
	a.known[v] = p
	return p
}
