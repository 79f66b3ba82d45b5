package diagram

import "slices"

// Edge is a decision on the way to a leaf: the variable's values by which it leads on.
type Edge struct {
	Var Var
	Interval
}

// Paths calls each for every way to a leaf, until it is false. The path is written over afterwards.
func (s *Store) Paths(root ID, each func(path []Edge, leaf ID) bool) {
	s.paths(root, nil, each)
}

func (s *Store) paths(id ID, path []Edge, each func([]Edge, ID) bool) bool {
	if s.IsLeaf(id) {
		return each(path, id)
	}
	first := Value{}
	for i, kid := range s.Kids(id) {
		last := s.Last(id, i)
		if !s.paths(kid, append(path, Edge{s.nodes[id].v, Interval{first, last}}), each) {
			return false
		}
		first = last.Next()
	}
	return true
}

// At is the leaf of a point.
func (s *Store) At(root ID, value func(Var) Value) ID {
	for !s.IsLeaf(root) {
		root = s.Kid(root, value(s.nodes[root].v))
	}
	return root
}

// Kid is where a node leads by a value.
func (s *Store) Kid(id ID, v Value) ID {
	n := &s.nodes[id]
	low, high := 0, int(n.count)-1
	for low < high {
		if mid := (low + high) / 2; s.Last(id, mid).Less(v) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return s.Kids(id)[low]
}

// Size is how many nodes, edges and leaves are reached.
func (s *Store) Size(roots ...ID) (nodes, edges, leaves int) {
	seen := map[ID]bool{}
	for stack := slices.Clone(roots); len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[id] {
			continue
		}
		if seen[id] = true; s.IsLeaf(id) {
			leaves++
			continue
		}
		nodes++
		edges += len(s.Kids(id))
		stack = append(stack, s.Kids(id)...)
	}
	return nodes, edges, leaves
}

// CountPaths is how many ways to a leaf there are.
func (s *Store) CountPaths(root ID) float64 {
	known := map[ID]float64{}
	var count func(ID) float64
	count = func(id ID) float64 {
		if s.IsLeaf(id) {
			return 1
		}
		if n, is := known[id]; is {
			return n
		}
		n := 0.0
		for _, kid := range s.Kids(id) {
			n += count(kid)
		}
		known[id] = n
		return n
	}
	return count(root)
}

// Pairs calls each for places where two functions differ, until it is false: with one way to every two nodes that meet, and from there with
// each edge to leaves, at most mostEdges of them beyond the first to two leaves. Of several ways it takes the one whose edges cost least
// together; no cost is below 0.
func (s *Store) Pairs(a, b ID, cost func(Edge) int, each func(path []Edge, a, b ID) bool) {
	if a == b {
		return
	}
	p := pairs{Store: s, cost: cost, each: each, at: map[Var]*meetings{}, done: map[[2]ID]bool{}}
	p.meet(nil, Edge{}, a, b)
	for len(p.waiting) > 0 {
		v := p.waiting[0]
		p.waiting = p.waiting[1:]
		for _, m := range p.at[v].order {
			if !p.behind(v, m) {
				return
			}
		}
		delete(p.at, v)
	}
}

const mostEdges = 20_000

// pairs are the nodes of two functions that have met. They are gone on from in the order of their variables, so that the way of least cost
// to any of them is known by then.
type pairs struct {
	*Store
	cost    func(Edge) int
	each    func([]Edge, ID, ID) bool
	waiting []Var
	at      map[Var]*meetings
	done    map[[2]ID]bool // leaves
	edges   int            // to leaves, beyond the first to two of them
	path    []Edge
}

// meetings are nodes that have met, in the order in which they were found.
type meetings struct {
	of    map[[2]ID]*met
	order []*met
}

// met is two nodes, and the way to them.
type met struct {
	a, b ID
	from *met
	by   Edge
	cost int
}

// meet notes that nodes meet behind an edge. It is false if that was told and is the end of it.
func (p *pairs) meet(from *met, by Edge, a, b ID) bool {
	v := min(p.nodes[a].v, p.nodes[b].v)
	if v == none {
		return p.tell(from, by, a, b)
	}
	cost := 0
	if from != nil {
		cost = from.cost + p.cost(by)
	}
	here := p.at[v]
	if here == nil {
		here = &meetings{of: map[[2]ID]*met{}}
		p.at[v] = here
		at, _ := slices.BinarySearch(p.waiting, v)
		p.waiting = slices.Insert(p.waiting, at, v)
	}
	known := here.of[[2]ID{a, b}]
	switch {
	case known == nil:
		known = &met{a, b, from, by, cost}
		here.of[[2]ID{a, b}], here.order = known, append(here.order, known)
	case cost < known.cost:
		known.from, known.by, known.cost = from, by, cost
	}
	return true
}

