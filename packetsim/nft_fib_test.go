package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
)

// TestFibOfLinkLocalGroup: fib looks a group of the link up on the link that the packet came by (nft_fib6_flowi_init), not on the first
// one that has groups. The kernel's answer is the case native-fib-of-link-local-group-6 of the differential.
func TestFibOfLinkLocalGroup(t *testing.T) {
	tools := fakenft.New(fakenft.Options{})
	text := "table ip6 t {\n\tchain pre {\n\t\ttype filter hook prerouting priority -300;\n" +
		"\t\tfib daddr oifname \"veth2\" drop\n\t}\n}\n"
	require.NoError(t, tools.Load("fib.nft", strings.NewReader(text), nil))
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Netfilter: tools.Namespace()})
	require.NoError(t, err)
	for _, row := range []struct {
		from    string
		dropped bool
	}{{"eth0", false}, {"veth1", false}, {"veth2", true}} {
		outcomes, err := h.Walk(parse(t, "udp [fe80::99]:1000 > [ff02::1]:2000 in "+row.from))
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		assert.Equal(t, row.dropped, outcomes[0].Verdict == Drop, row.from)
	}
}
