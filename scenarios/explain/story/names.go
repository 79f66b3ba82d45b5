package story

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Names knows the objects behind addresses and rules. What it does not know is the empty string.
type Names interface {
	// Address is the object that has an address: "pod shop/web-1", "node worker".
	Address(addr netip.Addr) string
	// Destination is what a client calls at an address: "service shop/web:http".
	Destination(proto inet.Proto, to netip.AddrPort) string
	// Rule is the object that a rule of a chain was written for: "service shop/web:http", "policy shop/deny".
	Rule(table, chain string, f *netfilter.Fact) string
}

// noNames is a Names without any name.
type noNames struct{}

// Address is empty.
func (noNames) Address(netip.Addr) string { return "" }

// Destination is empty.
func (noNames) Destination(inet.Proto, netip.AddrPort) string { return "" }

// Rule is empty.
func (noNames) Rule(string, string, *netfilter.Fact) string { return "" }
