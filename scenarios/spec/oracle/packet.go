package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// ICMP is the protocol of an echo request, beside those of the API.
const ICMP corev1.Protocol = "ICMP"

// Attempt is the first packet of a connection.
type Attempt struct {
	// From is the client: the name of a node, a pod or a machine.
	From string
	// Source is the client's address and port. The zero value: as an unbound socket has it.
	Source netip.AddrPort
	// Protocol is TCP, UDP, SCTP or ICMP.
	Protocol corev1.Protocol
	// To is what the client calls; the port is 0 for ICMP.
	To netip.AddrPort
	// Via is the node that the router hands the packet to, if it goes to an address that
	// nobody has; also the node whose address it goes to is reached without it.
	Via string
}

// End is how a packet's way ends.
type End string

// The ends.
const (
	Delivered End = "delivered" // a socket took it
	Refused   End = "refused"   // it arrived, nothing listens there, and the host says so
	Rejected  End = "rejected"  // a REJECT rule answered
	Dropped   End = "dropped"   // a rule or a policy dropped it
	Lost      End = "lost"      // a host dropped it without a rule, or nobody took it
)

// Way is one way that a packet took, as it was seen.
type Way struct {
	// Probability is the chance of the way; those of all ways of an attempt sum to 1.
	Probability float64
	End         End
	// Host is where it ended.
	Host string
	// Sender is the source as it was sent, Client the source and Server the destination
	// where it ended.
	Sender, Client, Server netip.AddrPort
	// Masqueraded says that a rule that translates the source met the packet. It may be left out: then addresses decide alone.
	Masqueraded bool
	// Heard says that the client's socket got an answer (or an error) that it takes for one.
	Heard bool
	// With is what a REJECT rule answered: icmp-port-unreachable, tcp-reset, ...
	With string
}
