package snapshot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
)

// TestRulesThatAreNotWalkedAreUnknownToSome: of a native table with such a rule, packets that do not meet it are certain.
func TestRulesThatAreNotWalkedAreUnknownToSome(t *testing.T) {
	const table = known + `nftables:
- family: inet
  name: fw
  chains: [{name: c, hook: forward, priority: 0, type: filter, may: [drop]}]
  rules: |
    table inet fw {
    	chain c {
    		type filter hook forward priority filter; policy accept;
    		ct zone 5 tcp dport 80 drop
    	}
    }
`
	met := doubtsOf(t, table, fromPod)
	require.NotNil(t, met.Opaque)
	assert.Equal(t, "expression ct (ct zone)", met.Opaque.Extension)
	require.Len(t, met.Doubts, 1)
	assert.Equal(t, packetsim.DoubtExtension, met.Doubts[0].Kind)
	assert.Contains(t, met.Doubts[0].Unless, "inet fw:c:rule:2 decides otherwise, whose expression ct (ct zone) is not known")
	for _, packet := range []string{"tcp 10.244.0.11:40000 > 10.9.0.1:443 in veth1", "udp 10.244.0.11:40000 > 10.9.0.1:80 in veth1", toNode} {
		other := doubtsOf(t, table, packet)
		assert.Nil(t, other.Opaque, packet)
		assert.Empty(t, other.Doubts, packet)
	}
}
