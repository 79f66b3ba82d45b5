package forall

import "github.com/chainwalk/chainwalk/netfilter"

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
