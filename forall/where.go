package forall

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Question asks which packets have a fate. Its zero value asks for all packets with all fates.
type Question struct {
	// Of the packets as they come, unset parts being any. A port, here or below, without a protocol asks for all protocols that have ports.
	Dst, Src netip.Prefix
	Proto    uint8
	DstPort  uint16
	// In are the devices by which they come; "" is the host itself. Empty: all.
	In []string

	// Of what becomes of them: where they are when they leave the host or arrive, and what else.
	EndDst  netip.Prefix
	EndPort uint16
	// Fate says whether a fate is one that is asked for; nil: all are.
	Fate func(*Fate) bool
}

// Answer is packets that may have one of the fates that were asked for.
type Answer struct {
	Space Space
	// Fates are the fates that were asked for, each with its probability. Probability is the sum of these.
	Fates       Distribution
	Probability float64
}

// Where is the packets that may have a fate, in disjoint boxes.
func (f *Fates) Where(q Question) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		for i := range f.parts {
			p := &f.parts[i]
			if q.isOfOther(p.family) {
				continue
			}
			a := asking{p: p, q: &q, s: p.world.newStore(), known: map[[2]diagram.ID]diagram.ID{}}
			answers := a.ask(p.root, a.ends())
			ok := true
			a.s.Paths(a.s.Replace(a.packets(), func(diagram.Atom) diagram.ID { return answers }), func(path []diagram.Edge, leaf diagram.ID) bool {
				answer := a.answer(path, leaf)
				if len(answer.Fates) > 0 {
					ok = yield(answer)
				}
				return ok
			})
			if !ok {
				return
			}
		}
	}
}

// isOfOther says whether the question is about packets of the other family.
func (q *Question) isOfOther(family netfilter.Family) bool {
	for _, p := range [...]netip.Prefix{q.Dst, q.Src, q.EndDst} {
		if p.IsValid() && p.Addr().Is6() != (family == netfilter.IPv6) {
			return true
		}
	}
	return false
}

// asking is a question to a part. Its atoms are the numbers of ends from 0 on, where elsewhere is an end.
type asking struct {
	p     *part
	q     *Question
	s     *diagram.Store
	known map[[2]diagram.ID]diagram.ID
}

// elsewhere is the end of what was not asked for.
const elsewhere diagram.Atom = -1

// The atoms of where packets are that nothing translates: bits of what is as it was asked for.
const (
	addrFits diagram.Atom = 1 << iota
	portFits
)

// packets is the packets that are asked for: an open atom, and elsewhere.
func (a *asking) packets() diagram.ID {
	at, none := a.s.One(0), a.s.One(elsewhere)
	choose := func(v diagram.Var, in ...diagram.Interval) { at = a.s.Choose(v, diagram.SetOf(in...), at, none) }
	if len(a.q.In) > 0 {
		var in []diagram.Interval
		for _, device := range a.q.In {
			for i, d := range append([]string{""}, a.p.world.devices...) {
				if d == device {
					in = append(in, diagram.Point(diagram.Number(uint64(i))))
				}
			}
		}
		choose(vIn, in...)
	}
	if a.q.Src.IsValid() {
		choose(vSrc, prefixInterval(a.q.Src))
	}
	switch {
	case a.q.Proto != 0:
		choose(vProto, diagram.Point(diagram.Number(uint64(a.q.Proto))))
	case a.q.DstPort != 0 || a.q.EndPort != 0:
		var ported []diagram.Interval
		for n := range 256 {
			if inet.Proto(n).HasPorts() {
				ported = append(ported, diagram.Point(diagram.Number(uint64(n))))
			}
		}
		choose(vProto, ported...)
	}
	if a.q.DstPort != 0 {
		choose(vDstPort, diagram.Point(diagram.Number(uint64(a.q.DstPort))))
	}
	if a.q.Dst.IsValid() {
		choose(vDst, prefixInterval(a.q.Dst))
	}
	return at
}

// ends is the diagram of packets that nothing translates: it says whether their destination and port are the ones that the question names.
func (a *asking) ends() diagram.ID {
	leaf := func(addr, port diagram.Atom) diagram.ID { return a.p.world.store.One(addr | port) }
	s := a.p.world.store
	byPort := func(addr diagram.Atom) diagram.ID {
		if a.q.EndPort == 0 {
			return leaf(addr, portFits)
		}
		return s.Choose(vDstPort, diagram.Set{diagram.Point(diagram.Number(uint64(a.q.EndPort)))}, leaf(addr, portFits), leaf(addr, 0))
	}
	if !a.q.EndDst.IsValid() {
		return byPort(addrFits)
	}
	return s.Choose(vDst, diagram.Set{prefixInterval(a.q.EndDst)}, byPort(addrFits), byPort(0))
}

