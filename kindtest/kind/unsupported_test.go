package kind

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
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
