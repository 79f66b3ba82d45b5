package forall

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim"
)

// routeKey is what a route depends on beside the source and the device: the part of the terrain in which the destination is, or the destination itself
// where it is a next hop.
type routeKey struct {
	place  int32
	mark   uint32
	src    int32
	anySrc bool
}

// routeOut is where routing sends a packet of the host: states with a way, or ends. The first time the hook sees the way's device.
func (b *builder) routeOut(st state, anySrc bool) diagram.ID {
	view := &b.views[st.view]
	key := routeKey{view.place, st.mark, st.src, anySrc}
	routes, known := b.cutsOut[key]
	if !known {
		of := func(src netip.Addr) diagram.ID {
			way, _ := b.t.RouteOut(src, view.addr, st.mark, anySrc)
			return b.wayLeaf(way, view.addr)
		}
		if st.src != 0 {
			routes = of(b.sources.at(st.src))
		} else {
			routes = b.bySource(of)
		}
		b.cutsOut[key] = routes
	}
	return b.withWay(routes, st, func(st *state) {
		st.routed = true
		if !anySrc {
			st.out = b.outOf(st)
		}
	})
}

// routeIn is where routing sends a packet that has come in.
func (b *builder) routeIn(st state) diagram.ID {
	if st.origin == fromLo { // its route is that of its way out, or it has lost it to NAT
		return b.unmodelled("a packet of the host that lost its route on lo")
	}
	view := &b.views[st.view]
	key := routeKey{place: view.place, mark: st.mark}
	routes, known := b.cutsIn[key]
	if !known {
		limit := len(b.w.devices)
		routes = b.bySource(func(src netip.Addr) diagram.ID {
			last, kids := make([]diagram.Value, limit+1), make([]diagram.ID, limit+1)
			for i := range limit + 1 {
				last[i], kids[i] = diagram.Number(uint64(i)), b.dropped()
			}
			for i := range b.devices {
				if in := b.devices[i].Name; b.devices[i].Up && b.t.Bridge(in) == "" {
					kids[b.number[in]] = b.wayLeaf(b.t.RouteIn(src, view.addr, st.mark, in), view.addr)
				}
			}
			return b.s.Node(vIn, last, kids)
		})
		b.cutsIn[key] = routes
	}
	routed := b.withWay(routes, st, func(st *state) { st.routed = true })
	return b.s.Replace(routed, func(a diagram.Atom) diagram.ID {
		_, st := b.stateOf(a)
		return b.routed(st)
	})
}

// wayLeaf is the leaf of a way: its number as an atom, or an end. The next hop of a destination on the link is the destination, which is not kept.
func (b *builder) wayLeaf(way packetsim.Way, dst netip.Addr) diagram.ID {
	switch {
	case way.NotKnown != "":
		return b.unmodelled(way.NotKnown)
	case way.RejectWith != "":
		return b.rejected(way.RejectWith)
	case way.Reason != "":
		return b.dropped()
	}
	if way.NextHop == dst {
		way.NextHop = netip.Addr{}
	}
	return b.s.One(diagram.Atom(b.ways.number(way)))
}

// withWay puts states that have the ways in the place of ways.
func (b *builder) withWay(routes diagram.ID, st state, then func(*state)) diagram.ID {
	return b.s.Replace(routes, func(a diagram.Atom) diagram.ID {
		routed := st
		routed.way = int32(a)
		then(&routed)
		return b.is(fell, routed)
	})
}
