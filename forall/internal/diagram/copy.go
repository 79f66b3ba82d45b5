package diagram

import "slices"

// Copier copies functions of a store into another one, or into the same, which has the same variables.
type Copier struct {
	To, From *Store
	As       func(Atom) (to Atom, now bool) // what an atom is there; now: in this copy, and not for good
	// Who is a variable that copies decide no more: its numbers from 1 on stand for values of the variable behind it, which Is has, and 0
	// for the others. It is the first variable if there is none.
	Who Var
	Is  []Value

	known  []copied // of each node
	copies int32
	points []pointAt
}

// copied is what a node is in the other store, in one copy or for good.
type copied struct {
	to ID
	in int32 // the number of the copy; 0: it is not known
}

const forGood = -1

// pointAt is where a value leads to.
type pointAt struct {
	value Value
	to    ID
}

// Copy is a function in the other store.
func (c *Copier) Copy(root ID) ID {
	if missing := len(c.From.nodes) - len(c.known); missing > 0 {
		c.known = append(c.known, make([]copied, missing)...)
	}
	c.copies++
	made, _ := c.copy(root)
	return made
}

// copy is a node in the other store, and whether it is so in this copy only.
func (c *Copier) copy(id ID) (made ID, now bool) {
	if known := c.known[id]; known.in == forGood || known.in == c.copies {
		return known.to, known.in != forGood
	}
	to, n := c.To, c.From.nodes[id]
	switch {
	case n.v == none:
		made = to.leafAs(c.From.Shares(id), func(a Atom) Atom {
			as, of := c.As(a)
			now = now || of
			return as
		})
	case n.v == c.Who && c.Who > 0:
		made, now = c.values(id), true
	default:
		outs, bounds := len(to.outs), len(to.bounds)
		for i, kid := range c.From.Kids(id) {
			copied, of := c.copy(kid)
			now = now || of
			to.bounds, to.outs = append(to.bounds, c.From.Last(id, i)), append(to.outs, copied)
		}
		made = to.Node(n.v, to.bounds[bounds:], to.outs[outs:])
		to.outs, to.bounds = to.outs[:outs], to.bounds[:bounds]
	}
	if c.known[id] = (copied{made, c.copies}); !now {
		c.known[id].in = forGood
	}
	return made, now
}

// values is a node of Who as a decision of the variable behind it.
func (c *Copier) values(id ID) ID {
	from, to, v := c.From, c.To, c.Who+1
	others := from.Kid(id, Value{})
	c.points = c.points[:0]
	for i, value := range c.Is {
		kid := from.Kid(id, Number(uint64(i+1)))
		if kid == others {
			continue
		}
		if from.Decides(kid) == v {
			kid = from.Kid(kid, value)
		}
		made, _ := c.copy(kid)
		c.points = append(c.points, pointAt{value, made})
	}
	slices.SortFunc(c.points, func(a, b pointAt) int { return a.value.Compare(b.value) })
	outs, bounds := len(to.outs), len(to.bounds)
	put := func(last Value, kid ID) { to.bounds, to.outs = append(to.bounds, last), append(to.outs, kid) }
	first, next := Value{}, 0
	between := func(kid ID, last Value) { // kid leads to what comes up to last, but for the points
		made, _ := c.copy(kid)
		for ; next < len(c.points) && !last.Less(c.points[next].value); next++ {
			at := &c.points[next]
			if first.Less(at.value) {
				put(at.value.Prev(), made)
			}
			put(at.value, at.to)
			if first = at.value.Next(); at.value == last {
				next++
				return
			}
		}
		put(last, made)
		first = last.Next()
	}
	if from.Decides(others) == v {
		for i, kid := range from.Kids(others) {
			between(kid, from.Last(others, i))
		}
	} else {
		between(others, to.Limit(v))
	}
	made := to.Node(v, to.bounds[bounds:], to.outs[outs:])
	to.outs, to.bounds = to.outs[:outs], to.bounds[:bounds]
	return made
}

// Release forgets the copies of nodes that their store has released.
func (c *Copier) Release(m Mark) {
	if len(c.known) > m.nodes {
		clear(c.known[m.nodes:])
		c.known = c.known[:m.nodes]
	}
}
