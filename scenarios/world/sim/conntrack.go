package sim

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	hostconntrack "github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

// connections lets a proxier list and delete its host's tracked connections.
type connections struct{ host *packetsim.Host }

var _ conntrack.Table = connections{}

// Walk visits the UDP entries of a family.
func (c connections) Walk(family v1.IPFamily, visit func(conntrack.Entry)) error {
	for _, tracked := range c.host.Conntrack() {
		if tracked.Original.Proto == inet.UDP && tracked.Original.Dst.Is6() == (family == v1.IPv6Protocol) {
			visit(trackedEntry(tracked))
		}
	}
	return nil
}

// Delete deletes those of the entries that are there still.
func (c connections) Delete(_ v1.IPFamily, entries []conntrack.Entry) (int, error) {
	chosen := make(map[conntrack.Entry]bool, len(entries))
	for _, e := range entries {
		chosen[e] = true
	}
	return c.host.DeleteConntrack(func(tracked hostconntrack.Entry) bool { return chosen[trackedEntry(tracked)] }), nil
}

func trackedEntry(tracked hostconntrack.Entry) conntrack.Entry {
	return conntrack.Entry{
		Protocol: uint8(tracked.Original.Proto),
		Original: trackedTuple(tracked.Original),
		Reply:    trackedTuple(tracked.Reply),
		Zone:     tracked.Zone.Reply,
	}
}

func trackedTuple(t hostconntrack.Tuple) conntrack.Tuple {
	return conntrack.Tuple{Src: netip.AddrPortFrom(t.Src, t.SrcPort), Dst: netip.AddrPortFrom(t.Dst, t.DstPort)}
}
