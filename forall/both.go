package forall

import (
	"iter"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Pair is a box and its fates on two hosts.
type Pair struct {
	Space       Space
	Here, There Distribution
	// Numbers are those of the two distributions: of two pairs of a family and class they are equal if and only if the distributions are.
	Numbers [2]int
	// Witness is a packet of the box, as likely a one as it has.
	Witness inet.Input
}

// Both are the fates of all packets of a family and class on two hosts.
type Both struct {
	roots
	family netfilter.Family
	class  Class
	likely *likely
}

// Truth is what is known of a condition with a name.
type Truth uint8

// The truths.
const (
	Fails  Truth = iota
	Holds        // for all packets
	Unsaid       // nobody says: what depends on it is no fate that is known
)

// Both puts the fates on another host beside those on this one; nil if one of them is not about the family and class. says tells what is
// known of conditions with names. Fates that depend on what is Unsaid are Unmodelled.
func (f *Fates) Both(other *Fates, family netfilter.Family, class Class, says func(name string) Truth) *Both {
	p, q := f.part(family, class), other.part(family, class)
	if p == nil || q == nil {
		return nil
	}
	r := p.beside(q)
	w := r.world
	value := func(v diagram.Var) (diagram.Value, bool) {
		if v < vNames {
			return diagram.Value{}, false
		}
		switch says(w.names[v-vNames]) {
		case Holds:
			return diagram.Number(1), true
		case Fails:
			return diagram.Value{}, true
		}
		return diagram.Value{}, false
	}
	unsaid := func(v diagram.Var) (diagram.ID, bool) {
		if v < vNames {
			return 0, false
		}
		return w.store.One(w.fate(Fate{Unmodelled: "whether [" + w.named(v, true).String() + "] holds"})), true
	}
	for _, root := range [...]*diagram.ID{&r.a, &r.b} {
		*root = w.store.Close(w.store.Fix(*root, value), unsaid)
	}
	return &Both{r, family, class, newLikely(f.host, other.host)}
}

// Count is how many boxes Boxes has.
func (b *Both) Count() float64 { return b.world.store.CountPathsOfTwo(b.a, b.b) }

// Boxes are disjoint boxes that together have all packets, in an order that only the functions decide.
func (b *Both) Boxes() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		b.world.store.PathsOfTwo(b.a, b.b, func(path []diagram.Edge, x, y diagram.ID) bool {
			p := Pair{Space: b.world.space(b.family, b.class, path), Here: b.world.distribution(x), There: b.world.distribution(y),
				Numbers: [2]int{int(x), int(y)}}
			p.Witness, _ = b.likely.witness(&p.Space)
			return yield(p)
		})
	}
}
