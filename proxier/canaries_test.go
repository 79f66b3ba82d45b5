package proxier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// flushed is a recorder whose tables somebody else flushes.
type flushed struct {
	*recorder
	chains map[iptables.Table]bool
	// noJumps are tables without the jumps to the rules.
	noJumps map[iptables.Table]bool
	checked int
}

func (f *flushed) EnsureChain(table iptables.Table, chain iptables.Chain) (bool, error) {
	existed := f.chains[table]
	if chain != "KUBE-PROXY-CANARY" {
		return f.recorder.EnsureChain(table, chain)
	}
	f.chains[table] = true
	return existed, f.note("canary %s", table)
}

func (f *flushed) RuleExists(table iptables.Table, _ iptables.Chain, _ ...string) (bool, error) {
	f.checked++
	return !f.noJumps[table], f.note("check %s", table)
}

func startFlushed(t *testing.T) (*proxier.Proxier, *flushed) {
	config, _ := testConfig(v1.IPv4Protocol)
	f := &flushed{recorder: recorderOf(config), chains: map[iptables.Table]bool{}, noJumps: map[iptables.Table]bool{}}
	config.Rules = proxier.IPTables{Tools: f}
	return started(t, config), f
}

func TestCanariesTellOfAFlush(t *testing.T) {
	p, f := startFlushed(t)
	require.NoError(t, p.EnsureCanaries())
	assert.False(t, p.NeedsSync(), "it made them itself")
	assert.Equal(t, map[iptables.Table]bool{"mangle": true, "nat": true, "filter": true}, f.chains)
	assert.Equal(t, 2, f.checked, "a jump of nat and one of filter")
	require.NoError(t, p.EnsureCanaries())
	assert.False(t, p.NeedsSync())
	for _, table := range []iptables.Table{"mangle", "nat", "filter"} {
		f.chains[table] = false
		require.NoError(t, p.EnsureCanaries())
		assert.True(t, p.NeedsSync(), table)
		f.restored = nil
		require.NoError(t, p.Sync())
		assert.Contains(t, f.last(), ":KUBE-FORWARD ", "everything is written")
		require.NoError(t, p.EnsureCanaries())
		assert.False(t, p.NeedsSync(), table)
	}
}

func TestCanariesTellOfJumpsThatAreGone(t *testing.T) {
	for _, table := range []iptables.Table{"nat", "filter"} {
		p, f := startFlushed(t)
		require.NoError(t, p.EnsureCanaries())
		f.noJumps[table] = true
		require.NoError(t, p.EnsureCanaries())
		assert.True(t, p.NeedsSync(), table)
	}
}

func TestCanariesThatCannotBeMade(t *testing.T) {
	for _, call := range []string{"canary mangle", "canary filter", "check nat", "check filter"} {
		p, f := startFlushed(t)
		f.fail[call] = errFault
		require.ErrorIs(t, p.EnsureCanaries(), errFault, call)
		delete(f.fail, call)
		require.NoError(t, p.EnsureCanaries())
		assert.False(t, p.NeedsSync(), "what is not known is no flush")
	}
}

func TestDualStackTellsBothFamilies(t *testing.T) {
	config4, _ := testConfig(v1.IPv4Protocol)
	config6, _ := testConfig(v1.IPv6Protocol)
	_, err := proxier.NewDualStack(config6, config6)
	require.ErrorContains(t, err, `families are "IPv6" and "IPv6"`)
	_, err = proxier.NewDualStack(config4, config4)
	require.ErrorContains(t, err, `families are "IPv4" and "IPv4"`)

	d, err := proxier.NewDualStack(config4, config6)
	require.NoError(t, err)
	d.OnServiceSynced()
	d.OnEndpointSlicesSynced()
	require.NoError(t, d.Sync())
	zone := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here", Labels: map[string]string{v1.LabelTopologyZone: name}}}
	}
	for _, tell := range []func(){func() { d.OnNodeAdd(zone("a")) }, func() { d.OnNodeUpdate(zone("a"), zone("b")) }} {
		tell()
		assert.True(t, d.IPv4.NeedsSync())
		assert.True(t, d.IPv6.NeedsSync())
		require.NoError(t, d.Sync())
	}
	for _, r := range []*recorder{recorderOf(config4), recorderOf(config6)} {
		r.fail["chain mangle KUBE-PROXY-CANARY"] = errFault
		require.ErrorIs(t, d.EnsureCanaries(), errFault, "one family is enough")
		delete(r.fail, "chain mangle KUBE-PROXY-CANARY")
	}
	require.NoError(t, d.EnsureCanaries())
}

func TestChangedIsCalledWhicheverKindIsDeliveredLast(t *testing.T) {
	for _, servicesLast := range []bool{true, false} {
		config, _ := testConfig(v1.IPv4Protocol)
		changes := 0
		config.Changed = func() { changes++ }
		p, err := proxier.New(config)
		require.NoError(t, err)
		first, last := p.OnServiceSynced, p.OnEndpointSlicesSynced
		if servicesLast {
			first, last = last, first
		}
		first()
		assert.Zero(t, changes)
		require.ErrorIs(t, p.Sync(), proxier.ErrNotDelivered)
		last()
		assert.Equal(t, 1, changes)
		require.NoError(t, p.Sync())
	}
}

func TestReloadThatSucceedsIsSilent(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	changes := 0
	config.Changed = func() { changes++ }
	var told *[]string
	config.Logger, told = logOf()
	p := started(t, config)
	changes = 0
	recorderOf(config).monitored = func(reload func()) { reload() }
	p.Monitor(time.Minute, nil)
	assert.Zero(t, changes)
	assert.Empty(t, *told)

	early, err := proxier.New(config)
	require.NoError(t, err)
	early.Monitor(time.Minute, nil)
	assert.Empty(t, *told, "nothing is there to write yet")
}

// A kernel that says that it is not liberal is not.
func TestKernelThatIsNotLiberal(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	host.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"] = 0
	started(t, config)
	assert.Contains(t, recorderOf(config).last(), "--ctstate INVALID -j DROP")
	host.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"] = 1
	started(t, config)
	assert.NotContains(t, recorderOf(config).last(), "--ctstate INVALID")
}

func TestHealthOfSeveralServices(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p := started(t, config)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		service := webService()
		service.Name = name
		p.OnServiceAdd(service)
		plain := webService()
		plain.Name, plain.Spec.ExternalTrafficPolicy, plain.Spec.HealthCheckNodePort = "plain-"+name, "", 0
		p.OnServiceAdd(plain)
	}
	require.NoError(t, p.Sync())
	assert.Len(t, p.Health(), 8)
}

func TestMarkOfTheLowestBit(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	config.MasqueradeBit = 0
	started(t, config)
	assert.Contains(t, recorderOf(config).last(), "--or-mark 0x00000001\n")
}

func TestDeviceNamesThatAreNoWord(t *testing.T) {
	for _, name := range []string{"a b", "a\"b", "a'b", `a\b`, "a\x1fb", "a\tb"} {
		config, _ := testConfig(v1.IPv4Protocol)
		config.LocalDetector = proxier.DetectLocalByInterfaceNamePrefix(name)
		_, err := proxier.New(config)
		require.ErrorContains(t, err, "LocalDetector: device name", name)
	}
	for _, name := range []string{"a!b", "a#b", "a(b", "a]b", "veth"} {
		config, _ := testConfig(v1.IPv4Protocol)
		config.LocalDetector = proxier.DetectLocalByBridgeInterface(name)
		_, err := proxier.New(config)
		require.NoError(t, err, name)
	}
}