// ask keeps the fates that are asked for, where ends says how packets fit that nothing translates.
func (a *asking) ask(id, ends diagram.ID) diagram.ID {
	key := [2]diagram.ID{id, ends}
	if made, is := a.known[key]; is {
		return made
	}
	from := a.p.world.store
	var made diagram.ID
	if from.IsLeaf(id) && from.IsLeaf(ends) {
		var shares []diagram.Share
		for _, s := range from.Shares(id) {
			if fate := a.p.world.fateOf(s.Atom); !a.wants(&fate, from.Shares(ends)[0].Atom) {
				s.Atom = elsewhere
			} else {
				s.Atom--
			}
			shares = append(shares, s)
		}
		made = a.s.Leaf(shares)
	} else {
		var last []diagram.Value
		var kids []diagram.ID
		from.Both(id, ends, func(i diagram.Interval, x, y diagram.ID) bool {
			last, kids = append(last, i.Last), append(kids, a.ask(x, y))
			return true
		})
		made = a.s.Node(min(from.Decides(id), from.Decides(ends)), last, kids)
	}
	a.known[key] = made
	return made
}

// wants says whether a fate is asked for, of a packet that fits so.
func (a *asking) wants(f *Fate, fits diagram.Atom) bool {
	if a.q.EndDst.IsValid() || a.q.EndPort != 0 {
		if !f.Arrives() {
			return false
		}
		if f.Dst.IsValid() {
			if fits &^= addrFits; !a.q.EndDst.IsValid() || a.q.EndDst.Contains(f.Dst) {
				fits |= addrFits
			}
		}
		if f.DstPort != 0 {
			if fits &^= portFits; a.q.EndPort == 0 || a.q.EndPort == f.DstPort {
				fits |= portFits
			}
		}
		if fits != addrFits|portFits {
			return false
		}
	}
	return a.q.Fate == nil || a.q.Fate(f)
}

func (a *asking) answer(path []diagram.Edge, leaf diagram.ID) Answer {
	out := Answer{Space: a.p.world.space(a.p.family, a.p.class, path)}
	for _, s := range a.s.Shares(leaf) {
		if s.Atom != elsewhere {
			out.Fates = append(out.Fates, Share{a.p.world.fateOf(s.Atom + 1), s.Weight.Float()})
			out.Probability += s.Weight.Float()
		}
	}
	slices.SortFunc(out.Fates, func(a, b Share) int { return compareFates(a.Fate, b.Fate) })
	return out
}

// Kind is all answers whose fates are alike, but for what is translated to, and whose likely packets are alike to who asked.
type Kind struct {
	// Space is a box of them, Fates what may become of its packets of what was asked for, and Probability the sum of these.
	Space       Space
	Fates       Distribution
	Probability float64
	// Witness is a packet of the box, as likely a one as the boxes of the kind have.
	Witness inet.Input
	// Share is how much of all packets of the class and family are of the kind, from 0 to 1. Boxes is in how many boxes.
	Share float64
	Boxes int
}

// Kinds is every kind of answer to some questions once, the kind of most packets first. The packets of one question must be none of
// another's. alike says more of what a kind has in common, of a likely packet of each box; nil: nothing.
func (f *Fates) Kinds(questions []Question, alike func(*inet.Input) string) []Kind {
	likely := newLikely(f.host)
	places := map[string]int{}
	var all []Kind
	var worst []int
	add := func(a *Answer) {
		witness, cost := likely.witness(&a.Space)
		kind := fmt.Sprint(a.Space.Family, a.Space.Class, a.Fates.Kind())
		if alike != nil {
			kind += alike(&witness)
		}
		at, known := places[kind]
		if !known {
			at = len(all)
			places[kind] = at
			all, worst = append(all, Kind{}), append(worst, cost+1)
		}
		k := &all[at]
		k.Share += a.Space.Share
		k.Boxes++
		if cost < worst[at] {
			worst[at] = cost
			k.Space, k.Fates, k.Probability, k.Witness = a.Space, a.Fates, a.Probability, witness
		}
	}
	for _, q := range questions {
		for a := range f.Where(q) {
			add(&a)
		}
	}
	slices.SortStableFunc(all, func(a, b Kind) int { return compareShares(b.Share, a.Share) })
	return all
}
