package kind

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/cluster"
	"github.com/chainwalk/chainwalk/scenarios"
)

// threeNodes are the facts of a cluster as it is made by default: three nodes, both families, eight pods on each.
func threeNodes() *Facts {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	f := &Facts{
		Outside:  cluster.Outside{Name: "outside", Addresses: []netip.Addr{addr("172.18.0.5"), addr("fc00:f853:ccd:e793::5")}},
		Tool:     scenarios.ToolNFT,
		Networks: []netip.Prefix{prefix("172.18.0.0/16"), prefix("fc00:f853:ccd:e793::/64")},
		Services: []netip.Prefix{prefix("10.96.0.0/12"), prefix("fd00:10:96::/112")},
		TakenIPs: []netip.Addr{addr("10.96.0.1")}, TakenServices: []string{"default/kubernetes"}, Mode: "iptables",
	}
	for i, name := range []string{"worker", "worker2", "control-plane"} {
		f.Nodes = append(f.Nodes, cluster.Node{
			Name: name, Zone: string(rune('a' + i)),
			Addresses: []netip.Addr{addr(fmt.Sprintf("172.18.0.%d", 4-i)), addr(fmt.Sprintf("fc00:f853:ccd:e793::%d", 4-i))},
			PodCIDRs:  []netip.Prefix{prefix(fmt.Sprintf("10.244.%d.0/24", 2-i)), prefix(fmt.Sprintf("fd00:10:244:%d::/64", 2-i))},
		})
		for n := range 8 {
			f.Pods = append(f.Pods, cluster.Pod{
				Namespace: "chainwalk", Name: fmt.Sprintf("%s-%d", name, n), Node: name,
				Addresses: []netip.Addr{addr(fmt.Sprintf("10.244.%d.%d", 2-i, n+2)), addr(fmt.Sprintf("fd00:10:244:%d::%x", 2-i, n+2))},
			})
		}
	}
	return f
}

const shipped = "../../scenarios/testdata"

// TestFourOfFiveShippedFilesCanRun counts the files that a cluster of three nodes can run, and prints why the others cannot.
func TestFourOfFiveShippedFilesCanRun(t *testing.T) {
	all, err := scenarios.Load(shipped)
	require.NoError(t, err)
	var reasons []string
	for _, s := range all {
		if why := Unsupported(s, threeNodes()); why != "" {
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
	assert.GreaterOrEqual(t, can*100, len(all)*80, "fewer than 80 of 100")
}

// TestModeNFTablesRunsWhatIsNotOfIPTablesAlone: what is looked at in rules is passed over step by step; a scenario is skipped only where it changes rules.
func TestModeNFTablesRunsWhatIsNotOfIPTablesAlone(t *testing.T) {
	all, err := scenarios.Load(shipped)
	require.NoError(t, err)
	facts := threeNodes()
	facts.Mode = modeNFTables
	ofIPTables, can := 0, 0
	b := &Backend{facts: *facts}
	for _, s := range all {
		switch with, without := Unsupported(s, facts), Unsupported(s, threeNodes()); {
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

// TestAScenarioFlushesItsOwnChainsOnly, and those of the proxy: others are the machine's.
func TestAScenarioFlushesItsOwnChainsOnly(t *testing.T) {
	for command, can := range map[string]bool{
		"iptables -F zone":                       true,
		"iptables -t nat -F KUBE-SERVICES":       true,
		"iptables -F FORWARD":                    true,
		"iptables -F":                            false,
		"iptables -F INPUT":                      false, // it was there before
		"iptables -t nat -F DOCKER_OUTPUT":       false,
		"iptables -F zone-of-others":             false,
		"iptables -A zone -p tcp -j ACCEPT":      true,
		"iptables -t nat -X":                     true,
		"iptables -t mangle -F zone-that-is-not": false,
	} {
		s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\niptables:\n  preload:\n  - save: |\n      *filter\n      :INPUT DROP [0:0]\n"+
			"      :zone - [0:0]\n      COMMIT\nsteps: [{fault: {node: node1, run: [\""+command+"\"]}}]\n"))
		require.NoError(t, err)
		why := Unsupported(s, threeNodes())
		if can {
			assert.Empty(t, why, command)
			continue
		}
		assert.Contains(t, why, "would flush rules that are not the proxy's", command)
	}
}

func TestClosedIsWhatNeedsAGuard(t *testing.T) {
	for rules, want := range map[string]bool{
		"*filter\n:INPUT DROP [0:0]\nCOMMIT\n":                                            true,
		"*filter\n-A INPUT -i lo -j ACCEPT\n-A INPUT -j REJECT --reject-with x\nCOMMIT\n": true,
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m conntrack --ctstate INVALID -j DROP\n": true,
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\n-A FORWARD -j DROP\n":          false,
		"*filter\n:FORWARD DROP [0:0]\nCOMMIT\n":                                          false,
	} {
		assert.Equal(t, want, closed.MatchString(rules), rules)
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
