package diagram

import (
	"slices"
	"sort"
)

// Open are the open atoms in the leaves below, ascending. They are not to be written to.
func (s *Store) Open(id ID) []Atom {
	if len(s.open) < len(s.nodes) {
		s.open = append(s.open, make([]span, len(s.nodes)-len(s.open))...)
	}
	if known := s.open[id]; known.asked {
		return s.atoms.at(known.place)
	}
	if s.nodes[id].v == none {
		s.openLeaf(id)
	} else {
		s.openBelow(id)
	}
	return s.Open(id)
}

// span is where the open atoms of a node are among those of all, once somebody has asked.
type span struct {
	place
	asked bool
}

// openLeaf notes the open atoms of a leaf.
func (s *Store) openLeaf(id ID) {
	all := s.below[:0]
	for _, one := range s.Shares(id) {
		if one.Atom >= 0 {
			all = append(all, one.Atom)
		}
	}
	s.open[id], s.below = span{s.atoms.add(all, nil), true}, all
}

// openBelow notes the open atoms below a node: where all are below one child, they are the same list.
func (s *Store) openBelow(id ID) {
	for _, kid := range s.Kids(id) {
		s.Open(kid)
	}
	all := s.below[:0]
	same := span{asked: true} // all is the list of a child
	shared := true
	for _, kid := range s.Kids(id) {
		switch below := s.Open(kid); {
		case len(below) == 0 || shared && slices.Equal(below, all):
		case len(all) == 0:
			all, same = append(all, below...), s.open[kid]
		default:
			all, shared = append(all, below...), false
		}
	}
	if !shared {
		slices.Sort(all)
		all = slices.Compact(all)
		same.place = s.atoms.add(all, nil)
	}
	s.open[id], s.below = same, all
}

// Replace puts functions in the place of the open atoms of a function, where they are as likely as the atoms were.
func (s *Store) Replace(id ID, by func(Atom) ID) ID {
	open := s.Open(id)
	if len(open) == 0 {
		return id
	}
	env := make([]ID, len(open))
	for i, a := range open {
		env[i] = by(a)
	}
	return s.replace(id, open, env)
}

// replace puts env in the place of the open atoms of id.
func (s *Store) replace(id ID, open []Atom, env []ID) ID {
	if len(open) == 0 || s.isIdentity(open, env) {
		return id
	}
	n := s.nodes[id]
	if n.v == none && n.count == 1 {
		return env[0]
	}
	top := n.v
	for _, e := range env {
		top = min(top, s.nodes[e].v)
	}
	if top == none {
		return s.combine(id, open, env)
	}
	known, slot := s.memo.find(id, env)
	if known >= 0 {
		return known
	}
	s.steps++
	s.spend()
	outs, bounds := len(s.outs), len(s.bounds)
	if n.v == top {
		s.replaceBelow(id, open, env)
	} else {
		s.split(id, open, env, top, Interval{Last: s.Limit(top)})
	}
	made := s.Node(top, s.bounds[bounds:], s.outs[outs:])
	s.outs, s.bounds = s.outs[:outs], s.bounds[:bounds]
	s.memo.put(slot, id, env, made)
	return made
}

// isIdentity says whether each atom would be replaced by itself.
func (s *Store) isIdentity(open []Atom, env []ID) bool {
	for i, a := range open {
		if int(a) >= len(s.ones) || s.ones[a] != env[i]+1 {
			return false
		}
	}
	return true
}

// replaceBelow replaces in each child of a node that decides first.
func (s *Store) replaceBelow(id ID, open []Atom, env []ID) {
	v, base, first := s.nodes[id].v, len(s.ids), Value{}
	for i := range int(s.nodes[id].count) {
		kid, last := s.Kids(id)[i], s.Last(id, i)
		below := s.Open(kid)
		if len(below) == len(open) {
			s.split(kid, below, env, v, Interval{first, last})
		} else {
			for _, a := range below {
				at, _ := slices.BinarySearch(open, a)
				s.ids = append(s.ids, env[at])
			}
			s.split(kid, below, s.ids[base:len(s.ids):len(s.ids)], v, Interval{first, last})
			s.ids = s.ids[:base]
		}
		first = last.Next()
	}
}

// split adds the edges of an interval of a variable, which the functions of env may decide, to what is being made.
func (s *Store) split(id ID, open []Atom, env []ID, v Var, within Interval) {
	decides := slices.ContainsFunc(env, func(e ID) bool { return s.nodes[e].v == v })
	if !decides {
		made := s.replace(id, open, env)
		s.bounds, s.outs = append(s.bounds, within.Last), append(s.outs, made)
		return
	}
	places, ids := len(s.places), len(s.ids)
	s.places, s.ids = append(s.places, make([]int, len(env))...), append(s.ids, env...)
	at, now := s.places[places:], s.ids[ids:len(s.ids):len(s.ids)]
	defer func() { s.places, s.ids = s.places[:places], s.ids[:ids] }()
	for j, e := range env {
		if n := &s.nodes[e]; n.v == v {
			at[j] = sort.Search(int(n.count), func(i int) bool { return !s.Last(e, i).Less(within.First) })
		}
	}
	for {
		end := within.Last
		for j, e := range env {
			now[j] = e
			if s.nodes[e].v == v {
				now[j] = s.Kids(e)[at[j]]
				if last := s.Last(e, at[j]); last.Less(end) {
					end = last
				}
			}
		}
		made := s.replace(id, open, now)
		s.bounds, s.outs = append(s.bounds, end), append(s.outs, made)
		if end == within.Last {
			return
		}
		for j, e := range env {
			if s.nodes[e].v == v && s.Last(e, at[j]) == end {
				at[j]++
			}
		}
	}
}

