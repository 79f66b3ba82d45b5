package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
)

// The destinations of most services are treated alike but for what they are translated to, and for which sources are among these. So on the
// way to the fates of a view both have numbers of the view's own. Two views that differ in nothing else then get the same nodes, which are
// there already for all but the first, and what the numbers stand for is put in at the end (settler).

// names are the numbers of a view, from 1 on.
type names struct {
	targets locals[destination]
	sources locals[diagram.Value] // those that vWho tells apart
	used    int                   // how often one was asked for, by which is known what holds for the view only
}

// locals gives values numbers, of which there are few.
type locals[T comparable] struct {
	all   []T
	known map[T]int32 // once they are many
}

// fewLocals is up to how many values are looked for one by one.
const fewLocals = 16

func (l *locals[T]) number(value T) int32 {
	if l.known == nil {
		if at := slices.Index(l.all, value); at >= 0 {
			return int32(at + 1)
		}
	} else if id, is := l.known[value]; is {
		return id
	}
	l.all = append(l.all, value)
	switch {
	case l.known != nil:
		l.known[value] = int32(len(l.all))
	case len(l.all) > fewLocals:
		l.known = map[T]int32{}
		for i, other := range l.all {
			l.known[other] = int32(i + 1)
		}
	}
	return int32(len(l.all))
}

func (l *locals[T]) reset() { l.all, l.known = l.all[:0], nil }

// target is the number of a target in states.
func (n *names) target(to destination) int32 {
	n.used++
	return someTarget - n.targets.number(to)
}

// targetOf is the target of a number.
func (n *names) targetOf(number int32) destination {
	n.used++
	return n.targets.all[someTarget-number-1]
}

// source is the number of a source in vWho.
func (n *names) source(v diagram.Value) diagram.Value {
	n.used++
	return diagram.Number(uint64(n.sources.number(v)))
}

// begin begins with the packets of another view.
func begin(b *builder, view int32) {
	b.here, b.views[hereView] = view, b.views[view]
	b.names.targets.reset()
	b.names.sources.reset()
	b.walks.begin()
	b.sums.begin()
}

// settler copies the fates of packets to one destination after the other into a store, with what the numbers of the view stand for.
type settler struct {
	diagram.Copier
	b    *builder
	ends []settledEnd // by the numbers of fates in which one stands for a target
}

// settledEnd is a fate with what a number stands for in a view.
type settledEnd struct {
	as   diagram.Atom
	view int32
}

func newSettler(b *builder, to *diagram.Store) *settler {
	s := &settler{b: b}
	s.Copier = diagram.Copier{To: to, From: b.s, Who: vWho, As: s.atom}
	return s
}

// of is the fates of packets to the destinations of a view.
func (s *settler) of(view int32) diagram.ID {
	made := s.b.walkFrom(view)
	s.Is = s.b.names.sources.all
	return s.Copy(made)
}

// atom is an atom with what the destination is translated to. now says that this is so for the view only.
func (s *settler) atom(a diagram.Atom) (as diagram.Atom, now bool) {
	b := s.b
	if a >= 0 {
		k, st := b.stateOf(a)
		if st.to >= someTarget {
			return a, false
		}
		st.to = b.targets.number(b.names.targetOf(st.to))
		return b.atom(k, st), true
	}
	end := b.w.ends.all[-a]
	if end.dst != someAddr {
		return a, false
	}
	for len(s.ends) <= int(-a) {
		s.ends = append(s.ends, settledEnd{})
	}
	if known := &s.ends[-a]; known.view != b.here {
		*known = settledEnd{b.w.end(end.to(b.names.targetOf(int32(end.port)))), b.here}
	}
	return s.ends[-a].as, true
}
