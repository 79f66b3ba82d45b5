package packetsim

import "testing"

// TestMatchCluster: the node is the one that Linux 6.18 chose for this source.
func TestMatchCluster(t *testing.T) {
	const seed = " --cluster-total-nodes 7 --cluster-hash-seed 0xdeadbeef"
	checkMatches(t, []matchRow{
		{"-m cluster --cluster-local-node 5" + seed, "udp 10.77.1.2:1 > 10.244.0.12:9 in veth1", true},
		{"-m cluster ! --cluster-local-node 5" + seed, "udp 10.77.1.2:1 > 10.244.0.12:9 in veth1", false},
		{"-m cluster --cluster-local-nodemask 31" + seed, "udp 10.77.1.2:1 > 10.244.0.12:9 in veth1", true},
		{"-m cluster --cluster-local-node 1" + seed, "udp 10.77.1.2:1 > 10.244.0.12:9 in veth1", false},
		// Without a connection no rule matches.
		{"-m cluster ! --cluster-local-node 5" + seed, "icmp 10.77.1.2 > 10.244.0.12 in veth1 type 0/0", false},
	})
}
