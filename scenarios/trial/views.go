package trial

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
)

// known is the specification of what nodes know, so that it is made once.
type known struct {
	network *oracle.Cluster
	views   []*view
	spec    *oracle.Spec
}

// maxKnown is how many of them are kept: what a sync leads from and to, and what was tried.
const maxKnown = 8

// spec is the specification for nodes that know the views, one for each of r.nodes.
func (r *run) spec(views []*view) *oracle.Spec {
	for i := range r.specs {
		if k := &r.specs[i]; k.network == r.network && slices.EqualFunc(k.views, views, (*view).same) {
			return k.spec
		}
	}
	spec := r.newSpec(views)
	if len(r.specs) == maxKnown {
		r.specs = slices.Delete(r.specs, 0, 1)
	}
	r.specs = append(r.specs, known{r.network, views, spec})
	return spec
}

// newSpec makes one specification for all nodes that know the same of services, and one more for each other.
func (r *run) newSpec(views []*view) *oracle.Spec {
	first := r.specOf(views[0], views)
	var others map[string]*oracle.Spec
	for i, n := range r.nodes {
		if sameServices(views[i].View, views[0].View) {
			continue
		}
		if others == nil {
			others = map[string]*oracle.Spec{}
		}
		others[n.name] = r.specOf(views[i], views)
	}
	if others == nil {
		return first
	}
	return first.With(others)
}

// specOf is the specification of what one node knows of services, and each of itself.
func (r *run) specOf(v *view, views []*view) *oracle.Spec {
	c := *r.network
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Object, c.Nodes[i].Started, c.Nodes[i].Config = views[i].Node, views[i].started, views[i].config
		c.Nodes[i].Found = views[i].found
	}
	c.Services, c.Slices = v.Services, v.Slices
	return oracle.New(&c)
}

// ruled are the views that the nodes' rules were made of.
func (r *run) ruled() []*view {
	return r.views(func(n *nodeState) *view { return n.ruled })
}

// tried are the views that the nodes' syncs have last tried to make rules of.
func (r *run) tried() []*view {
	return r.views(func(n *nodeState) *view {
		switch {
		case n.next != nil:
			return n.next
		case len(n.tried) > 0:
			return n.tried[len(n.tried)-1]
		}
		return n.ruled
	})
}

func (r *run) views(of func(*nodeState) *view) []*view {
	out := make([]*view, len(r.nodes))
	for i, n := range r.nodes {
		out[i] = of(n)
	}
	return out
}

// moment is when packets are judged, and by what.
type moment struct {
	// before and after are what the nodes' rules may have been made of; they are the same
	// where all syncs have ended well.
	before, after *oracle.Spec
	// tried says that syncs since may have made them of something else in between.
	tried bool
	// point is the moment within a sync; nil between syncs.
	point *scenarios.Point
}

// settled reports whether every node's rules are those of its last sync.
func (m *moment) settled() bool { return m.before == m.after && !m.tried }

// moment is the present one.
func (r *run) moment() moment {
	m := moment{before: r.spec(r.ruled())}
	m.after = m.before
	if slices.ContainsFunc(r.nodes, func(n *nodeState) bool { return n.next != nil || len(n.tried) > 0 }) {
		m.after = r.spec(r.tried())
		m.tried = slices.ContainsFunc(r.nodes, (*nodeState).triedOther)
	}
	return m
}

// triedOther reports whether a sync since the last one that ended well may have made the node's rules of something else.
func (n *nodeState) triedOther() bool {
	return slices.ContainsFunc(n.tried, func(v *view) bool { return !v.same(n.ruled) })
}
