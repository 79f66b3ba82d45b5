package forall

import (
	"net/netip"

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
			routes = b.bySource(of)
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
		limit := len(b.w.devices)
		routes = b.bySource(func(src netip.Addr) diagram.ID {
			last, kids := make([]diagram.Value, limit+1), make([]diagram.ID, limit+1)
			for i := range limit + 1 {
				last[i], kids[i] = diagram.Number(uint64(i)), b.dropped()
			}
			for i := range b.devices {
				if in := b.devices[i].Name; b.devices[i].Up && b.t.Bridge(in) == "" {
					kids[b.number[in]] = b.wayLeaf(b.t.RouteIn(src, view.addr, st.mark, in), view.addr, hop)
				}
			}
			return b.s.Node(vIn, last, kids)
		})
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
	devices []packetsim.Device
	number  map[string]int // of devices in vIn
	ways    numbered[packetsim.Way]
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
