package diagram

import (
	"math"
	"math/bits"
	"slices"
)

// Var is a variable. Those of smaller numbers are decided first.
type Var uint16

// none is what a leaf decides.
const none Var = math.MaxUint16

// ID is a node or a leaf of a Store.
type ID int32

// Atom is what may happen. One of 0 or more is open: Replace puts something in its place. The others are ends.
type Atom int32

// Share is an atom and how likely it is.
type Share struct {
	Atom   Atom
	Weight Weight
}

// node is a decision, or a leaf.
type node struct {
	first uint32 // of its children, or of a leaf's shares
	bound uint32 // of its bounds
	count uint32
	hash  uint32
	v     Var
}

// Store has the nodes and leaves of diagrams, each once. It is not safe for concurrent use.
type Store struct {
	limits []Value // the greatest values of the first variables; that of the others is 1
	nodes  []node
	kids   []ID
	wide   []Value  // bounds of variables whose values have more than 32 bits
	narrow []uint32 // bounds of the others
	shares []Share
	table  []ID // by hashes; 0: empty, otherwise the ID plus 1

	open    []span      // of each node
	atoms   arena[Atom] // the open atoms of nodes, ascending for each
	ones    []ID        // the leaves of one open atom, plus 1
	oneEnds []ID        // those of one end
	memo    memo
	steps   int // how often something was computed and not remembered
	most    int // bytes that the store may have, within a computation; 0: any number

	ids     []ID // stacks of what is being computed
	bounds  []Value
	outs    []ID
	mixed   []Share // a leaf that is being made
	choice  []Value // a node of two children that is being made
	chosen  []ID
	places  []int  // a stack of where functions are that are split
	below   []Atom // open atoms that are being gathered
	seen    []ID   // of a renaming: what a node becomes, where stamp says that it is of this one
	stamp   []int32
	rounds  int32
	where   Var // of a renaming: the variable that has the value whereIs; none: no variable
	whereIs bool
}

// NewStore is a store of functions of variables. The limits are the greatest values of the first of them; those behind them are true or
// false.
func NewStore(limits ...Value) *Store {
	return &Store{limits: limits, table: make([]ID, 1<<10), where: none}
}

// Limit is the greatest value of a variable.
func (s *Store) Limit(v Var) Value {
	if int(v) < len(s.limits) {
		return s.limits[v]
	}
	return Number(1)
}

// isWide says whether the bounds of a variable need more than 32 bits.
func (s *Store) isWide(v Var) bool {
	return int(v) < len(s.limits) && Number(math.MaxUint32).Less(s.limits[v])
}

// Len is how many nodes and leaves there are.
func (s *Store) Len() int { return len(s.nodes) }

// Steps is how many steps of computation were made.
func (s *Store) Steps() int { return s.steps }

// IsLeaf says whether an ID is a leaf.
func (s *Store) IsLeaf(id ID) bool { return s.nodes[id].v == none }

// Decides is the variable of a node.
func (s *Store) Decides(id ID) Var { return s.nodes[id].v }

// Shares is the distribution of a leaf, by atoms. It is not to be written to.
func (s *Store) Shares(id ID) []Share {
	n := &s.nodes[id]
	return s.shares[n.first : n.first+n.count]
}

// Kids are what a node leads to. They are not to be written to.
func (s *Store) Kids(id ID) []ID {
	n := &s.nodes[id]
	return s.kids[n.first : n.first+n.count]
}

// Last is the greatest value by which a node leads to its child of that number.
func (s *Store) Last(id ID, kid int) Value {
	n := &s.nodes[id]
	if s.isWide(n.v) {
		return s.wide[int(n.bound)+kid]
	}
	return Number(uint64(s.narrow[int(n.bound)+kid]))
}

// One is the leaf of an atom that is certain.
func (s *Store) One(a Atom) ID {
	list, at := &s.ones, int(a)
	if a < 0 {
		list, at = &s.oneEnds, int(^a)
	}
	for len(*list) <= at {
		*list = append(*list, 0)
	}
	if (*list)[at] == 0 {
		(*list)[at] = s.leaf([]Share{{a, Certain}}) + 1
	}
	return (*list)[at] - 1
}

// Leaf is the leaf of a distribution, whose shares may come in any order and more than once.
func (s *Store) Leaf(shares []Share) ID {
	merged := mergeOf(shares)
	if len(merged) == 1 {
		return s.One(merged[0].Atom)
	}
	return s.leaf(merged)
}

// mergeOf sorts the shares, which it writes to, and adds those of one atom up.
func mergeOf(shares []Share) []Share {
	slices.SortStableFunc(shares, func(a, b Share) int { return int(a.Atom) - int(b.Atom) })
	n := 0
	for _, one := range shares {
		switch {
		case one.Weight.IsZero():
		case n > 0 && shares[n-1].Atom == one.Atom:
			shares[n-1].Weight = shares[n-1].Weight.Plus(one.Weight)
		default:
			shares[n] = one
			n++
		}
	}
	return shares[:n]
}

