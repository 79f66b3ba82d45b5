package diagram

// Bytes is how much memory the nodes, leaves and remembered computations of a store need. What slices have allocated besides is not in it,
// so that the same computations need the same number.
func (s *Store) Bytes() int {
	m := &s.memo
	return 20*len(s.nodes) + 4*(len(s.kids)+len(s.narrow)+len(s.table)+s.atoms.size) + 16*(len(s.wide)+len(s.open)) + 24*len(s.shares) +
		4*(len(m.places)+m.keys.size) + 20*len(m.made)
}

// overBound is the panic of a store that may have no more bytes. It does not leave Within.
type overBound struct{}

// spend gives a computation up if there is no room for more.
func (s *Store) spend() {
	if s.most > 0 && s.Bytes() > s.most {
		panic(overBound{})
	}
}

// Within runs a computation for which the store may have so many bytes, and says whether it came to its end. Otherwise it was given up, for
// this store or one of BoundAs: the nodes that were made until then are whole, and stay until they are released.
func (s *Store) Within(bytes int, compute func()) (ended bool) {
	s.most = bytes
	defer func() { s.most = 0 }()
	outs, bounds, ids, places := len(s.outs), len(s.bounds), len(s.ids), len(s.places)
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case overBound:
			s.outs, s.bounds, s.ids, s.places = s.outs[:outs], s.bounds[:bounds], s.ids[:ids], s.places[:places]
		default:
			panic(r)
		}
	}()
	compute()
	return true
}

// BoundAs lets a store have as many bytes as another one may have, which is made for the same computation (Within), and goes with it.
func (s *Store) BoundAs(other *Store) { s.most = other.most }
