package forall

import "github.com/chainwalk/chainwalk/forall/internal/diagram"

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
		g.marked, g.mark, g.states = true, b.s.Mark(), len(b.states.all)
		for _, r := range remembers(b) {
			r.mark()
		}
	case g.marked && b.s.Len() > g.mark.Nodes()+g.nodes:
		b.s.Release(g.mark)
		copied.Release(g.mark)
		b.states.truncate(g.states)
		for _, r := range remembers(b) {
			r.release()
		}
	}
}

// remembering is what forgets with the nodes.
type remembering interface {
	mark()
	release()
}

func remembers(b *builder) []remembering {
	return []remembering{&b.walks, &b.cutsIn, &b.cutsOut, &b.targeted, &b.sums, &b.looked}
}
