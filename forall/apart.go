package forall

import (
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Apart is packets that two hosts treat otherwise: from some sources, to destinations that are all treated alike.
type Apart struct {
	// Space is a box of them: to some of the destinations. Its share is that of the packets to all of them.
	Space Space
	// Here and There are the fates on both hosts, and Others those on the other ones that were asked for.
	Here, There Distribution
	Others      []Distribution
	// Dsts are all destinations of the packets, if the comparison keeps them apart.
	Dsts []Addrs
	// Number is that of the last of the Numbered packets that has these; 0 if none has.
	Number int

	likely *likely
}

// Witness is one of the packets, as likely a one as there is, and how unlikely it is: 0 is as a real one.
func (a *Apart) Witness() (packet inet.Input, unlikely int) { return a.likely.witness(&a.Space) }

// Numbered are packets to some destinations that have a number, whichever others they have.
type Numbered struct {
	Dst Addrs
	// Protos and Ports are those of the packets; none: all.
	Protos []uint8
	Ports  []uint16
	Number int
}

// Comparison says which packets Apart compares, and what else it says of them.
type Comparison struct {
	Family netfilter.Family
	Class  Class
	// Numbered are packets that no Apart mixes. Of several that have a packet the last one counts.
	Numbered []Numbered
	// Others are fates on other hosts, of the same packets: at most three.
	Others []*Fates
	// DstPorts are the only ports that packets go to which have ports; zero: they go to all.
	DstPorts Ports
	// ByDestination keeps destinations apart that do not have everything alike, so that each Apart can say all of its own.
	ByDestination bool
	// Known says of a condition with a name whether it is known, and if so whether it holds; nil: none is.
	Known func(name string) (holds, known bool)
}

// Apart are the packets that two hosts treat otherwise, each once. It is nothing if one of them is not about the family and class.
func (f *Fates) Apart(other *Fates, c *Comparison) iter.Seq[Apart] {
	return func(yield func(Apart) bool) {
		var parts []*part
		for _, fates := range slices.Concat([]*Fates{f, other}, c.Others) {
			p := fates.part(c.Family, c.Class)
			if p == nil {
				return
			}
			parts = append(parts, p)
		}
		w, roots := together(parts)
		known := func(v diagram.Var) (value diagram.Value, is bool) {
			if v < vNames || c.Known == nil {
				return value, false
			}
			holds, is := c.Known(w.names[v-vNames])
			if holds {
				value = diagram.Number(1)
			}
			return value, is
		}
		a := apart{w: w, c: c, likely: newLikely(f.host, other.host), width: len(roots) + 1}
		for i := range roots {
			a.root[i] = w.store.Fix(roots[i], known)
		}
		a.root[len(roots)] = numbering(w, c.Numbered)
		a.all(yield)
	}
}

// together puts parts into one world, that has the devices of all.
func together(parts []*part) (*world, []diagram.ID) {
	w := parts[0].world
	if !slices.ContainsFunc(parts, func(p *part) bool { return !slices.Equal(p.world.devices, w.devices) }) {
		return w, takeAll(w, parts)
	}
	devices := map[string]bool{}
	for _, p := range parts {
		for _, d := range p.world.devices {
			devices[d] = true
		}
	}
	w = newWorld(w.six, slices.Sorted(maps.Keys(devices)))
	return w, takeAll(w, parts)
}

func takeAll(w *world, parts []*part) []diagram.ID {
	var roots []diagram.ID
	for _, p := range parts {
		roots = append(roots, w.take(p.world, p.root))
	}
	return roots
}

// meeting is nodes of several functions that a packet comes to: of the two that are compared, of those beside, and of the numbers.
type meeting [6]diagram.ID

// apart finds where functions meet.
type apart struct {
	w      *world
	c      *Comparison
	likely *likely
	root   meeting
	width  int
}

// arrivals are packets that come to a meeting: one way there, how much of all packets they are, and all of their destinations if these are
// kept apart.
type arrivals struct {
	path  []diagram.Edge
	cost  int // of the way: how unlikely its packets are
	share float64
	dsts  []Addrs
}

// coming are the meetings that packets come to, in the order in which they were found.
type coming struct {
	at    map[meeting]*arrivals
	order []meeting
}

func comingTo(m meeting, by *arrivals) coming {
	return coming{map[meeting]*arrivals{m: by}, []meeting{m}}
}

// all goes down to the sources, a variable at a time, so that what is alike from there on is told once.
func (a *apart) all(yield func(Apart) bool) {
	costs := a.likely.costs(a.c.Family)
	to := a.below(vDst, comingTo(a.root, &arrivals{share: 1}), costs)
	groups := []coming{to}
	if a.c.ByDestination {
		groups = nil
		for _, m := range to.order {
			groups = append(groups, comingTo(m, to.at[m]))
		}
	}
	for _, g := range groups {
		for v := vDstPort; v < vSrc; v++ {
			g = a.below(v, g, costs)
		}
		for _, m := range g.order {
			if from := g.at[m]; !a.walk(m, from, from.path, from.share, yield) {
				return
			}
		}
	}
}

// below is where packets come to that a variable has been decided of.
func (a *apart) below(v diagram.Var, from coming, costs func(diagram.Edge) int) coming {
	to := coming{at: map[meeting]*arrivals{}}
	put := func(m meeting, by *arrivals, path []diagram.Edge, cost int, share float64) {
		if m[0] == m[1] {
			return
		}
		known := to.at[m]
		if known == nil {
			known = &arrivals{path: path, cost: cost, dsts: by.dsts}
			to.at[m], to.order = known, append(to.order, m)
		} else if cost < known.cost {
			known.path, known.cost = path, cost
		}
		known.share += share
		if v == vDst && a.c.ByDestination {
			known.dsts = append(known.dsts, a.destinations(path))
		}
	}
	whole := (diagram.Interval{Last: a.w.store.Limit(v)}).Size()
	for _, m := range from.order {
		by := from.at[m]
		if a.decides(m) != v {
			put(m, by, by.path, by.cost, by.share)
			continue
		}
		a.each(m, v, func(e diagram.Edge, next meeting) bool {
			if v != vDstPort || a.c.clip(&e.Interval) {
				put(next, by, append(slices.Clone(by.path), e), by.cost+costs(e), by.share*e.Size()/whole)
			}
			return true
		})
	}
	return to
}

// clip leaves those of the ports that packets go to. It is false if there are none.
func (c *Comparison) clip(ports *diagram.Interval) bool {
	if c.DstPorts == (Ports{}) {
		return true
	}
	if first := diagram.Number(uint64(c.DstPorts.First)); ports.First.Less(first) {
		ports.First = first
	}
	if last := diagram.Number(uint64(c.DstPorts.Last)); last.Less(ports.Last) {
		ports.Last = last
	}
	return !ports.Last.Less(ports.First)
}

// destinations are those of a way to a meeting.
func (a *apart) destinations(path []diagram.Edge) Addrs {
	if len(path) == 0 {
		return Addrs{addrOf(diagram.Value{}, a.w.six), addrOf(a.w.store.Limit(vDst), a.w.six)}
	}
	return Addrs{addrOf(path[0].First, a.w.six), addrOf(path[0].Last, a.w.six)}
}

// decides is the first variable that one of the functions decides.
func (a *apart) decides(m meeting) diagram.Var {
	v := a.w.store.Decides(m[0])
	for _, id := range m[1:a.width] {
		v = min(v, a.w.store.Decides(id))
	}
	return v
}

// each calls do for every interval of a variable in which all functions lead to one place each, until it is false.
func (a *apart) each(m meeting, v diagram.Var, do func(diagram.Edge, meeting) bool) bool {
	s, limit := a.w.store, a.w.store.Limit(v)
	var kid [len(m)]int
	for first := (diagram.Value{}); ; {
		to, last := m, limit
		for i, id := range m[:a.width] {
			if s.Decides(id) == v {
				to[i] = s.Kids(id)[kid[i]]
				if end := s.Last(id, kid[i]); end.Less(last) {
					last = end
				}
			}
		}
		if !do(diagram.Edge{Var: v, Interval: diagram.Interval{First: first, Last: last}}, to) {
			return false
		}
		if last == limit {
			return true
		}
		for i, id := range m[:a.width] {
			if s.Decides(id) == v && s.Last(id, kid[i]) == last {
				kid[i]++
			}
		}
		first = last.Next()
	}
}

// walk goes down to the leaves, until it is told to stop.
func (a *apart) walk(m meeting, by *arrivals, path []diagram.Edge, share float64, yield func(Apart) bool) bool {
	if m[0] == m[1] {
		return true
	}
	leaf := true
	for _, id := range m[:a.width] {
		leaf = leaf && a.w.store.IsLeaf(id)
	}
	if leaf {
		return yield(a.told(m, by, path, share))
	}
	v := a.decides(m)
	whole := (diagram.Interval{Last: a.w.store.Limit(v)}).Size()
	return a.each(m, v, func(e diagram.Edge, to meeting) bool {
		return a.walk(to, by, append(path, e), share*e.Size()/whole, yield)
	})
}

func (a *apart) told(m meeting, by *arrivals, path []diagram.Edge, share float64) Apart {
	w, end := a.w, a.width-1
	out := Apart{
		Space: w.space(a.c.Family, a.c.Class, path), Here: w.distribution(m[0]), There: w.distribution(m[1]), likely: a.likely,
		Dsts: by.dsts, Number: int(w.store.Shares(m[end])[0].Atom),
	}
	out.Space.Share = share
	for _, id := range m[2:end] {
		out.Others = append(out.Others, w.distribution(id))
	}
	return out
}

// numbering is the function of the numbers of packets.
func numbering(w *world, all []Numbered) diagram.ID {
	all = slices.DeleteFunc(slices.Clone(all), func(n Numbered) bool { return n.Dst.First.Is6() != w.six })
	starts := map[netip.Addr]bool{addrOf(diagram.Value{}, w.six): true}
	for i := range all {
		starts[all[i].Dst.First] = true
		if next := all[i].Dst.Last.Next(); next.IsValid() {
			starts[next] = true
		}
	}
	begins := make([]int, len(all)) // in the order of their first addresses
	for i := range begins {
		begins[i] = i
	}
	slices.SortStableFunc(begins, func(i, j int) int { return all[i].Dst.First.Compare(all[j].Dst.First) })
	var last []diagram.Value
	var kids []diagram.ID
	var now []int // that have the address, in their order
	for _, a := range slices.SortedFunc(maps.Keys(starts), netip.Addr.Compare) {
		now = slices.DeleteFunc(now, func(i int) bool { return all[i].Dst.Last.Less(a) })
		for len(begins) > 0 && all[begins[0]].Dst.First == a {
			now, begins = append(now, begins[0]), begins[1:]
		}
		slices.Sort(now)
		if first := valueOf(a); first != (diagram.Value{}) {
			last = append(last, first.Prev())
		}
		kids = append(kids, numberAt(w, all, now))
	}
	return w.store.Node(vDst, append(last, w.store.Limit(vDst)), kids)
}

// numberAt is the number by port and protocol, of packets to an address that some have.
func numberAt(w *world, all []Numbered, have []int) diagram.ID {
	at := w.store.One(0)
	for _, i := range have {
		n := &all[i]
		is := w.store.One(1)
		none := w.store.One(0)
		if len(n.Protos) > 0 {
			is = w.store.Choose(vProto, pointsOf(n.Protos), is, none)
		}
		if len(n.Ports) > 0 {
			is = w.store.Choose(vDstPort, pointsOf(n.Ports), is, none)
		}
		before := at
		at = w.store.Replace(is, func(a diagram.Atom) diagram.ID {
			if a == 1 {
				return w.store.One(diagram.Atom(n.Number))
			}
			return before
		})
	}
	return at
}

func pointsOf[N uint8 | uint16](numbers []N) diagram.Set {
	var out []diagram.Interval
	for _, n := range numbers {
		out = append(out, diagram.Point(diagram.Number(uint64(n))))
	}
	return diagram.SetOf(out...)
}
