package forall

import (
	"bytes"
	"iter"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// boxes are the elements of a set, each as the first and the last key that meets it.
type boxes struct {
	all      []box
	parts    []keyPart // of a concatenation; otherwise one
	catchall *nftables.Element
	exact    bool                           // each element is one key
	index    map[keyPart]map[string][]int32 // by where bytes are in the key: the elements that have one value there
	ranged   map[keyPart][]int32            // and those that have a range
	mirrors  map[[2]keyPart]bool            // whether two parts of the key are the same in all elements, as far as somebody asked
}

// box is an element.
type box struct {
	first, last []byte
	element     *nftables.Element
}

// keyPart is where a part of a key is.
type keyPart struct{ at, size int }

// changes says whether packets or time change the elements of a set.
func setChanges(s *nftables.Set) bool { return s.Flags&(nftables.SetEval|nftables.SetTimeout) != 0 }

// boxesOf is the elements of a set.
func (b *builder) boxesOf(s *nftables.Set) *boxes {
	if b.boxes[s] == nil {
		b.boxes[s] = boxesIn(s, nil)
	}
	return b.boxes[s]
}

// boxesIn is some elements of a set, which then has no intervals; nil: all.
func boxesIn(s *nftables.Set, elements iter.Seq[*nftables.Element]) *boxes {
	made := &boxes{}
	intervals := s.Flags&nftables.SetInterval != 0
	var from *nftables.Element
	switch {
	case intervals:
		elements = slices.Values(s.Elements(time.Time{}))
	case elements == nil:
		elements = s.Unsorted() // each has a key of its own
		made.all = make([]box, 0, s.Len())
	}
	for e := range elements {
		switch {
		case e.Flags&nftables.ElementCatchall != 0:
			made.catchall = e
		case !intervals:
			made.all = append(made.all, box{e.Key, e.Key, e})
		case len(s.FieldLens) > 1:
			last := e.KeyEnd
			if last == nil {
				last = e.Key
			}
			made.all = append(made.all, box{e.Key, last, e})
		default: // beginnings and ends in turn
			if from != nil {
				made.all = append(made.all, box{from.Key, before(e.Key), from})
			}
			if from = e; e.Flags&nftables.ElementIntervalEnd != 0 {
				from = nil
			}
		}
	}
	if from != nil {
		made.all = append(made.all, box{from.Key, bytes.Repeat([]byte{0xff}, int(s.KeyLen)), from})
	}
	made.exact = !slices.ContainsFunc(made.all, func(e box) bool { return !bytes.Equal(e.first, e.last) })
	at := 0
	for _, size := range s.FieldLens {
		made.parts = append(made.parts, keyPart{at, int(size)})
		at += (int(size) + 3) &^ 3
	}
	return made
}

// alike says whether it makes no difference to a look-up which element of a set it meets.
func (x *boxes) alike(e *expr.Lookup) bool {
	return !e.Map && !slices.ContainsFunc(x.all, func(b box) bool { return len(b.element.Exprs) > 0 })
}

// before is the key before another one.
func before(key []byte) []byte {
	out := bytes.Clone(key)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]--; out[i] != 0xff {
			break
		}
	}
	return out
}

// elements are some of a set, by their numbers, which are ascending.
type elements struct {
	all bool
	are []int32
}

// and is the elements that are in both. It is quick if either are few.
func (e elements) and(other elements) elements {
	switch {
	case e.all:
		return other
	case other.all:
		return e
	case len(other.are) < len(e.are):
		e, other = other, e
	}
	var both []int32
	for _, i := range e.are {
		if _, is := slices.BinarySearch(other.are, i); is {
			both = append(both, i)
		}
	}
	return elements{are: both}
}

// with are the elements that a key may meet that has a value at a place. They are not to be written to.
func (x *boxes) with(at int, value []byte) elements {
	place := keyPart{at, len(value)}
	if len(x.all) <= fewElements {
		var out []int32
		for i := range x.all {
			if x.all[i].meets(place, value) {
				out = append(out, int32(i))
			}
		}
		return elements{are: out}
	}
	if x.index[place] == nil {
		x.indexBy(place)
	}
	same, ranged := x.index[place][string(value)], x.ranged[place]
	if len(ranged) == 0 {
		return elements{are: same}
	}
	out := slices.Clone(same)
	for _, i := range ranged {
		if x.all[i].meets(place, value) {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return elements{are: out}
}

// fewElements is up to how many elements are asked one by one.
const fewElements = 16

// meets says whether an element may be met by a key that has a value at a place.
func (e *box) meets(at keyPart, value []byte) bool {
	return bytes.Compare(at.of(e.first), value) <= 0 && bytes.Compare(value, at.of(e.last)) <= 0
}

// of is the part of a key.
func (p keyPart) of(key []byte) []byte { return key[p.at : p.at+p.size] }

// indexBy makes the index of the elements by what they have at a place.
func (x *boxes) indexBy(place keyPart) {
	if x.index == nil {
		x.index, x.ranged = map[keyPart]map[string][]int32{}, map[keyPart][]int32{}
	}
	index := map[string][]int32{}
	for i := range x.all {
		first, last := place.of(x.all[i].first), place.of(x.all[i].last)
		if bytes.Equal(first, last) {
			index[string(first)] = append(index[string(first)], int32(i))
		} else {
			x.ranged[place] = append(x.ranged[place], int32(i))
		}
	}
	x.index[place] = index
}
