package proxier_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier"
)

// stickyService is webService whose clients stick to endpoints.
func stickyService() *v1.Service {
	service := webService()
	service.Spec.SessionAffinity = v1.ServiceAffinityClientIP
	return service
}

// addSticky adds it and its endpoint.
func addSticky(p *proxier.Proxier) {
	p.OnServiceAdd(stickyService())
	p.OnEndpointSliceAdd(webSlice(v1.IPv4Protocol, "10.180.0.1", true))
}

// A transaction that nft does not take is counted, and the next sync asks what is there and writes everything.
func TestNFTablesFailedTransaction(t *testing.T) {
	config, machine, _ := nftConfig(t, v1.IPv4Protocol)
	counted := &witness{}
	config.Metrics = counted
	p := started(t, config)
	addWeb(p)
	machine.fail = func(run nftRun) bool { return run.args == "-f -" }
	counted.take()
	require.ErrorContains(t, p.Sync(), "Could not process rule: Cannot allocate memory")
	assert.Contains(t, counted.take(), "transaction failed")
	machine.fail = nil
	machine.take()
	require.NoError(t, p.Sync())
	assert.Equal(t, "--json --terse list sets table ip kube-proxy", machine.take()[0].args)
	assert.Contains(t, machine.nft(t, "list ruleset"), "dnat to 10.180.0.1:8080")
}

// Chains out of use that cannot be deleted do not hold up a sync, and are tried again after the sync period only.
func TestNFTablesChainThatCannotBeDeleted(t *testing.T) {
	config, machine, clock := nftConfig(t, v1.IPv4Protocol)
	counted := &witness{}
	config.Metrics, config.SyncPeriod = counted, 30*time.Second
	p := started(t, config)
	service, _ := addWeb(p)
	require.NoError(t, p.Sync())
	const chain = "service-Y6QD5CCT-ns/web/tcp/http"
	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	machine.nft(t, "add rule ip kube-proxy services ip daddr 192.0.2.1 jump "+chain)
	counted.take()
	clock.Step(time.Second)
	require.NoError(t, p.Sync())
	assert.Contains(t, counted.take(), "cleanup failed")
	machine.take()
	clock.Step(29 * time.Second)
	require.NoError(t, p.Sync())
	assert.Empty(t, machine.take(), "too early")
	machine.nft(t, "flush chain ip kube-proxy services")
	clock.Step(time.Second)
	require.NoError(t, p.Sync())
	assert.Contains(t, machine.written(), "delete chain ip kube-proxy "+chain+"\n")
	require.NoError(t, p.Sync())
	assert.Empty(t, machine.take())
}

// A table that somebody else removes, or empties, is noticed by one question, which costs the kernel little.
func TestNFTablesIsNoticedMissing(t *testing.T) {
	for _, removal := range []string{"flush ruleset", "delete table ip kube-proxy", "flush table ip kube-proxy"} {
		t.Run(removal, func(t *testing.T) {
			p, machine, _ := startedNFT(t)
			require.NoError(t, p.EnsureCanaries())
			assert.Equal(t, []nftRun{{args: "--check delete chain ip kube-proxy services"}}, machine.take())
			assert.False(t, p.NeedsSync())
			before := machine.listing(t)
			machine.nft(t, removal)
			require.NoError(t, p.EnsureCanaries())
			assert.True(t, p.NeedsSync())
			require.NoError(t, p.Sync())
			assert.Equal(t, before, machine.listing(t))
		})
	}
}

// marksOfV135 are how kube-proxy until v1.35 asks for masquerading.
const marksOfV135 = `add chain ip kube-proxy mark-for-masquerade
add rule ip kube-proxy mark-for-masquerade mark set mark or 0x00004000
add chain ip kube-proxy external-Y6QD5CCT-ns/web/tcp/http
add rule ip kube-proxy external-Y6QD5CCT-ns/web/tcp/http jump mark-for-masquerade`

