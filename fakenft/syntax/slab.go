package syntax

// Slab hands out values of one type from blocks: a text has so many small ones that the allocator would take longer than the parser. A
// block lives as long as one of its values.
type Slab[T any] struct {
	rest []T
	size int // of the last block
}

// The sizes of blocks: the first is small, since most texts are, and each other one twice as large as the one before.
const (
	leastBlock = 4
	mostBlock  = 64
)

// New is a value that nobody has.
func (s *Slab[T]) New() *T {
	if len(s.rest) == 0 {
		s.size = min(max(2*s.size, leastBlock), mostBlock)
		s.rest = make([]T, s.size)
	}
	v := &s.rest[0]
	s.rest = s.rest[1:]
	return v
}

// Lists hands out lists, each of just its length, from blocks. Those that are not complete yet lie on a stack: of several that are open,
// the one opened last is ended first.
type Lists[T any] struct {
	open []T
	rest []T
	size int // of the last block
}

// Begin opens a list and gives its beginning, which End wants.
func (l *Lists[T]) Begin() int { return len(l.open) }

// Add adds to the list that was opened last.
func (l *Lists[T]) Add(v T) { l.open = append(l.open, v) }

// End is what was added to the list that was opened last; nil for nothing.
func (l *Lists[T]) End(begin int) []T {
	n := len(l.open) - begin
	if n == 0 {
		return nil
	}
	if n > len(l.rest) {
		l.size = min(max(2*l.size, leastBlock), mostBlock)
		l.rest = make([]T, max(l.size, n))
	}
	list := l.rest[:n:n]
	copy(list, l.open[begin:])
	l.open, l.rest = l.open[:begin], l.rest[n:]
	return list
}
