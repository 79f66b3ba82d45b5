package diagram

// arena keeps lists one behind the other in blocks. A block is never moved, so that much costs no more to keep than little.
type arena[T ~int32] struct {
	blocks [][]T // those behind used are empty
	used   int
	size   int // of all lists
}

// place is where a list is.
type place struct{ block, first, count uint32 }

const (
	firstBlock = 1 << 10
	lastBlock  = 1 << 18 // the greatest number of a block, but for one whose list is longer
)

// add keeps a list that begins with a head.
func (a *arena[T]) add(head, tail []T) place {
	n := len(head) + len(tail)
	if a.used == 0 || cap(a.blocks[a.used-1])-len(a.blocks[a.used-1]) < n {
		a.next(n)
	}
	block := &a.blocks[a.used-1]
	first := len(*block)
	*block = append(append(*block, head...), tail...)
	a.size += n
	return place{uint32(a.used - 1), uint32(first), uint32(n)}
}

// next begins a block that has room for a list.
func (a *arena[T]) next(n int) {
	size := firstBlock
	if a.used > 0 {
		size = min(2*cap(a.blocks[a.used-1]), lastBlock)
	}
	if a.used == len(a.blocks) {
		a.blocks = append(a.blocks, nil)
	}
	if cap(a.blocks[a.used]) < n {
		a.blocks[a.used] = make([]T, 0, max(size, n))
	}
	a.used++
}

// at is the list of a place. It is not to be written to.
func (a *arena[T]) at(p place) []T {
	return a.blocks[p.block][p.first : p.first+p.count : p.first+p.count]
}

// arenaMark is a moment of an arena.
type arenaMark struct{ used, last, size int }

func (a *arena[T]) mark() arenaMark {
	m := arenaMark{used: a.used, size: a.size}
	if a.used > 0 {
		m.last = len(a.blocks[a.used-1])
	}
	return m
}

// release forgets the lists since a moment, and keeps their room for others.
func (a *arena[T]) release(m arenaMark) {
	for i := max(m.used-1, 0); i < a.used; i++ {
		keep := 0
		if i == m.used-1 {
			keep = m.last
		}
		a.blocks[i] = a.blocks[i][:keep]
	}
	a.used, a.size = m.used, m.size
}
