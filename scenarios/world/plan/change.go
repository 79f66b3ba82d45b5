package plan

import (
	"reflect"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/network"
)

// Change is what makes another plan of a plan: first hosts go, then others are as in Changed, then some come.
type Change struct {
	Removed []string
	// Changed are the hosts of both plans whose devices, routes or rules are others now, as they are now.
	Changed []Host
	Added   []Host
	// Links are the wires of the hosts that come.
	Links [][2]network.Port
}

// ChangeTo is what makes next of the plan. Hosts of one name are the same host.
func (p *Plan) ChangeTo(next *Plan) Change {
	var c Change
	for i := range p.Hosts {
		if next.Host(p.Hosts[i].Name) == nil {
			c.Removed = append(c.Removed, p.Hosts[i].Name)
		}
	}
	for i := range next.Hosts {
		now := &next.Hosts[i]
		switch before := p.Host(now.Name); {
		case before == nil:
			c.Added = append(c.Added, *now)
		case !before.sameNetwork(now):
			c.Changed = append(c.Changed, *now)
		}
	}
	for _, link := range next.Links {
		if !slices.Contains(p.Links, link) {
			c.Links = append(c.Links, link)
		}
	}
	return c
}

func (h *Host) sameNetwork(o *Host) bool {
	return reflect.DeepEqual(h.Devices, o.Devices) && reflect.DeepEqual(h.Routes, o.Routes) && reflect.DeepEqual(h.Rules, o.Rules)
}
