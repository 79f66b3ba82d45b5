package nftables

import (
	"bytes"
	"slices"
)

// boxTree finds the boxes that hold a key: each node halves them by where they begin in one part of the key. Boxes mostly do not overlap,
// so a search goes down one branch. It never changes.
type boxTree struct {
	items []*Element // those of a leaf beside each other
	nodes []boxNode  // the root first; behind each node what is on its left
}

// boxNode is a node. In a part of the key, the boxes on its left end at leftEnd at most, and those on its right begin at rightBegin at
// least. Both are the beginnings of what they stand for (prefixOf), which is enough to leave most boxes out.
type boxNode struct {
	leftEnd, rightBegin uint64
	part                uint8 // its number
	right               int32 // the node on its right; 0: it is a leaf, with the items of first up to end
	first, end          int32
}

// leafBoxes is how many boxes a leaf may have.
const leafBoxes = 2

// newBoxTree makes a tree of elements, whose slice is its own from then on.
func newBoxTree(s *SetSpec, items []*Element) *boxTree {
	t := &boxTree{items: items, nodes: make([]boxNode, 0, len(items)/leafBoxes*2+1)}
	t.grow(s, 0, len(items))
	return t
}

// grow adds the node of items, with all that is below it.
func (t *boxTree) grow(s *SetSpec, first, end int) {
	at := len(t.nodes)
	t.nodes = append(t.nodes, boxNode{first: int32(first), end: int32(end)})
	if end-first <= leafBoxes {
		return
	}
	items := t.items[first:end]
	part, from, to := tellingPart(s, items)
	slices.SortFunc(items, func(a, b *Element) int { return bytes.Compare(a.Key[from:to], b.Key[from:to]) })
	half := len(items) / 2
	node := boxNode{part: uint8(part), rightBegin: prefixOf(items[half].Key[from:to]), leftEnd: greatestEnd(items[:half], from, to)}
	t.grow(s, first, first+half)
	node.right = int32(len(t.nodes))
	t.nodes[at] = node
	t.grow(s, first+half, end)
}

func greatestEnd(items []*Element, from, to int) (greatest uint64) {
	for _, e := range items {
		greatest = max(greatest, prefixOf(e.last()[from:to]))
	}
	return greatest
}

// mostAsked is how many of the boxes are asked which part of their keys tells them apart.
const mostAsked = 32

// tellingPart is the part of the keys in which fewest boxes of a half reach into the other one.
func tellingPart(s *SetSpec, items []*Element) (part, from, to int) {
	asked := make([]*Element, 0, mostAsked)
	for i := range min(len(items), mostAsked) {
		asked = append(asked, items[i*len(items)/min(len(items), mostAsked)])
	}
	at, fewest := 0, len(items)
	for i, length := range s.FieldLens {
		first, end := at, at+int(length)
		slices.SortFunc(asked, func(a, b *Element) int { return bytes.Compare(a.Key[first:end], b.Key[first:end]) })
		half, reach := len(asked)/2, 0
		for _, e := range asked[:half] {
			if bytes.Compare(e.last()[first:end], asked[half].Key[first:end]) >= 0 {
				reach++
			}
		}
		if reach < fewest {
			part, from, to, fewest = i, first, end, reach
		}
		at += paddedLen(length)
	}
	return part, from, to
}

// look takes the boxes that are below a node.
func (t *boxTree) look(best *bestBox, at int32) {
	for {
		node := &t.nodes[at]
		if node.right == 0 {
			for _, e := range t.items[node.first:node.end] {
				best.take(e)
			}
			return
		}
		part := best.parts[node.part]
		if part <= node.leftEnd {
			t.look(best, at+1)
		}
		if part < node.rightBegin {
			return
		}
		at = node.right
	}
}
