package forall

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"sort"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// places are the destinations as far as the host can tell them apart. Rules and routing ask for sets of destinations; those that are in
// the same sets
// are one view, and are walked once.
type places struct {
	s         *diagram.Store
	only      only
	six       bool
	terrain   []diagram.Value // where the terrain may change
	origins   []int32         // of the sources between two of these: numbers of those that routing treats alike
	slices    []slice
	views     []view // behind hereView
	here      int32  // the number of the view that is walked now
	wanted    []asked
	late      []asked            // those that are asked for behind the translation of destinations
	goals     []diagram.Interval // what destinations are translated to
	goalViews map[int32]bool     // the views that have one of these
	sight     sight
	leftOut   bool            // what some rules ask for, since they match none of the packets that are worked out
	classes   classes         // by late
	lateOf    map[int32]int32 // the view of a class of late
	typed     map[string]diagram.Set
	like      map[likeKey]int32
}

// asked is destinations that a rule asks for. Those of a group are asked for alike, in whatever intervals they are; 0: of none.
type asked struct {
	diagram.Interval
	group int32
}

// alone are intervals each of which is asked for by itself.
func alone(to []asked, intervals ...diagram.Interval) []asked {
	for _, i := range intervals {
		to = append(to, asked{Interval: i})
	}
	return to
}

// inGroup are intervals that are asked for alike.
func inGroup(to []asked, group int32, intervals ...diagram.Interval) []asked {
	for _, i := range intervals {
		to = append(to, asked{i, group})
	}
	return to
}

// slice is destinations that lie together and have one view.
type slice struct {
	diagram.Interval
	view int32
}

// view is destinations that are alike, by one of them.
type view struct {
	addr  netip.Addr
	value diagram.Value
	place int32 // the part of the terrain
	slice int32
	alone bool // no other slice has it
}

// cutPlaces makes the slices.
func (p *places) cutPlaces() {
	all := classify(p.wanted, p.terrain, p.s.Limit(vDst))
	p.views = make([]view, hereView+1)
	viewOf := map[int32]int32{}
	for i, first := range all.first {
		last := p.s.Limit(vDst)
		if i+1 < len(all.first) {
			last = all.first[i+1].Prev()
		}
		class := all.class[i]
		if viewOf[class] == 0 {
			viewOf[class] = p.newView(first, int32(i))
			p.views[viewOf[class]].alone = true
		} else {
			p.views[viewOf[class]].alone = false
		}
		p.slices = append(p.slices, slice{diagram.Interval{First: first, Last: last}, viewOf[class]})
	}
	p.goalViews = map[int32]bool{}
	for _, goal := range p.goals {
		p.goalViews[p.slices[p.sliceOf(goal.First)].view] = true
	}
	p.classes, p.lateOf = classify(p.late, p.terrain, p.s.Limit(vDst)), map[int32]int32{}
}

// hereView is the number that the view which is walked has on the way.
const hereView = 1

// numberOf is the number of a view for good.
func (p *places) numberOf(view int32) int32 {
	if view == hereView {
		return p.here
	}
	return view
}

func (p *places) newView(v diagram.Value, slice int32) int32 {
	place := sort.Search(len(p.terrain), func(i int) bool { return v.Less(p.terrain[i]) })
	p.views = append(p.views, view{addr: addrOf(v, p.six), value: v, place: int32(place), slice: slice})
	return int32(len(p.views) - 1)
}

// viewOf is the view of a destination behind a translation: the first that was met of those that are alike to the rules from there on.
func (p *places) viewOf(addr netip.Addr) int32 {
	v := valueOf(addr)
	p.sight.strayed = p.sight.strayed || p.sight.known != nil && !p.sight.known.Has(v)
	return p.lateView(v)
}

// lateView is viewOf for a destination that some packet has that is worked out.
func (p *places) lateView(v diagram.Value) int32 {
	class := p.classes.of(v)
	known := p.lateOf[class]
	if known == 0 {
		known = p.newView(v, int32(p.sliceOf(v)))
		p.lateOf[class] = known
	}
	return known
}

// behindNAT is a state in which it is decided what the destination is translated to. If it stays as it is, what comes behind tells it from
// few others, so that it is walked once for most services.
func (p *places) behindNAT(st state) state {
	if st.bound[conntrack.Destination] && st.view == hereView && st.orig == 0 {
		st.view = p.lateView(p.views[hereView].value)
	}
	return st
}

