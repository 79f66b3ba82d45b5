package report

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// known are the objects that a check names, by their addresses, with a port where the name is of that. It is a story.Names.
type known map[string]string

func knownOf(list []scenarios.Named) known {
	k := known{}
	for _, n := range list {
		k[n.Address] = n.Name
	}
	return k
}

// Address is the object that has an address.
func (k known) Address(a netip.Addr) string { return k[a.String()] }

// Destination is what is called at an address.
func (k known) Destination(_ inet.Proto, to netip.AddrPort) string { return k[to.String()] }

// Rule is empty: a check names no rules.
func (k known) Rule(string, string, *netfilter.Fact) string { return "" }