// What another version of kube-proxy has put elsewhere, or what keeps the table from being filled again, does not keep the rules away.
func TestNFTablesTakesOverAnyTable(t *testing.T) {
	for _, test := range []struct {
		name, before string
		sticks       bool
	}{
		{"a chain at another priority", "add chain ip kube-proxy filter-forward { type filter hook forward priority -110 ; }", true},
		{"the marks of v1.35", marksOfV135, true},
		{"a chain that v1.30 had", "add chain ip kube-proxy filter-input-pre-dnat { type filter hook input priority -110 ; }", true},
		{"a set of another type", "add set ip kube-proxy cluster-ips { type inet_service ; }", false},
		{"a map for a set", "add map ip kube-proxy hairpin-connections { type ipv4_addr : verdict ; }", false},
		{"a chain at a hook", "add chain ip kube-proxy services { type filter hook input priority 5 ; }", false},
		{"rejects of v1.37", "add chain ip kube-proxy localhost-nodeport-reject-tcp", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			config, machine, clock := nftConfig(t, v1.IPv4Protocol)
			p := started(t, config)
			addSticky(p)
			require.NoError(t, p.Sync())
			want := machine.listing(t)
			var set string
			for name := range want {
				if strings.HasPrefix(name, "set affinity-") {
					set = strings.TrimPrefix(name, "set ")
				}
			}
			machine.nft(t, "flush ruleset")
			machine.nft(t, "add table ip kube-proxy")
			machine.nft(t, "add set ip kube-proxy "+set+" { type ipv4_addr ; flags dynamic,timeout ; timeout 10800s ; }")
			machine.nft(t, "add element ip kube-proxy "+set+" { 10.0.0.9 }")
			for line := range strings.Lines(test.before) {
				machine.nft(t, strings.TrimSpace(line))
			}
			config.Clock = clock
			next, err := proxier.New(config)
			require.NoError(t, err)
			addSticky(next)
			next.OnServiceSynced()
			next.OnEndpointSlicesSynced()
			require.NoError(t, next.Sync())
			now := machine.listing(t)
			assert.Equal(t, test.sticks, strings.Contains(now["set "+set], "10.0.0.9"), "the client that sticks")
			for _, objects := range []map[string]string{now, want} {
				delete(objects, "set "+set)
				delete(objects, `comment "rules for kube-proxy"`) // a table that is there keeps the one that it has
			}
			assert.Equal(t, want, now)
		})
	}
}

// What nft says that cannot be read is no reason to have no rules.
func TestNFTablesListingsThatFail(t *testing.T) {
	for _, listing := range []string{"list sets", "list chains"} {
		config, machine, _ := nftConfig(t, v1.IPv4Protocol)
		config.Marks = &mark.Recorder{}
		p := started(t, config)
		addSticky(p)
		require.NoError(t, p.Sync())
		want := machine.listing(t)
		machine.fail = func(run nftRun) bool { return strings.Contains(run.args, listing) }
		require.NoError(t, p.SyncAll())
		assert.Equal(t, want, machine.listing(t), listing)
		assert.Equal(t, 1, config.Marks.Count(mark.SyncSaveFailed), listing)
	}
}

// An element's comment may have 128 bytes, and the name of a service port more.
func TestNFTablesLongNames(t *testing.T) {
	p, machine, _ := startedNFT(t)
	long := strings.Repeat("x", 63)
	service := webService()
	service.Namespace, service.Name, service.Spec.Ports[0].Name = long, long, long
	p.OnServiceAdd(service)
	require.NoError(t, p.Sync())
	assert.Contains(t, machine.nft(t, "list ruleset"), `comment "`+long+"/"+long+`:" : goto reject-chain`)
	slice := webSlice(v1.IPv4Protocol, "10.180.0.1", true)
	slice.Namespace, slice.Labels["kubernetes.io/service-name"], slice.Ports[0].Name = long, long, &long
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	assert.Contains(t, machine.nft(t, "list ruleset"), "chain service-")
}