// behind goes on from nodes that have met.
func (p *pairs) behind(v Var, m *met) bool {
	ok := true
	p.Both(m.a, m.b, func(i Interval, a, b ID) bool {
		if a != b {
			ok = p.meet(m, Edge{v, i}, a, b)
		}
		return ok
	})
	return ok
}

// tell calls each for two leaves behind an edge.
func (p *pairs) tell(from *met, by Edge, a, b ID) bool {
	if p.done[[2]ID{a, b}] {
		if p.edges >= mostEdges {
			return true
		}
		p.edges++
	}
	p.done[[2]ID{a, b}] = true
	p.path = p.path[:0]
	for ; from != nil; from, by = from.from, from.by {
		p.path = append(p.path, by)
	}
	slices.Reverse(p.path)
	return p.each(p.path, a, b)
}

// ShareOfPairs calls each for every two leaves that differ at some place, with how much of all places these are, from 0 to 1.
func (s *Store) ShareOfPairs(a, b ID, each func(a, b ID, share float64)) {
	// Places flow from the root down, a variable at a time: all that come to a node have come before it is left.
	flows := map[Var]*flow{}
	waiting := []Var{}
	put := func(a, b ID, share float64) {
		if a == b {
			return
		}
		v := min(s.nodes[a].v, s.nodes[b].v)
		if flows[v] == nil {
			flows[v] = &flow{at: map[[2]ID]int{}}
			at, _ := slices.BinarySearch(waiting, v)
			waiting = slices.Insert(waiting, at, v)
		}
		flows[v].add([2]ID{a, b}, share)
	}
	put(a, b, 1)
	for len(waiting) > 0 {
		v := waiting[0]
		waiting = waiting[1:]
		for i, p := range flows[v].pairs {
			share := flows[v].shares[i]
			if v == none {
				each(p[0], p[1], share)
				continue
			}
			whole := (Interval{Last: s.Limit(v)}).Size()
			s.Both(p[0], p[1], func(i Interval, a, b ID) bool {
				put(a, b, share*i.Size()/whole)
				return true
			})
		}
	}
}

// flow is the pairs of nodes of a variable, in the order in which they were met, and how much of all places comes to each.
type flow struct {
	pairs  [][2]ID
	shares []float64
	at     map[[2]ID]int
}

func (f *flow) add(p [2]ID, share float64) {
	at, known := f.at[p]
	if !known {
		at = len(f.pairs)
		f.at[p] = at
		f.pairs, f.shares = append(f.pairs, p), append(f.shares, 0)
	}
	f.shares[at] += share
}

// Both calls each for every interval of the first variable that either node decides, with where they lead by it, until it is false.
func (s *Store) Both(a, b ID, each func(i Interval, a, b ID) bool) {
	v := min(s.nodes[a].v, s.nodes[b].v)
	first, i, j := Value{}, 0, 0
	for {
		to, end := [2]ID{a, b}, s.Limit(v)
		if s.nodes[a].v == v {
			to[0], end = s.Kids(a)[i], s.Last(a, i)
		}
		if s.nodes[b].v == v {
			to[1] = s.Kids(b)[j]
			if last := s.Last(b, j); last.Less(end) {
				end = last
			}
		}
		if !each(Interval{first, end}, to[0], to[1]) || end == s.Limit(v) {
			return
		}
		if s.nodes[a].v == v && s.Last(a, i) == end {
			i++
		}
		if s.nodes[b].v == v && s.Last(b, j) == end {
			j++
		}
		first = end.Next()
	}
}

// Leaves calls each once for every leaf that is reached.
func (s *Store) Leaves(root ID, each func(leaf ID)) {
	seen := map[ID]bool{}
	for stack := []ID{root}; len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[id] {
			continue
		}
		if seen[id] = true; s.IsLeaf(id) {
			each(id)
			continue
		}
		stack = append(stack, s.Kids(id)...)
	}
}

