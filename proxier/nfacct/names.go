package nfacct

// The objects that the proxier's rules count with, and that its metrics show. The names are kube-proxy's.
const (
	// InvalidPackets counts packets that conntrack found invalid and a rule dropped.
	InvalidPackets = "ct_state_invalid_dropped_pkts"
	// LocalhostPackets counts packets to a node port at a loopback address.
	LocalhostPackets = "localhost_nps_accepted_pkts"
)
