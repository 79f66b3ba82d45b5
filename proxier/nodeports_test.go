package proxier_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// nodePortJumps returns the destinations of the jumps to KUBE-NODEPORTS in the input.
func nodePortJumps(input string) []string {
	found := []string{}
	for line := range strings.Lines(input) {
		if strings.HasPrefix(line, "-A KUBE-SERVICES ") && strings.HasSuffix(line, " -j KUBE-NODEPORTS\n") {
			_, destination, _ := strings.Cut(strings.TrimSuffix(line, " -j KUBE-NODEPORTS\n"), " -d ")
			found = append(found, destination)
		}
	}
	return found
}

// The node's addresses come and go without an event: the next sync that has something to write follows them,
// and so does one that has nothing.
func TestNodePortsFollowTheNodesAddresses(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.NodePortAddresses = []netip.Prefix{prefix("192.168.0.0/16"), prefix("127.0.0.0/8")}
	host.addresses = addresses("192.168.0.2", "10.0.0.1", "127.0.0.1", "192.168.0.2", "2001:db8::1")
	r := recorderOf(config)
	p := started(t, config)
	assert.Equal(t, []string{"192.168.0.2"}, nodePortJumps(r.last()), "each once, and no loopback address unless asked for")

	host.addresses = addresses("192.168.7.7", "192.168.0.2")
	r.restored = nil
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"192.168.0.2", "192.168.7.7"}, nodePortJumps(r.last()))
	assert.NotContains(t, r.last(), "*filter", "only what has changed")

	r.restored = nil
	require.NoError(t, p.Sync())
	assert.Empty(t, r.restored, "nothing has changed")

	host.noNetwork, host.addresses = errFault, nil
	require.NoError(t, p.Sync())
	assert.Contains(t, r.last(), ":KUBE-SERVICES ")
	assert.Empty(t, nodePortJumps(r.last()), "the addresses are not known")

	host.noNetwork, host.addresses = nil, addresses("192.168.0.2")
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"192.168.0.2"}, nodePortJumps(r.last()))
}

func TestNodePortsOfAFullSyncWithoutAddresses(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.NodePortAddresses = []netip.Prefix{prefix("192.168.0.0/16")}
	host.noNetwork, host.addresses = errFault, addresses("192.168.0.2")
	r := recorderOf(config)
	p := started(t, config)
	host.noNetwork = nil
	require.NoError(t, p.Sync())
	assert.Equal(t, []string{"192.168.0.2"}, nodePortJumps(r.last()))
}