// Names that are longer than any which the API allows are cut, and stay apart by their hashes.
func TestNFTablesNamesAreCut(t *testing.T) {
	p, machine, _ := startedNFT(t)
	for i, last := range []string{"a", "b"} {
		service := webService()
		service.Name = strings.Repeat("x", 250) + last
		service.Spec.ClusterIP = []string{"172.30.0.41", "172.30.0.42"}[i]
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
		p.OnServiceAdd(service)
		slice := webSlice(v1.IPv4Protocol, "10.180.0.1", true)
		slice.Name, slice.Labels["kubernetes.io/service-name"] = "web-"+last, service.Name
		p.OnEndpointSliceAdd(slice)
	}
	require.NoError(t, p.Sync())
	var names []int
	for line := range strings.Lines(machine.nft(t, "list ruleset")) {
		if _, name, found := strings.Cut(strings.TrimSuffix(line, " {\n"), "chain service-"); found && strings.Contains(name, "/") {
			names = append(names, len(name))
		}
	}
	assert.Equal(t, []int{240, 240}, names)
}

// Services without an endpoint where policy Local wants one are counted by partial syncs as by full ones.
func TestNFTablesNoLocalEndpointsAreCounted(t *testing.T) {
	config, _, _ := nftConfig(t, v1.IPv4Protocol)
	counted := &witness{}
	config.Metrics = counted
	p := started(t, config)
	service := webService()
	service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	p.OnServiceAdd(service)
	slice, there, here := webSlice(v1.IPv4Protocol, "10.180.0.1", true), "there", "here"
	slice.Endpoints[0].NodeName = &there
	p.OnEndpointSliceAdd(slice)
	require.NoError(t, p.Sync())
	assert.Contains(t, counted.take(), "no local 0 1", "after a partial sync")
	require.NoError(t, p.SyncAll())
	assert.Contains(t, counted.take(), "no local 0 1", "after a full sync")
	moved := slice.DeepCopy()
	moved.Endpoints[0].NodeName = &here
	p.OnEndpointSliceUpdate(slice, moved)
	require.NoError(t, p.Sync())
	assert.Contains(t, counted.take(), "no local 0 0", "it has one here")
	p.OnEndpointSliceUpdate(moved, slice)
	require.NoError(t, p.Sync())
	assert.Contains(t, counted.take(), "no local 0 1", "it has none any more")
	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	assert.Contains(t, counted.take(), "no local 0 0", "it is gone")
}

// Where nft cannot say whether the rules are there, they are taken to be.
func TestNFTablesThatCannotBeLookedAt(t *testing.T) {
	p, machine, _ := startedNFT(t)
	machine.fail = func(run nftRun) bool { return strings.HasPrefix(run.args, "--check") }
	require.ErrorContains(t, p.EnsureCanaries(), "Cannot allocate memory")
	assert.False(t, p.NeedsSync())
}

func TestNFTablesCleanup(t *testing.T) {
	p, machine, _ := startedNFT(t)
	machine.nft(t, "add table ip other")
	rules := proxier.NFTables{Tools: machine.tools(t, v1.IPv4Protocol)}
	for range 2 {
		assert.False(t, proxier.Cleanup(klog.Logger{}, rules))
		assert.Equal(t, "table ip other {\n}\n", machine.nft(t, "list ruleset"))
	}
	machine.fail = func(nftRun) bool { return true }
	assert.True(t, proxier.Cleanup(klog.Logger{}, rules))
	machine.fail = nil
	require.NoError(t, p.SyncAll())
}

func TestNFTablesRefusesConfigurations(t *testing.T) {
	config, machine, _ := nftConfig(t, v1.IPv4Protocol)
	for _, test := range []struct {
		edit func(*proxier.Config)
		want string
	}{
		{func(c *proxier.Config) { c.Rules = proxier.NFTables{} }, "Rules: NFTables has no Tools"},
		{func(c *proxier.Config) { c.Rules = proxier.NFTables{Tools: machine.tools(t, v1.IPv6Protocol)} },
			"Rules: NFTables runs nft for the wrong family: the family is IPv4"},
		{func(c *proxier.Config) { c.LocalhostNodePorts = true },
			"Rules: NFTables cannot serve node ports at loopback addresses: turn LocalhostNodePorts off"},
	} {
		c := config
		test.edit(&c)
		_, err := proxier.New(c)
		require.EqualError(t, err, "proxier configuration: "+test.want)
	}
}
