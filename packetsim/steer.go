package packetsim

import (
	"fmt"
	"net/netip"
)

// Steer chooses the next hop of the host's routes that are steered (Route.Steered) and of the address's family. An address that is unset
// leaves none of them a next hop. It costs nothing beside a host without such routes.
func (h *Host) Steer(via netip.Addr) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.via != via {
		h.via = via
		h.steer()
	}
}

// steer writes the next hop that was chosen into the routes.
func (h *routing) steer() {
	for _, r := range h.steered {
		r.Via = netip.Addr{}
		if h.via.IsValid() && h.via.Is6() == r.Dst.Addr().Is6() {
			r.Via = h.via
		}
	}
}

func (b *networkBuilder) addSteered(r *route) error {
	if r.Type != RouteUnicast || r.Via.IsValid() || len(r.NextHops) > 0 {
		return fmt.Errorf("route %s: it is steered and has a next hop or a type of its own: want one of them", r.Dst)
	}
	b.steered = append(b.steered, r)
	return nil
}
