package proxier_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/utils/exec"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/proxier"
)

// After any sequence of changes, failures and restarts, nft lists what it lists after the first sync of a new proxier on a new machine,
// once chains out of use were deleted. The sync after that runs nothing.
func TestNFTablesPartialSyncsAddUp(t *testing.T) {
	sample.Checks(t, 30)
	rapid.Check(t, func(t *rapid.T) { playNFTables(t, nil) })
}

// playNFTables plays one sequence. If there is another kernel, its nft is given the same, and has to list the same.
func playNFTables(t *rapid.T, beside exec.Interface) {
	family := rapid.SampledFrom([]v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}).Draw(t, "family")
	config, machine, clock := nftConfig(t, family)
	machine.beside = beside
	drawNFTOptions(t, &config)
	c := &cluster{family: family, services: map[string]*v1.Service{}, slices: map[string]*discovery.EndpointSlice{}}
	ranges := []string(nil)
	p, err := proxier.New(config)
	require.NoError(t, err)
	c.tell(p)
	for range rapid.IntRange(1, 10).Draw(t, "syncs") {
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			c.change(t, p)
		}
		switch rapid.IntRange(0, 19).Draw(t, "event") {
		case 0:
			machine.fail = func(run nftRun) bool { return run.args == "-f -" }
			_ = p.Sync() // one without a change does not fail
			machine.fail = nil
		case 1:
			machine.nft(t, "flush ruleset")
			require.NoError(t, p.EnsureCanaries())
		case 2:
			drawNFTOptions(t, &config)
			p, err = proxier.New(config)
			require.NoError(t, err)
			c.tell(p)
			p.OnServiceCIDRsChanged(ranges)
		case 3:
			ranges = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"172.30.0.0/16", "fd00:30::/112", "10.0.0.0/8"}), 0, 3, rapid.ID[string]).
				Draw(t, "ranges")
			p.OnServiceCIDRsChanged(ranges)
		}
		require.NoError(t, p.Sync())
		clock.Step(time.Second)
		require.NoError(t, p.Sync())
		machine.take()
		require.NoError(t, p.Sync())
		require.Empty(t, machine.take(), "nothing has changed")
		require.Equal(t, c.freshNFT(t, config, ranges), machine.listing(t))
		require.False(t, p.NeedsSync())
		machine.compareBeside(t)
	}
}

// drawNFTOptions changes what a restart may change.
func drawNFTOptions(t *rapid.T, config *proxier.Config) {
	config.MasqueradeAll = rapid.Bool().Draw(t, "masqueradeAll")
	config.MasqueradeBit = rapid.SampledFrom([]int{14, 31}).Draw(t, "masqueradeBit")
	config.NodePortAddresses = nil
	h := &host{sysctls: map[string]int{}}
	if rapid.Bool().Draw(t, "nodePortAddresses") {
		config.NodePortAddresses = prefixes("192.168.0.0/16", "2001:db8::/32")
		h.addresses = []netip.Addr{netip.MustParseAddr("192.168.0.2"), netip.MustParseAddr("2001:db8::1"), netip.IPv6Loopback()}
	}
	config.Sysctls, config.Network = h, h
	config.LocalDetector = rapid.SampledFrom([]proxier.LocalDetector{
		{}, proxier.DetectLocalByBridgeInterface("cbr0"), proxier.DetectLocalByInterfaceNamePrefix("veth"),
	}).Draw(t, "detector")
}

// freshNFT returns what nft lists after the first sync of a new proxier on a new machine.
func (c *cluster) freshNFT(t *rapid.T, config proxier.Config, ranges []string) map[string]string {
	fresh, machine, clock := nftConfig(t, c.family)
	config.Rules, config.Clock = fresh.Rules, clock
	p, err := proxier.New(config)
	require.NoError(t, err)
	c.tell(p)
	p.OnServiceCIDRsChanged(ranges)
	require.NoError(t, p.Sync())
	return machine.listing(t)
}