// sliceOf is the number of the slice that has a destination.
func (p *places) sliceOf(v diagram.Value) int {
	return sort.Search(len(p.slices), func(i int) bool { return !p.slices[i].Last.Less(v) })
}

// classes say which values are alike: from each of first on up to the next the class of the same number.
type classes struct {
	first []diagram.Value
	class []int32
}

// of is the class of a value.
func (c *classes) of(v diagram.Value) int32 {
	return c.class[sort.Search(len(c.first), func(i int) bool { return v.Less(c.first[i]) })-1]
}

// classify makes classes of the values up to a limit that are in the same intervals, and between the same two of the cuts, which are
// ascending and begin at 0.
func classify(intervals []asked, cuts []diagram.Value, limit diagram.Value) classes {
	type event struct {
		at    diagram.Value
		id    int32
		begin bool
	}
	slices.SortFunc(intervals, func(x, y asked) int {
		if c := x.First.Compare(y.First); c != 0 {
			return c
		}
		return cmp.Or(x.Last.Compare(y.Last), cmp.Compare(x.group, y.group))
	})
	intervals = slices.Compact(intervals)
	events := make([]event, 0, 2*len(intervals)+len(cuts))
	for i, iv := range intervals {
		id := int32(i)
		if iv.group != 0 {
			id = int32(len(intervals)) + iv.group
		}
		events = append(events, event{iv.First, id, true})
		if iv.Last.Less(limit) {
			events = append(events, event{iv.Last.Next(), id, false})
		}
	}
	for _, c := range cuts {
		events = append(events, event{at: c, id: -1})
	}
	slices.SortStableFunc(events, func(x, y event) int {
		switch c := x.at.Compare(y.at); {
		case c != 0 || x.begin == y.begin:
			return c
		case y.begin: // a group may end where it begins again
			return -1
		}
		return 1
	})
	var out classes
	known, active, part := map[string]int32{}, []int32{}, uint32(0)
	var key []byte
	for i := range events {
		switch e := &events[i]; {
		case e.id < 0:
			part++
		case e.begin:
			at, _ := slices.BinarySearch(active, e.id)
			active = slices.Insert(active, at, e.id)
		default:
			if at, is := slices.BinarySearch(active, e.id); is {
				active = slices.Delete(active, at, at+1)
			}
		}
		if i+1 < len(events) && events[i+1].at == events[i].at {
			continue
		}
		key = binary.LittleEndian.AppendUint32(key[:0], part)
		for _, id := range active {
			key = binary.LittleEndian.AppendUint32(key, uint32(id))
		}
		class, is := known[string(key)]
		if !is {
			class = int32(len(known))
			known[string(key)] = class
		}
		out.first, out.class = append(out.first, events[i].at), append(out.class, class)
	}
	return out
}

// sortOrigins finds out which sources routing treats alike.
func (p *places) sortOrigins(t *packetsim.Terrain) {
	known := map[packetsim.Origin]int32{}
	for _, first := range p.terrain {
		origin := t.Origin(addrOf(first, p.six))
		if _, is := known[origin]; !is {
			known[origin] = int32(len(known))
		}
		p.origins = append(p.origins, known[origin])
	}
}

// byOrigin is a function of the source that is the same for those that routing treats alike.
func (p *places) byOrigin(of func(netip.Addr) diagram.ID) diagram.ID {
	known := make([]diagram.ID, len(p.origins)) // plus 1
	return p.byPart(func(i int) diagram.ID {
		id := &known[p.origins[i]]
		if *id == 0 {
			*id = of(addrOf(p.terrain[i], p.six)) + 1
		}
		return *id - 1
	})
}

// bySource is a function of the source, which is the same between two cuts of the terrain.
func (p *places) bySource(of func(netip.Addr) diagram.ID) diagram.ID {
	return p.byPart(func(i int) diagram.ID { return of(addrOf(p.terrain[i], p.six)) })
}

// byPart is a function of the part of the terrain that the source is in.
func (p *places) byPart(of func(int) diagram.ID) diagram.ID {
	last, kids := make([]diagram.Value, len(p.terrain)), make([]diagram.ID, len(p.terrain))
	for i := range p.terrain {
		if last[i] = p.s.Limit(vSrc); i+1 < len(p.terrain) {
			last[i] = p.terrain[i+1].Prev()
		}
		kids[i] = of(i)
	}
	return p.s.Node(vSrc, last, kids)
}
