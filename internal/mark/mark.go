package mark

import "sync/atomic"

// Mark is a decision of the proxier.
type Mark uint8

// counts are the hits of this process.
var counts [marks]atomic.Uint64

// Hit notes that the decision was taken. It may be called by several goroutines.
func (m Mark) Hit() { counts[m].Add(1) }

// HitIf notes that the decision was taken, if it was.
func (m Mark) HitIf(taken bool) {
	if taken {
		m.Hit()
	}
}

// String returns the mark's name: the package that decides, and the decision, for
// example "model/hints-of-zone".
func (m Mark) String() string { return texts[m].name }

// Meaning says in words what is decided.
func (m Mark) Meaning() string { return texts[m].meaning }

// All returns every mark, those of one package together.
func All() []Mark {
	all := make([]Mark, marks)
	for i := range all {
		all[i] = Mark(i)
	}
	return all
}

// Counts says how often each decision was taken.
type Counts [marks]uint64

// Snapshot returns the hits of this process up to now.
func Snapshot() Counts {
	var now Counts
	for i := range counts {
		now[i] = counts[i].Load()
	}
	return now
}

// Since returns the hits after an earlier snapshot.
func (c Counts) Since(earlier Counts) Counts {
	for i := range c {
		c[i] -= earlier[i]
	}
	return c
}

// Plus returns the sum: the hits of two runs.
func (c Counts) Plus(other Counts) Counts {
	for i := range c {
		c[i] += other[i]
	}
	return c
}

// Reached returns the marks with a hit, in the order of All.
func (c Counts) Reached() []Mark { return c.choose(true) }

// Missed returns the marks without a hit, in the order of All.
func (c Counts) Missed() []Mark { return c.choose(false) }

func (c Counts) choose(reached bool) []Mark {
	var chosen []Mark
	for i, n := range c {
		if (n > 0) == reached {
			chosen = append(chosen, Mark(i))
		}
	}
	return chosen
}
