package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
)

// TestIdentifierIsDrawnOnce: the identifier of an echo request whose destination is translated at random is one of 65,536, which are no
// ways of their own (nf_nat_l4proto_unique_tuple).
func TestIdentifierIsDrawnOnce(t *testing.T) {
	tools := fakenft.New(fakenft.Options{})
	text := "table ip nat {\n\tchain pre {\n\t\ttype nat hook prerouting priority -100;\n\t\tdnat to 10.244.0.12 fully-random\n\t}\n}\n"
	require.NoError(t, tools.Load("nat.nft", strings.NewReader(text), nil))
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: tools.Namespace(),
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"}})
	require.NoError(t, err)
	outcomes, err := h.Walk(parse(t, "icmp 10.244.0.11 > 8.8.8.8 in veth1"))
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	assert.Equal(t, "10.244.0.12", outcomes[0].Packet.Dst.String())
}
