package mark

import "sync/atomic"

// Mark is a decision of the proxier.
type Mark uint8

// Recorder counts the decisions of the proxiers that it is handed to. A nil one
// counts nothing. All methods may be called from several goroutines.
type Recorder struct{ counts [marks]atomic.Uint64 }

// Hit notes that the decision was taken.
func (r *Recorder) Hit(m Mark) {
	if r != nil {
		r.counts[m].Add(1)
	}
}

// HitIf notes that the decision was taken, if it was.
func (r *Recorder) HitIf(m Mark, taken bool) {
	if taken {
		r.Hit(m)
	}
}

// Count says how often the decision was taken up to now.
func (r *Recorder) Count(m Mark) int {
	if r == nil {
		return 0
	}
	return int(r.counts[m].Load())
}

// String returns the mark's name: what part of the proxier decides, and the decision, for
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
