package forall

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
)

// routeKey is what a route depends on beside the source and the device. Routes that differ in their next hop are worked out once.
type routeKey struct {
	like   packetsim.Likeness
	mark   uint32
	src    int32
	anySrc bool
}

// routeOut is where routing sends a packet of the host: states with a way, or ends. The first time the hook sees the way's device.
func (b *builder) routeOut(st state, anySrc bool) diagram.ID {
	view := &b.views[st.view]
	like, hop := b.t.Likeness(view.addr, st.mark)
	key := routeKey{like, st.mark, st.src, anySrc}
	routes, known := b.cutsOut.get(key)
	if !known {
		of := func(src netip.Addr) diagram.ID {
			way, _ := b.t.RouteOut(src, view.addr, st.mark, anySrc)
			return b.wayLeaf(way, view.addr, hop)
		}
		if st.src != 0 {
			routes = of(b.sources.at(st.src))
		} else {
			routes = b.byOrigin(of)
		}
		b.cutsOut.put(key, routes)
	}
	return b.withWay(routes, hop, st, func(st *state) {
		st.routed = true
		if !anySrc {
			st.out = b.outOf(st)
		}
	})
}

// routeIn is what becomes of a packet that has come in, from where routing sends it on.
func (b *builder) routeIn(st state) diagram.ID {
	if st.origin == fromLo { // its route is that of its way out, or it has lost it to NAT
		return b.unmodelled("a packet of the host that lost its route on lo")
	}
	view := &b.views[st.view]
	like, hop := b.t.Likeness(view.addr, st.mark)
	key := routeKey{like: like, mark: st.mark}
	routes, known := b.cutsIn.get(key)
	if !known {
		routes = b.byOrigin(func(src netip.Addr) diagram.ID { return b.routesIn(src, view.addr, st.mark, hop) })
		b.cutsIn.put(key, routes)
	}
	routed := b.withWay(routes, hop, st, func(st *state) { st.routed = true })
	return b.s.Replace(routed, func(a diagram.Atom) diagram.ID {
		_, st := b.stateOf(a)
		return b.routed(st)
	})
}

// links are the devices of the host and the ways that lead out of them.
type links struct {
	*outcomes
	t        *packetsim.Terrain
	devices  []packetsim.Device
	number   map[string]int // of devices in vIn
	doorways []*doorway
	rows     []row
	ways     numbered[packetsim.Way]
}

// doorway is the devices of a doorway, by their numbers in vIn.
type doorway struct {
	packetsim.Doorway
	at      int // in links.doorways
	devices []int
}

// row is devices of one doorway with numbers one after the other.
type row struct {
	*doorway
	first, last int
}

// routesIn is where routing sends packets between two addresses on, by the device that they came in by: of the devices of a doorway it asks
// for one, besides those that are the doors of the addresses.
func (l *links) routesIn(src, dst netip.Addr, mark uint32, hop netip.Addr) diagram.ID {
	ask := func(d *doorway, in int) diagram.ID {
		if !d.Up || d.Port {
			return l.dropped()
		}
		return l.wayLeaf(l.t.RouteIn(src, dst, mark, l.w.devices[in-1]), dst, hop)
	}
	doors, known := l.doorsOf(src, dst)
	like := make([]diagram.ID, len(l.doorways)) // of the doorways that were asked for, plus 1
	last, kids := []diagram.Value{diagram.Number(0)}, []diagram.ID{l.dropped()}
	for i := range l.rows {
		row := &l.rows[i]
		for in := row.first; in <= row.last; in++ {
			at, isDoor := slices.BinarySearch(doors, in)
			if isDoor || !known {
				last, kids = append(last, diagram.Number(uint64(in))), append(kids, ask(row.doorway, in))
				continue
			}
			if like[row.at] == 0 {
				like[row.at] = ask(row.doorway, in) + 1
			}
			if in = row.last; at < len(doors) {
				in = min(in, doors[at]-1)
			}
			last, kids = append(last, diagram.Number(uint64(in))), append(kids, like[row.at]-1)
		}
	}
	return l.s.Node(vIn, last, kids)
}

// doorsOf are the numbers of the doors of two addresses, ascending.
func (l *links) doorsOf(src, dst netip.Addr) (doors []int, known bool) {
	names, known := l.t.Doors(src, dst)
	for _, name := range names {
		doors = append(doors, l.number[name])
	}
	slices.Sort(doors)
	return doors, known
}

// sortDoorways puts the devices of the world into doorways. Those that this host does not have are in the zero one.
func (l *links) sortDoorways() {
	known := map[packetsim.Doorway]*doorway{}
	for i, name := range l.w.devices {
		of, in := l.t.Doorway(name), i+1
		d := known[of]
		if d == nil {
			d = &doorway{Doorway: of, at: len(l.doorways)}
			known[of], l.doorways = d, append(l.doorways, d)
		}
		d.devices = append(d.devices, in)
		if n := len(l.rows); n > 0 && l.rows[n-1].doorway == d {
			l.rows[n-1].last = in
		} else {
			l.rows = append(l.rows, row{d, in, in})
		}
	}
}

// wayLeaf is the leaf of a way: its number as an atom, or an end. The next hop is left out, be it the destination itself or another one.
func (l *links) wayLeaf(way packetsim.Way, dst, hop netip.Addr) diagram.ID {
	switch {
	case way.NotKnown != "":
		return l.unmodelled(way.NotKnown)
	case way.RejectWith != "":
		return l.rejected(way.RejectWith)
	case way.Reason != "":
		return l.dropped()
	}
	if way.NextHop == dst || way.NextHop == hop {
		way.NextHop = netip.Addr{}
	}
	return l.s.One(diagram.Atom(l.ways.number(way)))
}

// withWay puts states that have the ways in the place of ways, with their next hop.
func (l *links) withWay(routes diagram.ID, hop netip.Addr, st state, then func(*state)) diagram.ID {
	return l.s.Replace(routes, func(a diagram.Atom) diagram.ID {
		routed := st
		routed.way = int32(a)
		if way := l.ways.all[a]; hop.IsValid() && !way.NextHop.IsValid() {
			way.NextHop = hop
			routed.way = l.ways.number(way)
		}
		then(&routed)
		return l.is(fell, routed)
	})
}
