package kind

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// threeNodes are the facts of a cluster of three nodes, with both families, and eight pods on each.
func threeNodes() *Facts { return factsOf("worker", "worker2", "control-plane") }

// fourNodes are the facts of a cluster as it is made by default.
func fourNodes() *Facts { return factsOf("worker", "worker2", "worker3", "control-plane") }

func factsOf(nodes ...string) *Facts {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	f := &Facts{
		Outside: cluster.Outside{Name: "outside", Addresses: []netip.Addr{addr(fmt.Sprintf("172.18.0.%d", len(nodes)+2)),
			addr(fmt.Sprintf("fc00:f853:ccd:e793::%d", len(nodes)+2))}},
		Dialect:  netfilter.NFT,
		Networks: []netip.Prefix{prefix("172.18.0.0/16"), prefix("fc00:f853:ccd:e793::/64")},
		Services: []netip.Prefix{prefix("10.96.0.0/12"), prefix("fd00:10:96::/112")},
		TakenIPs: []netip.Addr{addr("10.96.0.1")}, TakenServices: []string{"default/kubernetes"}, Mode: "iptables", OldSpellings: true,
	}
	for i, name := range nodes {
		last := len(nodes) - 1 - i // the control plane has the first addresses
		f.Nodes = append(f.Nodes, cluster.Node{
			Name: name, Zone: string(rune('a' + i)),
			Addresses: []netip.Addr{addr(fmt.Sprintf("172.18.0.%d", last+2)), addr(fmt.Sprintf("fc00:f853:ccd:e793::%d", last+2))},
			PodCIDRs:  []netip.Prefix{prefix(fmt.Sprintf("10.244.%d.0/24", last)), prefix(fmt.Sprintf("fd00:10:244:%d::/64", last))},
		})
		for n := range 8 {
			f.Pods = append(f.Pods, cluster.Pod{
				Namespace: "chainwalk", Name: fmt.Sprintf("%s-%d", name, n), Node: name,
				Addresses: []netip.Addr{addr(fmt.Sprintf("10.244.%d.%d", last, n+2)), addr(fmt.Sprintf("fd00:10:244:%d::%x", last, n+2))},
			})
		}
	}
	return f
}

const shipped = "../../../scenarios/testdata"

// TestNineOfTenShippedFilesCanRun counts the files that a cluster of four nodes can run, and prints why the others cannot.
func TestNineOfTenShippedFilesCanRun(t *testing.T) {
	race.OneGoroutine(t)
	all, err := scenarios.Load(shipped)
	require.NoError(t, err)
	var reasons []string
	for _, s := range all {
		if why := unsupported(s, fourNodes()); why != "" {
			name, err := filepath.Rel(shipped, s.Pos.File)
			require.NoError(t, err)
			reasons = append(reasons, fmt.Sprintf("%s: %s", name, why))
		}
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		t.Log(reason)
	}
	can := len(all) - len(reasons)
	t.Logf("%d of %d files can run, %d cannot", can, len(all), len(reasons))
	assert.GreaterOrEqual(t, can*100, len(all)*90, "fewer than 90 of 100")
}

// TestModeNFTablesRunsWhatIsNotOfIPTablesAlone: what is looked at in rules is passed over step by step; a scenario is skipped only where
// it changes rules.
func TestModeNFTablesRunsWhatIsNotOfIPTablesAlone(t *testing.T) {
	race.OneGoroutine(t)
	all, err := scenarios.Load(shipped)
	require.NoError(t, err)
	facts := fourNodes()
	facts.Mode = modeNFTables
	ofIPTables, can := 0, 0
	b := &Backend{facts: *facts}
	for _, s := range all {
		switch with, without := unsupported(s, facts), unsupported(s, fourNodes()); {
		case with == "":
			assert.False(t, b.OfIPTables(s), s.Pos.File)
			can++
		case without == "":
			ofIPTables++
			assert.True(t, b.OfIPTables(s), s.Pos.File)
			assert.Contains(t, with, "rules of iptables", s.Pos.File)
			t.Logf("%s: %s", s.Name, with)
		}
	}
	t.Logf("%d of %d files can run, %d more are of iptables alone", can, len(all), ofIPTables)
	assert.Positive(t, ofIPTables)
	assert.GreaterOrEqual(t, can*100, len(all)*70, "fewer than 70 of 100")
}

func TestClosedIsWhatNeedsAGuard(t *testing.T) {
	for rules, want := range map[string]bool{
		"*filter\n:INPUT DROP [0:0]\nCOMMIT\n":                                            true,
		"*filter\n-A INPUT -i lo -j ACCEPT\n-A INPUT -j REJECT --reject-with x\nCOMMIT\n": true,
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m conntrack --ctstate INVALID -j DROP\n": true,
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\n-A FORWARD -j DROP\n":          false,
		"*filter\n:FORWARD DROP [0:0]\nCOMMIT\n":                                          false,
	} {
		assert.Equal(t, want, closed().MatchString(rules), rules)
	}
}

// TestAClosedChainLetsInWhatTheClusterNeeds, by rules of the same table and tool, before it is closed.
func TestAClosedChainLetsInWhatTheClusterNeeds(t *testing.T) {
	b, _ := scripted(t)
	k := newKernels(b, nil, nil)
	assert.Equal(t, []string{
		"ip6tables -w -t mangle -I OUTPUT -o lo -j ACCEPT",
		"ip6tables -w -t mangle -I OUTPUT -p tcp -m multiport --ports " + clusterPorts + " -j ACCEPT",
		"ip6tables -w -t mangle -I OUTPUT -p tcp -m multiport --ports 7999 -j ACCEPT",
		"ip6tables -w -t mangle -I OUTPUT -d fd00:10:96::77 -j ACCEPT",
	}, k.openFor("ip6tables -t mangle -P OUTPUT DROP"))
	assert.Contains(t, k.openFor("iptables -P INPUT DROP"), "iptables -w -t filter -I INPUT -i lo -j ACCEPT")
	for _, harmless := range []string{"iptables -P FORWARD DROP", "iptables -P INPUT ACCEPT", "iptables -A INPUT -j DROP"} {
		assert.Empty(t, k.openFor(harmless), harmless)
	}
}

// TestTablesThatCameAreEmptied: a table that nobody had is not in what is restored.
func TestTablesThatCameAreEmptied(t *testing.T) {
	const nat = "# of the tool\n*nat\n:PREROUTING DROP [1:2]\n:MINE - [0:0]\n-A PREROUTING -j MINE\nCOMMIT\n# end\n"
	const filter = "*filter\n:INPUT DROP [0:0]\nCOMMIT\n"
	assert.Equal(t, "*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n", emptied(filter, filter+nat))
	assert.Equal(t, "*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", emptied("", nat+filter))
	assert.Empty(t, emptied(filter+nat, nat))
	assert.Empty(t, emptied(nat, ""))
}
