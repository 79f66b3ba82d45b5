package forall

import (
	"cmp"
	"slices"
	"sort"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
)

// longIndexed is from how many rules on a chain has an index by destinations.
const longIndexed = 64

// pointIndex finds the rules of a chain of iptables that may match some destinations.
type pointIndex struct {
	points []pointRule // of one destination, by these
	others []int32     // the other rules
	asked  bool        // since the memory was trimmed
}

type pointRule struct {
	to     diagram.Value
	number int32
}

// pointIndexes gives the indexes that the memory keeps.
func (m *memory) pointIndexes() map[*ruleset.Chain]*pointIndex {
	if m.points == nil {
		m.points = map[*ruleset.Chain]*pointIndex{}
	}
	return m.points
}

// pointsOf is the index of a chain.
func (read *readChains) pointsOf(c *ruleset.Chain) *pointIndex {
	x := read.points[c]
	if x == nil {
		x = &pointIndex{}
		for i, r := range c.Rules {
			if r.Dst != nil && !r.Dst.Invert {
				if in, some, _ := addrInterval(r.Dst); some && in.First == in.Last {
					x.points = append(x.points, pointRule{in.First, int32(i)})
					continue
				}
			}
			x.others = append(x.others, int32(i))
		}
		slices.SortFunc(x.points, func(a, b pointRule) int { return cmp.Or(a.to.Compare(b.to), cmp.Compare(a.number, b.number)) })
		read.points[c] = x
	}
	x.asked = true
	return x
}

// meeting are the numbers of the rules that may match some destinations, ascending.
func (x *pointIndex) meeting(to diagram.Set) []int32 {
	out := slices.Clone(x.others)
	for _, in := range to {
		at := sort.Search(len(x.points), func(i int) bool { return !x.points[i].to.Less(in.First) })
		for ; at < len(x.points) && !in.Last.Less(x.points[at].to); at++ {
			out = append(out, x.points[at].number)
		}
	}
	slices.Sort(out)
	return out
}
