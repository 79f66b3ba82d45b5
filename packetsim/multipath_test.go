package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeveralNextHops(t *testing.T) {
	h, _ := testNode{routes: []Route{{Dst: netip.MustParsePrefix("10.5.0.0/16"), NextHops: []NextHop{
		{Via: netip.MustParseAddr("192.168.0.10"), Dev: "eth0", Weight: 3}, {Via: netip.MustParseAddr("10.9.0.9"), Dev: "down0", Weight: 9},
		{Via: netip.MustParseAddr("192.168.0.20"), Dev: "eth0"},
	}}}}.build(t)
	outcomes, err := h.Walk(parse(t, "udp 10.244.0.11:1 > 10.5.0.1:1 in veth1"))
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	assert.InDelta(t, 0.75, outcomes[0].Probability, 1e-9)
	assert.Equal(t, "192.168.0.10", outcomes[0].NextHop.String())
	assert.Equal(t, "192.168.0.20", outcomes[1].NextHop.String())
	taken := step(t, h, "udp 10.244.0.11:1 > 10.5.0.1:1 in veth1")
	assert.Equal(t, taken.NextHop, walkOne(t, h, "udp 10.244.0.11:2 > 10.5.0.1:9 in veth1").NextHop, "a flow keeps its way")
	for _, bad := range []NextHop{{Dev: "eth7"}, {Dev: "eth0", Weight: 300}} {
		_, err := NewHost(HostConfig{Devices: testDevices(), Routes: []Route{{Dst: netip.MustParsePrefix("10.5.0.0/16"),
			NextHops: []NextHop{bad}}}})
		assert.Error(t, err)
	}
}
