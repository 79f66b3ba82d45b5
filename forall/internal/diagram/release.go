package diagram

// Mark is a moment of a Store, to which Release goes back.
type Mark struct {
	nodes, kids, wide, narrow, shares, made int
	atoms, keys                             arenaMark
}

// Mark is this moment.
func (s *Store) Mark() Mark {
	for id := range s.nodes { // what is asked of these nodes later stays
		s.Open(ID(id))
	}
	return Mark{nodes: len(s.nodes), kids: len(s.kids), wide: len(s.wide), narrow: len(s.narrow), shares: len(s.shares),
		made: len(s.memo.made), atoms: s.atoms.mark(), keys: s.memo.keys.mark()}
}

// Nodes is how many nodes and leaves there were.
func (m Mark) Nodes() int { return m.nodes }

// Release forgets all nodes, leaves and computations since a moment. Their IDs will be those of others. The entries of the tables are taken
// out in the reverse order in which they were put in, so that none is left behind which was put somewhere else because of another one.
func (s *Store) Release(m Mark) {
	mask := len(s.table) - 1
	for id := len(s.nodes) - 1; id >= m.nodes; id-- {
		n := &s.nodes[id]
		at := int(n.hash) & mask
		for s.table[at] != ID(id)+1 {
			at = (at + 1) & mask
		}
		s.table[at] = 0
		if n.v == none && n.count == 1 {
			s.forgetOne(s.shares[n.first].Atom)
		}
	}
	s.nodes, s.kids, s.shares = s.nodes[:m.nodes], s.kids[:m.kids], s.shares[:m.shares]
	s.wide, s.narrow = s.wide[:m.wide], s.narrow[:m.narrow]
	s.open = s.open[:m.nodes]
	s.atoms.release(m.atoms)
	s.memo.release(m)
}

// forgetOne forgets the leaf of an atom.
func (s *Store) forgetOne(a Atom) {
	if a < 0 {
		s.oneEnds[^a] = 0
	} else {
		s.ones[a] = 0
	}
}

func (m *memo) release(to Mark) {
	mask := uint32(len(m.places) - 1)
	for i := len(m.made) - 1; i >= to.made; i-- {
		at := m.made[i].hash & mask
		for m.places[at] != uint32(i)+1 {
			at = (at + 1) & mask
		}
		m.places[at] = 0
	}
	m.made = m.made[:to.made]
	m.keys.release(to.keys)
}
