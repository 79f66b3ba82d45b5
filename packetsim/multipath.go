package packetsim

import (
	"fmt"
	"net/netip"
	"slices"
)

// addNextHops makes the routes by each of the next hops.
func (b *networkBuilder) addNextHops(r *route) error {
	for _, hop := range r.NextHops {
		one := &route{Route: r.Route, dev: b.byName[hop.Dev], kind: r.kind}
		one.Via, one.Dev, one.NextHops = hop.Via, hop.Dev, nil
		switch {
		case one.dev == nil:
			return fmt.Errorf("route %s: there is no device %q", r.Dst, hop.Dev)
		case hop.Weight < 0 || hop.Weight > 256:
			return fmt.Errorf("route %s: weight %d of next hop %s: want 1 to 256", r.Dst, hop.Weight, hop.Via)
		case hop.Via.Is4() && r.Dst.Addr().Is6():
			return fmt.Errorf("route %s: next hop %s is of the other family", r.Dst, hop.Via)
		}
		r.hops = append(r.hops, one)
	}
	return nil
}

// pathKey is a flow on a route with several next hops.
type pathKey struct {
	route    *route
	src, dst netip.Addr
}

// hopOf is the route by the next hop that the flow takes. The first packet draws it by the weights (fib_select_multipath in
// net/ipv4/fib_semantics.c, rt6_multipath_hash in net/ipv6/route.c).
func (h *routing) hopOf(r *route, f *flow) *route {
	if len(r.hops) == 0 {
		return r
	}
	key := pathKey{r, f.src, f.dst}
	if i, known := h.memory.paths.get(key); known && r.hops[i].usable(f) {
		return r.hops[i]
	}
	i := r.drawHop(f)
	if f.chance != nil {
		h.memory.paths.put(key, i)
	}
	return r.hops[i]
}

// drawHop draws among the next hops whose devices are up.
func (r *route) drawHop(f *flow) int {
	left := 0
	for i, hop := range r.hops {
		if hop.usable(f) {
			left += max(r.NextHops[i].Weight, 1)
		}
	}
	last := 0
	for i, hop := range r.hops {
		if !hop.usable(f) {
			continue
		}
		last = i
		weight := max(r.NextHops[i].Weight, 1)
		if f.chance == nil || f.chance.Draw(uint32(certain*uint64(weight)/uint64(left))) {
			return i
		}
		left -= weight
	}
	return last
}

// uses says whether the route leaves by the device, by any of its next hops.
func (r *route) uses(dev *device) bool {
	return r.dev == dev || slices.ContainsFunc(r.hops, func(hop *route) bool { return hop.dev == dev })
}
