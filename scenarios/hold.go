package scenarios

import (
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
)

// Watched is a kind of objects that kube-proxy watches.
type Watched string

// The kinds.
const (
	WatchedServices       Watched = "service"
	WatchedEndpointSlices Watched = "endpointslice"
	WatchedNodes          Watched = "node"
)

// Delivery tells kube-proxy on nodes that are held some of what was held back from it.
type Delivery struct {
	document.Located
	Nodes  []string  `json:"nodes" doc:"The nodes to tell; all that are held if not given."`
	Kinds  []Watched `json:"kinds" doc:"What they are told of: service, endpointslice, node. All if not given. Changes of other kinds stay behind."`
	Count  int       `json:"count" doc:"How many changes each node is told, the oldest first; all if not given."`
	Twice  bool      `json:"twice" doc:"Each change is told twice."`
	Relist bool      `json:"relist" doc:"The watch has broken: of each object only what became of it is told, not what it was in between."`
}

// Tells reports whether a delivery tells of a kind.
func (d *Delivery) Tells(kind Watched) bool {
	return len(d.Kinds) == 0 || slices.Contains(d.Kinds, kind)
}

func (c *checker) hold(s *Step) {
	c.nodes(s.Hold.Pos, s.Hold.Names)
	c.held = s.Hold.of(c.cluster)
}

func (c *checker) deliver(s *Step) {
	d := s.Deliver
	c.nodes(d.Pos, d.Nodes)
	for _, kind := range d.Kinds {
		c.word(d.Pos, "kinds", string(kind), string(WatchedServices), string(WatchedEndpointSlices), string(WatchedNodes))
	}
	for _, name := range d.Nodes {
		if c.cluster.Node(name) != nil && !slices.Contains(c.held, name) {
			c.errorf(d.Pos, "nodes: %s is told everything (hold it in a step before)", name)
		}
	}
	switch {
	case len(c.held) == 0:
		c.errorf(d.Pos, "deliver: no node is held (want a step with hold before)")
	case d.Count < 0:
		c.errorf(d.Pos, "count: want at least 1, got %d", d.Count)
	case d.Relist && (d.Twice || d.Count > 0):
		c.errorf(d.Pos, "relist tells everything once (leave count and twice out)")
	}
}

func (r *runner) hold(ctx context.Context, s *Step) error {
	r.held = s.Hold.of(r.cluster)
	return r.session.Hold(ctx, r.held)
}

func (r *runner) deliver(ctx context.Context, s *Step) error {
	d := *s.Deliver
	if len(d.Nodes) == 0 {
		d.Nodes = r.held
	}
	return r.session.Deliver(ctx, d)
}