// Fix is a function with values put in of those variables that have one, so that it no longer depends on these.
func (s *Store) Fix(root ID, value func(Var) (Value, bool)) ID {
	return s.instead(root, func(id ID, rest func(ID) ID) (ID, bool) {
		at, is := value(s.nodes[id].v)
		if !is {
			return 0, false
		}
		return rest(s.Kid(id, at)), true
	})
}

// Close is a function with a leaf in the place of each node of some variables, behind which no others come.
func (s *Store) Close(root ID, leaf func(Var) (ID, bool)) ID {
	return s.instead(root, func(id ID, _ func(ID) ID) (ID, bool) { return leaf(s.nodes[id].v) })
}

// instead is a function with others in the place of some nodes, if of says so. rest is the same of what comes behind a node.
func (s *Store) instead(root ID, of func(id ID, rest func(ID) ID) (ID, bool)) ID {
	known := map[ID]ID{}
	var made func(ID) ID
	made = func(id ID) ID {
		if s.IsLeaf(id) {
			return id
		}
		if done, is := known[id]; is {
			return done
		}
		done, is := of(id, made)
		if !is {
			kids := slices.Clone(s.Kids(id))
			last := make([]Value, len(kids))
			for i := range kids {
				kids[i], last[i] = made(kids[i]), s.Last(id, i)
			}
			done = s.Node(s.nodes[id].v, last, kids)
		}
		known[id] = done
		return done
	}
	return made(root)
}

// PathsOfTwo calls each for every way through two functions at once, with the leaves to which it leads in either, until it is false.
func (s *Store) PathsOfTwo(a, b ID, each func(path []Edge, a, b ID) bool) {
	s.pathsOfTwo(a, b, nil, each)
}

func (s *Store) pathsOfTwo(a, b ID, path []Edge, each func([]Edge, ID, ID) bool) bool {
	v := min(s.nodes[a].v, s.nodes[b].v)
	if v == none {
		return each(path, a, b)
	}
	ok := true
	s.Both(a, b, func(i Interval, a, b ID) bool {
		ok = s.pathsOfTwo(a, b, append(path, Edge{v, i}), each)
		return ok
	})
	return ok
}

// CountPathsOfTwo is how many ways PathsOfTwo finds.
func (s *Store) CountPathsOfTwo(a, b ID) float64 {
	known := map[[2]ID]float64{}
	var count func(a, b ID) float64
	count = func(a, b ID) float64 {
		if s.IsLeaf(a) && s.IsLeaf(b) {
			return 1
		}
		key := [2]ID{a, b}
		if n, is := known[key]; is {
			return n
		}
		n := 0.0
		s.Both(a, b, func(_ Interval, a, b ID) bool {
			n += count(a, b)
			return true
		})
		known[key] = n
		return n
	}
	return count(a, b)
}

// Swap is a function in which each variable stands in the place of another one of the same values. Its leaves have no open atoms.
func (s *Store) Swap(root ID, as func(Var) Var, known map[ID]ID) ID {
	if s.IsLeaf(root) {
		return root
	}
	if made, is := known[root]; is {
		return made
	}
	kids := slices.Clone(s.Kids(root))
	last, choices := make([]Value, len(kids)), make([]ID, len(kids))
	for i := range kids {
		kids[i], last[i], choices[i] = s.Swap(kids[i], as, known), s.Last(root, i), s.One(Atom(i))
	}
	made := s.Replace(s.Node(as(s.nodes[root].v), last, choices), func(a Atom) ID { return kids[a] })
	known[root] = made
	return made
}

// Without is a function in which another one, which decides later variables, stands in the place of every decision of a variable.
func (s *Store) Without(root ID, v Var, instead ID) ID {
	known := map[ID]ID{}
	var of func(ID) ID
	of = func(id ID) ID {
		switch at := s.nodes[id].v; {
		case at == v:
			return instead
		case at > v: // later variables, or a leaf
			return id
		}
		if made, is := known[id]; is {
			return made
		}
		kids := slices.Clone(s.Kids(id))
		last := make([]Value, len(kids))
		for i := range kids {
			kids[i], last[i] = of(kids[i]), s.Last(id, i)
		}
		made := s.Node(s.nodes[id].v, last, kids)
		known[id] = made
		return made
	}
	return of(root)
}