// combine mixes leaves by the weights of a leaf.
func (s *Store) combine(id ID, open []Atom, env []ID) ID {
	out := s.mixed[:0]
	for _, one := range s.Shares(id) {
		if one.Atom < 0 {
			out = append(out, one)
			continue
		}
		at, _ := slices.BinarySearch(open, one.Atom)
		for _, of := range s.Shares(env[at]) {
			out = append(out, Share{of.Atom, one.Weight.Times(of.Weight)})
		}
	}
	s.mixed = out
	return s.Leaf(out)
}

// Rename puts other atoms in the place of all atoms of a function, ends too.
func (s *Store) Rename(id ID, as func(Atom) Atom) ID {
	if s.rounds++; len(s.stamp) < len(s.nodes) {
		s.stamp = append(s.stamp, make([]int32, len(s.nodes)-len(s.stamp))...)
		s.seen = append(s.seen, make([]ID, len(s.nodes)-len(s.seen))...)
	}
	return s.rename(id, as)
}

// RenameWhere is Rename of a function where a variable that is true or false has a value: it decides the variable no more.
func (s *Store) RenameWhere(id ID, v Var, is bool, as func(Atom) Atom) ID {
	s.where, s.whereIs = v, is
	defer func() { s.where = none }()
	return s.Rename(id, as)
}

func (s *Store) rename(id ID, as func(Atom) Atom) ID {
	if s.stamp[id] == s.rounds {
		return s.seen[id]
	}
	var made ID
	if n := s.nodes[id]; n.v == none {
		made = s.leafAs(s.Shares(id), as)
	} else if n.v == s.where {
		kid := 0
		if s.whereIs {
			kid = int(n.count) - 1
		}
		made = s.rename(s.Kids(id)[kid], as)
	} else {
		outs, bounds := len(s.outs), len(s.bounds)
		for i := range int(n.count) {
			kid := s.rename(s.Kids(id)[i], as)
			s.bounds, s.outs = append(s.bounds, s.Last(id, i)), append(s.outs, kid)
		}
		made = s.Node(n.v, s.bounds[bounds:], s.outs[outs:])
		s.outs, s.bounds = s.outs[:outs], s.bounds[:bounds]
	}
	s.stamp[id], s.seen[id] = s.rounds, made
	return made
}

// leafAs is the leaf of shares, which it leaves as they are, with other atoms.
func (s *Store) leafAs(shares []Share, as func(Atom) Atom) ID {
	if len(shares) == 1 {
		return s.One(as(shares[0].Atom))
	}
	s.mixed = append(s.mixed[:0], shares...)
	out := s.mixed
	s.mixed = nil // as may use this store
	for i := range out {
		out[i].Atom = as(out[i].Atom)
	}
	s.mixed = out
	return s.Leaf(out)
}

// memo has what replacing gave. Its keys are exact: two that have one hash are told apart.
type memo struct {
	places []uint32 // by hashes; 0: empty, otherwise the entry plus 1
	made   []memoEntry
	keys   arena[ID]
}

// memoEntry is a key, which begins with the node, and what was made.
type memoEntry struct {
	key  place
	hash uint32
	made ID
}

// find is what is known, or -1, and the place where it would be put.
func (m *memo) find(id ID, env []ID) (ID, uint32) {
	if len(m.made)*2 >= len(m.places) {
		m.grow()
	}
	h := uint64(id) + 1
	for _, e := range env {
		h = mix(h, uint64(e))
	}
	hash, mask := uint32(h), uint32(len(m.places)-1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if m.places[i] == 0 {
			return -1, hash
		}
		e := &m.made[m.places[i]-1]
		if e.hash == hash && int(e.key.count) == len(env)+1 {
			if key := m.keys.at(e.key); key[0] == id && slices.Equal(key[1:], env) {
				return e.made, hash
			}
		}
	}
}

func (m *memo) put(hash uint32, id ID, env []ID, made ID) {
	m.made = append(m.made, memoEntry{m.keys.add([]ID{id}, env), hash, made})
	m.place(len(m.made))
}

func (m *memo) place(entry int) {
	mask := uint32(len(m.places) - 1)
	i := m.made[entry-1].hash & mask
	for m.places[i] != 0 {
		i = (i + 1) & mask
	}
	m.places[i] = uint32(entry)
}

func (m *memo) grow() {
	m.places = make([]uint32, max(1<<10, 2*len(m.places)))
	for i := range m.made {
		m.place(i + 1)
	}
}

// Forget gives the memory of computations back. What was made stays.
func (s *Store) Forget() {
	s.memo, s.open, s.atoms = memo{}, nil, arena[Atom]{}
	s.seen, s.stamp, s.rounds = nil, nil, 0
}
