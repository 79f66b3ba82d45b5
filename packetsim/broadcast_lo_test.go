package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestBroadcastOfLoopbackIsDelivered sends to the broadcast address of lo: the packet is for the host itself, with or without forwarding.
func TestBroadcastOfLoopbackIsDelivered(t *testing.T) {
	for _, forwarding := range []string{"0", "1"} {
		h, err := NewHost(HostConfig{Name: "h", Sysctls: map[string]string{"net.ipv4.ip_forward": forwarding}})
		require.NoError(t, err)
		in, err := inet.ParseInput("udp 127.0.0.1:1000 > 127.255.255.255:2000 local")
		require.NoError(t, err)
		outcomes, err := h.Walk(in)
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		assert.Equal(t, Accept, outcomes[0].Verdict)
		assert.Equal(t, ToLocal, outcomes[0].To, outcomes[0].Summary())
	}
}
