package persist

import (
	"iter"
	"slices"
)

// List is values in an order. It never changes but by who has called Edit; its zero value is empty, and All and Len take a nil
// pointer for an empty one, too.
type List[V any] struct {
	pages []*listPage[V] // none of them empty
	count int
	owner *owner
}

type listPage[V any] struct {
	owner  *owner
	values []V
}

// listPageSize is the number of values at which a page is cut in two.
const listPageSize = 128

// Len is the number of values.
func (l *List[V]) Len() int {
	if l == nil {
		return 0
	}
	return l.count
}

// Edit is an equal list that may be changed without changing this one.
func (l *List[V]) Edit() *List[V] {
	return &List[V]{pages: slices.Clone(l.pages), count: l.count, owner: &owner{}}
}

// All are the values in their order.
func (l *List[V]) All() iter.Seq[V] {
	return func(yield func(V) bool) {
		if l == nil {
			return
		}
		for _, p := range l.pages {
			for _, v := range p.values {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// Values are the values in their order, as a slice.
func (l *List[V]) Values() []V {
	values := make([]V, 0, l.count)
	for _, p := range l.pages {
		values = append(values, p.values...)
	}
	return values
}

// Place is a place in a list: that of a value, or behind the last one.
type Place struct{ page, index int }

// Search is the first place whose value is not less than what is sought: less says of a value whether it is.
func (l *List[V]) Search(less func(V) bool) Place {
	low, high := 0, len(l.pages)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if values := l.pages[middle].values; less(values[len(values)-1]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(l.pages) {
		return Place{low, 0}
	}
	values := l.pages[low].values
	first, last := 0, len(values)
	for first < last {
		middle := int(uint(first+last) >> 1)
		if less(values[middle]) {
			first = middle + 1
		} else {
			last = middle
		}
	}
	return Place{low, first}
}

// At is the value of a place; false behind the last one.
func (l *List[V]) At(p Place) (V, bool) {
	if p.page >= len(l.pages) {
		var none V
		return none, false
	}
	return l.pages[p.page].values[p.index], true
}

// Before is the place before another one; false before the first one.
func (l *List[V]) Before(p Place) (Place, bool) {
	if p.index > 0 {
		return Place{p.page, p.index - 1}, true
	}
	if p.page == 0 {
		return p, false
	}
	return Place{p.page - 1, len(l.pages[p.page-1].values) - 1}, true
}

// After is the place behind that of a value.
func (l *List[V]) After(p Place) Place {
	if p.index+1 < len(l.pages[p.page].values) {
		return Place{p.page, p.index + 1}
	}
	return Place{p.page + 1, 0}
}

// writable is a page, copied unless this edit has done so.
func (l *List[V]) writable(page int) *listPage[V] {
	p := l.pages[page]
	if p.owner != l.owner {
		p = &listPage[V]{owner: l.owner, values: append(make([]V, 0, max(len(p.values)+8, 16)), p.values...)}
		l.pages[page] = p
	}
	return p
}

// Set puts a value in the place of another one. Only for a list that Edit gave.
func (l *List[V]) Set(at Place, v V) { l.writable(at.page).values[at.index] = v }

// Insert puts a value before that of a place. Only for a list that Edit gave.
func (l *List[V]) Insert(at Place, v V) {
	l.count++
	if at.page == len(l.pages) {
		if at.page == 0 {
			l.pages = append(l.pages, &listPage[V]{owner: l.owner, values: []V{v}})
			return
		}
		at.page--
		at.index = len(l.pages[at.page].values)
		// Most lists grow at their end: full pages stay full.
		if at.index >= listPageSize {
			l.pages = append(l.pages, &listPage[V]{owner: l.owner, values: append(make([]V, 0, 16), v)})
			return
		}
	}
	p := l.writable(at.page)
	p.values = slices.Insert(p.values, at.index, v)
	if len(p.values) > listPageSize {
		half := len(p.values) / 2
		rest := &listPage[V]{owner: l.owner, values: slices.Clone(p.values[half:])}
		clear(p.values[half:])
		p.values = p.values[:half]
		l.pages = slices.Insert(l.pages, at.page+1, rest)
	}
}

// Append puts a value behind all others. Only for a list that Edit gave.
func (l *List[V]) Append(v V) { l.Insert(Place{len(l.pages), 0}, v) }

// Remove takes the value of a place out. Only for a list that Edit gave.
func (l *List[V]) Remove(at Place) {
	l.count--
	p := l.writable(at.page)
	p.values = slices.Delete(p.values, at.index, at.index+1)
	if len(p.values) == 0 {
		l.pages = slices.Delete(l.pages, at.page, at.page+1)
	}
}