func (s *Store) leaf(shares []Share) ID {
	h := uint64(len(shares))
	for _, one := range shares {
		h = mix(mix(h, uint64(uint32(one.Atom))), one.Weight.residue)
	}
	slot := s.slot(uint32(h), func(n *node) bool {
		return n.v == none && int(n.count) == len(shares) && slices.EqualFunc(s.shares[n.first:n.first+n.count], shares,
			func(a, b Share) bool { return a.Atom == b.Atom && a.Weight.Equal(b.Weight) })
	})
	if s.table[slot] != 0 {
		return s.table[slot] - 1
	}
	first := uint32(len(s.shares))
	s.shares = append(s.shares, shares...)
	return s.put(slot, node{first: first, count: uint32(len(shares)), hash: uint32(h), v: none})
}

// Node is a decision of a variable: up to the first bound to the first child, and so on; the last bound is the variable's limit. The
// children
// decide later variables. It may write to its arguments, and keeps none of them.
func (s *Store) Node(v Var, last []Value, kids []ID) ID {
	n := 0
	for i := range kids {
		if n > 0 && kids[n-1] == kids[i] {
			n--
		}
		last[n], kids[n] = last[i], kids[i]
		n++
	}
	if n == 1 {
		return kids[0]
	}
	last, kids = last[:n], kids[:n]
	wide := s.isWide(v)
	h := mix(uint64(v)+1, uint64(n))
	for i := range kids {
		if s.nodes[kids[i]].v <= v {
			panic("diagram: a node leads to one that decides no later variable")
		}
		h = mix(h, last[i].Low^uint64(kids[i])<<32)
		if wide {
			h = mix(h, last[i].High)
		}
	}
	slot := s.slot(uint32(h), func(have *node) bool { return s.same(have, v, wide, last, kids) })
	if s.table[slot] != 0 {
		return s.table[slot] - 1
	}
	made := node{first: uint32(len(s.kids)), count: uint32(n), hash: uint32(h), v: v}
	s.kids = append(s.kids, kids...)
	if wide {
		made.bound = uint32(len(s.wide))
		s.wide = append(s.wide, last...)
	} else {
		made.bound = uint32(len(s.narrow))
		for _, l := range last {
			s.narrow = append(s.narrow, uint32(l.Low))
		}
	}
	return s.put(slot, made)
}

// same says whether a node is the decision.
func (s *Store) same(n *node, v Var, wide bool, last []Value, kids []ID) bool {
	if n.v != v || int(n.count) != len(kids) || !slices.Equal(s.kids[n.first:n.first+n.count], kids) {
		return false
	}
	if wide {
		return slices.Equal(s.wide[n.bound:n.bound+n.count], last)
	}
	for i, l := range last {
		if uint64(s.narrow[int(n.bound)+i]) != l.Low {
			return false
		}
	}
	return true
}

// Choose is the decision whether a variable's value is in a set.
func (s *Store) Choose(v Var, in Set, yes, no ID) ID {
	limit := s.Limit(v)
	if len(in) == 0 || yes == no {
		return no
	}
	last, kids := s.choice[:0], s.chosen[:0]
	next := Value{}
	for _, i := range in {
		if next.Less(i.First) {
			last, kids = append(last, i.First.Prev()), append(kids, no)
		}
		last, kids = append(last, i.Last), append(kids, yes)
		next = i.Last.Next()
	}
	if in[len(in)-1].Last.Less(limit) {
		last, kids = append(last, limit), append(kids, no)
	}
	s.choice, s.chosen = last, kids
	return s.Node(v, last, kids)
}

// slot is the place of a node in the table, or where it would be put.
func (s *Store) slot(hash uint32, same func(*node) bool) int {
	if len(s.nodes)*2 >= len(s.table) {
		s.grow()
	}
	mask := len(s.table) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		id := s.table[i]
		if id == 0 {
			return i
		}
		if n := &s.nodes[id-1]; n.hash == hash && same(n) {
			return i
		}
	}
}

func (s *Store) grow() {
	s.table = make([]ID, 2*len(s.table))
	mask := len(s.table) - 1
	for id := range s.nodes {
		i := int(s.nodes[id].hash) & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = ID(id) + 1
	}
}

func (s *Store) put(slot int, n node) ID {
	s.spend()
	s.nodes = append(s.nodes, n)
	s.table[slot] = ID(len(s.nodes))
	return s.table[slot] - 1
}

// mix adds a number to a hash. Both are factors, so that pairs of numbers that differ in the same bits do not meet.
func mix(h, x uint64) uint64 {
	high, low := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xe7037ed1a0b428db)
	return high ^ low
}
