package trial

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// nodes are what a trial knows of its nodes, in the cluster's order.
type nodes []*nodeState

// ruled are the views that the nodes' rules were made of.
func (all nodes) ruled() []*view {
	return all.views(func(n *nodeState) *view { return n.ruled })
}

// tried are the views that the nodes' syncs have last tried to make rules of.
func (all nodes) tried() []*view {
	return all.views(func(n *nodeState) *view {
		switch {
		case n.next != nil:
			return n.next
		case len(n.tried) > 0:
			return n.tried[len(n.tried)-1]
		}
		return n.ruled
	})
}

func (all nodes) views(of func(*nodeState) *view) []*view {
	out := make([]*view, len(all))
	for i, n := range all {
		out[i] = of(n)
	}
	return out
}

// blind reports whether the rules of a node are damaged, so that nothing is promised.
func (all nodes) blind() bool {
	for _, n := range all {
		if n.damage.any() {
			return true
		}
	}
	return false
}

// mixtures are what the nodes' rules may have been made of, each node's by itself: what it
// has, and what its syncs have tried.
func (all nodes) mixtures() [][]*view {
	out := [][]*view{all.ruled()}
	for i, n := range all {
		tried := n.allTried()
		for _, views := range out {
			for _, v := range tried {
				mixed := slices.Clone(views)
				mixed[i] = v
				out = append(out, mixed)
			}
		}
	}
	return out[1:]
}

// remember reports whether a service may remember the client of an attempt.
func (all nodes) remember(spec *oracle.Spec, a oracle.Attempt) bool {
	answer := spec.Expect(a)
	remembers := func(v *view) bool {
		return affine(v, answer.Service) || slices.ContainsFunc(answer.Others, func(o oracle.Answer) bool { return affine(v, o.Service) })
	}
	return slices.ContainsFunc(all.ruled(), remembers) || slices.ContainsFunc(all.tried(), remembers) ||
		slices.ContainsFunc(all, func(n *nodeState) bool { return slices.ContainsFunc(n.tried, remembers) })
}

// named are the nodes of some names, in the cluster's order.
func (all nodes) named(names []string) []*nodeState {
	var out []*nodeState
	for _, n := range all {
		if slices.Contains(names, n.name) {
			out = append(out, n)
		}
	}
	return out
}
