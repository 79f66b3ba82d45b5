package lab

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Ways are the routes of a node outside of its table local. A large node has one for each of its pods, so a map finds the routes to single
// addresses.
type Ways struct {
	single map[netip.Addr]string
	wide   []way
}

// way is a route: its destination, and the device by which it needs no gateway, if there is one.
type way struct {
	to     netip.Prefix
	device string
}

// WaysOf are the ways of a snapshot.
func WaysOf(taken *snapshot.NodeSnapshot) *Ways {
	w := &Ways{single: map[netip.Addr]string{}}
	for i := range taken.Routes {
		w.add(&taken.Routes[i])
	}
	return w
}

// add adds a route. Of two to the same destination the first counts.
func (w *Ways) add(r *snapshot.Route) {
	if r.Table == packetsim.TableLocal || len(r.NextHops) > 0 {
		return
	}
	device := r.Dev
	if r.Via.IsValid() || r.Type != "" && r.Type != packetsim.RouteUnicast {
		device = ""
	}
	if !r.Dst.IsSingleIP() {
		w.wide = append(w.wide, way{r.Dst, device})
		return
	}
	if _, known := w.single[r.Dst.Addr()]; !known {
		w.single[r.Dst.Addr()] = device
	}
}

// DeviceTo is the device by which the node reaches an address without a gateway; empty if there is none.
func (w *Ways) DeviceTo(address netip.Addr) string {
	if device, known := w.single[address]; known {
		return device
	}
	best := -1
	var device string
	for i := range w.wide {
		if to := w.wide[i].to; to.Bits() > best && to.Contains(address) {
			best, device = to.Bits(), w.wide[i].device
		}
	}
	return device
}
