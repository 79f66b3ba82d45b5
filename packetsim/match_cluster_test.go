package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

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

// TestMatchClusterOfATemplate: Linux 6.18 counts no packet for any of the rules behind -j CT, whatever node they are for.
func TestMatchClusterOfATemplate(t *testing.T) {
	host := dumpHost(t, `*raw
:OUTPUT ACCEPT [0:0]
-A OUTPUT -j CT --zone-reply 1
-A OUTPUT -m cluster --cluster-local-nodemask 1 --cluster-total-nodes 2 --cluster-hash-seed 7 -j DROP
-A OUTPUT -m cluster --cluster-local-nodemask 2 --cluster-total-nodes 2 --cluster-hash-seed 7 -j DROP
-A OUTPUT -m cluster ! --cluster-local-nodemask 1 --cluster-total-nodes 2 --cluster-hash-seed 7 -j DROP
COMMIT
`)
	in, err := inet.ParseInput("udp 10.244.0.1:1 > 10.244.0.12:9 local")
	require.NoError(t, err)
	outcomes, err := host.Walk(in)
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	assert.Equal(t, Accept, outcomes[0].Verdict)
}
