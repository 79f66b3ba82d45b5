package xtables

// Slab hands out places for values, many from one allocation.
type Slab[T any] struct {
	free []T
}

// SlabSize is the number of values of a big allocation.
const SlabSize = 128

// Alloc returns a place for one value. Small restores pin little, big ones allocate seldom.
func (a *Slab[T]) Alloc() *T {
	if len(a.free) == cap(a.free) {
		a.free = make([]T, 0, min(max(2*cap(a.free), 1), SlabSize))
	}
	a.free = a.free[:len(a.free)+1]
	return &a.free[len(a.free)-1]
}

// Arena gives equal values the same pointer, and others a place in a slab: most
// matches and targets of a big ruleset are equal to another one. One arena lives as
// long as one restore.
type Arena[T comparable] struct {
	Slab[T]
	known map[T]*T
}

// Intern returns a pointer to a value that nobody may change any more.
func (a *Arena[T]) Intern(v T) *T {
	if p, ok := a.known[v]; ok {
		return p
	}
	if a.known == nil {
		a.known = map[T]*T{}
	}
	p := a.Alloc()
	*p = v
	a.known[v] = p
	return p
}
