package forall

import (
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Touched is how many rules of IPv4 are found to be not the same on the hosts of fates; false: all is worked out again.
func Touched(f, g *Fates) (int, bool) {
	p, q := f.part(netfilter.IPv4, New), g.part(netfilter.IPv4, New)
	found, known := changesOf(p.world, p.terrain, q.terrain, New)
	return len(found), known
}

// ForgettingAfter are options with which so many nodes are made before they are forgotten.
func (o Options) ForgettingAfter(nodes int) Options {
	o.generation = nodes
	return o
}

// Alone are options with which endpoints are not walked in groups.
func (o Options) Alone() Options {
	o.alone = true
	return o
}

// IndexedFrom are options with which chains of so many rules have an index by destinations.
func (o Options) IndexedFrom(rules int) Options {
	o.indexed = rules
	return o
}

// Views are how many destinations of IPv4 are walked, and whether that failed with groups of endpoints.
func Views(h *packetsim.Host, o Options) (int, bool) {
	t, err := h.Terrain(netfilter.IPv4)
	if err != nil {
		panic(err)
	}
	w := newWorld(false, deviceNames(t))
	b := newBuilder(w, w.newStore(), t, New, &o)
	b.selves.on = !o.alone
	rootIn(b, w.store)
	walked := map[int32]bool{}
	for i := range b.slices {
		walked[b.slices[i].view] = true
	}
	return len(walked), b.selves.failed
}
