package forall

import (
	"cmp"
	"fmt"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
)

// Each destination is walked for itself, and little of what is worked out for it is of use for the next one. So a builder forgets what it
// has worked out whenever that has become much, but for what it had worked out first, which all destinations have in common: the ways
// behind translations, through the filter table and out. Memory stays bounded then, and small enough for the processor's caches.

// defaultGeneration is how many nodes a builder makes before it forgets them.
const defaultGeneration = 1 << 12

// remembered is functions by keys, which are forgotten with the nodes that they are.
type remembered[K comparable] struct {
	known map[K]diagram.ID
	since []K              // those that will be forgotten
	here  map[K]diagram.ID // those that have names of the view that is walked now
}

func (r *remembered[K]) get(key K) (diagram.ID, bool) {
	id, known := r.known[key]
	return id, known
}

func (r *remembered[K]) put(key K, id diagram.ID) {
	if r.known == nil {
		r.known = map[K]diagram.ID{}
	}
	r.known[key] = id
	r.since = append(r.since, key)
}

// recall is what is remembered, or what is made then. What is of the view that is walked, or has names of it, is remembered until the next.
func recall[K comparable](n *names, r *remembered[K], key K, isHere bool, of func() diagram.ID) diagram.ID {
	if !isHere {
		if known, is := r.known[key]; is {
			return known
		}
	}
	if known, is := r.here[key]; is {
		n.used++
		return known
	}
	used := n.used
	made := of()
	switch {
	case n.used == used && !isHere:
		r.put(key, made)
		return made
	case r.here == nil:
		r.here = map[K]diagram.ID{}
	}
	r.here[key] = made
	n.used++
	return made
}

// begin forgets what has names of a view.
func (r *remembered[K]) begin() { clear(r.here) }

// mark keeps for good what is known.
func (r *remembered[K]) mark() { r.since = nil }

// release forgets what has become known since the mark.
func (r *remembered[K]) release() {
	clear(r.here)
	for _, key := range r.since {
		delete(r.known, key)
	}
	r.since = r.since[:0]
}

// truncate forgets all numbers but so many.
func (n *numbered[T]) truncate(count int) {
	for _, value := range n.all[count:] {
		delete(n.known, value)
	}
	n.all, n.last = n.all[:count], 0
}

// generations is when a builder forgets, and up to where.
type generations struct {
	nodes  int
	marked bool
	mark   diagram.Mark
	states int
}

// forget begins another generation if the last one has become large. Nothing outside of what the builder remembers may hold IDs then.
func forget(b *builder, copied *diagram.Copier) {
	g := &b.gen
	switch {
	case !g.marked && b.s.Len() > g.nodes:
		g.marked = true
		keep(b)
		for _, r := range remembers(b) {
			r.mark()
		}
	case g.marked && b.s.Len() > g.mark.Nodes()+g.nodes:
		release(b, copied)
	}
}

// keep notes what the builder will not forget.
func keep(b *builder) { b.gen.mark, b.gen.states = b.s.Mark(), len(b.states.all) }

// release forgets all since keep, and what is remembered.
func release(b *builder, copied *diagram.Copier) {
	b.s.Release(b.gen.mark)
	copied.Release(b.gen.mark)
	b.states.truncate(b.gen.states)
	for _, r := range remembers(b) {
		r.release()
	}
}

// defaultMemory is how many bytes may be needed to work out what becomes of packets. A service of 1,000 endpoints with a rule for each that
// keeps its clients needs more.
const defaultMemory = 1 << 30

// bound is how many bytes a store may have on the way to fates.
type bound int

func (o *Options) bound() bound { return bound(cmp.Or(o.Memory, defaultMemory)) }

// String says how much it is.
func (m bound) String() string { return fmt.Sprintf("%d MB", m>>20) }

// tooLarge says that what becomes of packets and their replies, or of packets on several hosts, needs more memory, and what to do.
func (m bound) tooLarge() error {
	return fmt.Errorf("forall: the ways through the rules need more than %s of memory: ask without replies, or about one host", m)
}

// within is the fates of packets to one destination. They are not known if they need more memory than there may be; all that was made for
// them is forgotten then.
func within(b *builder, s *settler, view int32) (made diagram.ID) {
	if !b.gen.marked {
		keep(b)
	}
	if b.s.Within(int(b.bound), func() { made = s.of(view) }) {
		return made
	}
	release(b, &s.Copier)
	b.forked, b.runs.runs = 0, b.runs.runs[:0]
	return s.To.One(b.w.fate(Fate{Unmodelled: fmt.Sprintf("more ways through the rules than %s of memory hold", b.bound)}))
}

// remembering is what forgets with the nodes.
type remembering interface {
	mark()
	release()
}

func remembers(b *builder) []remembering {
	return []remembering{&b.walks, &b.cutsIn, &b.cutsOut, &b.targeted, &b.sums, &b.looked}
}
