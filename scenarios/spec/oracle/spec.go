package oracle

// Spec says what may become of packets in one state of a cluster. It is safe for
// use by one goroutine at a time.
type Spec struct {
	network  *network
	services *services
	views    []view
	// filtering says that rules of others on some node let only some packets pass.
	filtering bool
	// known has what each node was told: the place of the node in the Spec that has it.
	known []knowledge
	// shares is room for the judge, to count chances in.
	shares []float64
}

type knowledge struct {
	spec *Spec
	node int
}

// New makes the specification of a state that all nodes know.
func New(c *Cluster) *Spec {
	s := &Spec{
		network: newNetwork(c), services: newServices(c), views: make([]view, len(c.Nodes)), known: make([]knowledge, len(c.Nodes)),
	}
	for i := range c.Nodes {
		s.views[i] = newView(&c.Nodes[i])
		s.known[i] = knowledge{s, i}
		s.filtering = s.filtering || s.views[i].filter.any()
	}
	for _, p := range s.services.ports {
		p.sets = make([]usable, len(c.Nodes))
	}
	return s
}

// With is the specification of a state that some nodes know otherwise: known has
// what a node was told, by its name, for those nodes that were told something
// else than s. The network is that of s.
func (s *Spec) With(known map[string]*Spec) *Spec {
	out := *s
	out.known = make([]knowledge, len(s.known))
	copy(out.known, s.known)
	out.shares = nil
	for name, spec := range known {
		at := s.place(name)
		if there := spec.place(name); at >= 0 && there >= 0 {
			out.known[at] = spec.known[there]
		}
	}
	return &out
}

// place is the place of a node, -1 if it is none.
func (s *Spec) place(name string) int {
	if h := s.network.byName[name]; h != nil && h.kind == aNode {
		return h.node
	}
	return -1
}
