package proxier_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
)

func TestRouteLocalnet(t *testing.T) {
	const name = "net/ipv4/conf/all/route_localnet"
	tests := []struct {
		name   string
		family v1.IPFamily
		edit   func(*proxier.Config)
		want   map[string]int
	}{
		{"localhost node ports", v1.IPv4Protocol, func(*proxier.Config) {}, map[string]int{name: 1}},
		{"turned off", v1.IPv4Protocol, func(c *proxier.Config) { c.LocalhostNodePorts = false }, map[string]int{}},
		{"loopback is not among the ranges", v1.IPv4Protocol, func(c *proxier.Config) {
			c.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}
		}, map[string]int{}},
		{"IPv6", v1.IPv6Protocol, func(*proxier.Config) {}, map[string]int{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, host := testConfig(test.family)
			config.LocalhostNodePorts = true
			test.edit(&config)
			started(t, config)
			assert.Equal(t, test.want, host.sysctls)
		})
	}
}

func TestLoopbackGuard(t *testing.T) {
	const name = "net/ipv4/conf/all/route_localnet"
	const guard = "-d 127.0.0.0/8 ! -s 127.0.0.0/8"
	tests := []struct {
		name   string
		family v1.IPFamily
		routed int
		edit   func(*proxier.Config)
		want   bool
	}{
		{"localhost node ports", v1.IPv4Protocol, 0, func(c *proxier.Config) { c.LocalhostNodePorts = true }, true},
		{"turned off, never routed", v1.IPv4Protocol, 0, func(*proxier.Config) {}, false},
		{"turned off, still routed", v1.IPv4Protocol, 1, func(*proxier.Config) {}, true},
		{"loopback is not among the ranges any more", v1.IPv4Protocol, 1, func(c *proxier.Config) {
			c.LocalhostNodePorts = true
			c.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}
		}, true},
		{"IPv6", v1.IPv6Protocol, 1, func(*proxier.Config) {}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, host := testConfig(test.family)
			if test.routed != 0 {
				host.sysctls[name] = test.routed
			}
			test.edit(&config)
			started(t, config)
			assert.Equal(t, test.want, strings.Contains(recorderOf(config).last(), guard))
		})
	}
}

// TestLoopbackIsRoutedBehindItsGuard: a proxier whose rules are not written yet leaves loopback addresses closed.
func TestLoopbackIsRoutedBehindItsGuard(t *testing.T) {
	const name = "net/ipv4/conf/all/route_localnet"
	config, host := testConfig(v1.IPv4Protocol)
	config.LocalhostNodePorts = true
	recorderOf(config).fail["restore"] = errors.New("no")
	p, err := proxier.New(config)
	require.NoError(t, err)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.Error(t, p.Sync())
	assert.Zero(t, host.sysctls[name])
	clear(recorderOf(config).fail)
	require.NoError(t, p.Sync())
	assert.Equal(t, 1, host.sysctls[name])
}

func TestReadOnlySysctls(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.LocalhostNodePorts = true
	host.readOnly = true
	host.sysctls["net/ipv4/conf/all/route_localnet"] = 1
	p := started(t, config) // nothing to write

	host.sysctls["net/ipv4/conf/all/route_localnet"] = 0
	require.EqualError(t, p.SyncAll(), "syncing IPv4 rules: node ports at localhost cannot work (turn them off, or leave loopback "+
		"out of the node port addresses): setting sysctl net/ipv4/conf/all/route_localnet to 1: read-only file system")
	assert.True(t, p.NeedsSync())
}

func TestConntrackBeLiberal(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.ConntrackTCPBeLiberal = true
	started(t, config)
	assert.Equal(t, 1, host.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"])
	assert.NotContains(t, recorderOf(config).last(), "INVALID")

	config, host = testConfig(v1.IPv4Protocol)
	config.ConntrackTCPBeLiberal = true
	host.readOnly = true
	p, err := proxier.New(config)
	require.NoError(t, err)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.ErrorContains(t, p.Sync(), "setting sysctl net/netfilter/nf_conntrack_tcp_be_liberal to 1: read-only file system")
}
