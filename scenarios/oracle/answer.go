package oracle

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Fate is what becomes of a packet at the service proxies.
type Fate string

// The fates.
const (
	ToEndpoint Fate = "endpoint"  // it is translated to one of Answer.Endpoints
	Reject     Fate = "reject"    // it is refused by a rule, and the client hears it
	Drop       Fate = "drop"      // it is dropped by a rule
	Untouched  Fate = "untouched" // it passes as it was sent
)

// Source says which source an endpoint sees.
type Source string

// The sources.
const (
	Kept        Source = "kept"
	Masqueraded Source = "masqueraded"
	Either      Source = "either"
)

// Answer is what may become of an attempt.
type Answer struct {
	Fate Fate
	// Node is the node that decides, empty for a packet that no service is about.
	Node string
	// Service and Port are the service port that the packet is for; empty if it is for none.
	Service types.NamespacedName
	Port    string
	// Endpoints are those that the packet may reach, each with the same chance, in order of their addresses. Not to be changed.
	Endpoints []netip.AddrPort
	// Host is where an untouched packet ends, and End how; empty and Lost if nobody has the address.
	Host string
	End  End
	// Open says that anything may become of the packet: the specification leaves it open.
	Open bool
	// Others are answers that are allowed as well.
	Others []Answer

	rest
}
