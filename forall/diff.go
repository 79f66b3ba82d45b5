package forall

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Difference is packets that two hosts treat otherwise: all of one kind, by one of them.
type Difference struct {
	// Space is a box of them, Here and There their fates on both hosts.
	Space       Space
	Here, There Distribution
	// Witness is a packet of the box, as likely a one as the box has.
	Witness inet.Input
	// Share is how much of all packets of the class and family differ in this way, from 0 to 1.
	Share float64
}

// Depends are the names of the conditions that the difference was found under.
func (d *Difference) Depends() []string {
	var names []string
	for _, n := range d.Space.Names {
		names = append(names, n.Name)
	}
	return names
}

// Diff is every kind of difference once, that which most packets have first. A kind is two distributions of fates but for what is
// translated to: boxes in
// which both hosts do the same two things are one kind.
func (f *Fates) Diff(other *Fates) iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		for i := range f.parts {
			p := &f.parts[i]
			q := other.part(p.family, p.class)
			if q == nil {
				continue
			}
			for _, d := range p.diff(q, f, other) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

func (p *part) diff(q *part, f, other *Fates) []Difference {
	r := p.beside(q)
	if r.a == r.b {
		return nil
	}
	likely := newLikely(f.host, other.host)
	kinds := map[string]int{}
	var all []Difference
	var worst []int
	kindOf := func(a, b diagram.ID) string {
		return r.world.distribution(a).Kind() + " | " + r.world.distribution(b).Kind()
	}
	r.world.store.ShareOfPairs(r.a, r.b, func(a, b diagram.ID, share float64) {
		kind := kindOf(a, b)
		at, known := kinds[kind]
		if !known {
			at = len(all)
			kinds[kind] = at
			all, worst = append(all, Difference{}), append(worst, math.MaxInt)
		}
		all[at].Share += share
	})
	r.world.store.Pairs(r.a, r.b, likely.costs(p.family), func(path []diagram.Edge, a, b diagram.ID) bool {
		space := r.world.space(p.family, p.class, path)
		witness, cost := likely.witness(&space)
		if at := kinds[kindOf(a, b)]; cost < worst[at] {
			worst[at] = cost
			all[at] = Difference{
				Space: space, Here: r.world.distribution(a), There: r.world.distribution(b), Witness: witness, Share: all[at].Share,
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b Difference) int { return compareShares(b.Share, a.Share) })
	return all
}

func compareShares(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Kind is what fates have in common that differ in what is translated to, and in the device only.
func (d Distribution) Kind() string {
	var kinds []string
	for _, s := range d {
		f := s.Fate
		if f.Unmodelled == "" {
			text := string(f.Verdict) + " " + string(f.To) + " " + f.RejectWith
			if f.Dst.IsValid() || f.DstPort != 0 {
				text += " dnat"
			}
			if f.Src.IsValid() {
				text += " snat"
			}
			if f.Mark != 0 {
				text += " mark"
			}
			if f.Way != "" {
				text += " on " + f.Way
			}
			if f.Back != (Back{}) {
				text += " back " + f.Back.kind()
			}
			kinds = append(kinds, text)
		} else {
			kinds = append(kinds, "? "+f.Unmodelled)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ", ")
}
