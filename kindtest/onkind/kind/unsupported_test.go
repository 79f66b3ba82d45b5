package kind

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
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

var shippedFiles = sync.OnceValues(func() ([]*scenarios.Scenario, error) { return scenarios.Load(shipped) })

// TestNineOfTenShippedFilesCanRun counts, for each mode, the files of it that a cluster of four nodes can run, and prints why the others
// cannot.
func TestNineOfTenShippedFilesCanRun(t *testing.T) {
	race.OneGoroutine(t)
	all, err := shippedFiles()
	require.NoError(t, err)
	for _, mode := range []string{modeIPTables, modeNFTables} {
		t.Run(mode, func(t *testing.T) {
			b := &Backend{facts: *fourNodes()}
			b.facts.Mode = mode
			ofMode, can := 0, 0
			for _, s := range all {
				if b.OfOtherMode(s) {
					t.Logf("of the other mode: %s", filepath.Base(s.Pos.File))
					continue
				}
				ofMode++
				if why := b.Unsupported(s); why != "" {
					t.Logf("cannot run: %s: %s", filepath.Base(s.Pos.File), why)
				} else {
					can++
				}
			}
			t.Logf("%d of %d files of mode %s can run; %d are of the other mode", can, ofMode, mode, len(all)-ofMode)
			assert.GreaterOrEqual(t, can*100, ofMode*90, "fewer than 90 of 100")
			assert.Less(t, ofMode, len(all))
		})
	}
}

// TestScenariosOfTheOtherMode: what changes rules of iptables, or looks at nothing else, is of mode iptables, also if a cluster could not
// run it there. What lacks something else is missed.
func TestScenariosOfTheOtherMode(t *testing.T) {
	const names = "kubeProxy: {mode: nftables}\n"
	const send = "steps: [{connect: {from: node1, to: \"tcp 172.30.0.41:80\", expect: untouched}}]\n"
	step := func(text string) string { return "steps: [{" + text + "}, {healthz: {healthy: true}}]\n" }
	for about, row := range map[string]struct {
		text               string
		iptables, nftables bool // whether it is of the other mode there
	}{
		"of any":                   {text: send},
		"names nftables":           {text: names + send, iptables: true},
		"rules before":             {text: "iptables: {preload: [{save: \"*filter\\nCOMMIT\\n\"}]}\n" + send, nftables: true},
		"names it, rules before":   {text: names + "iptables: {preload: [{save: \"*filter\\nCOMMIT\\n\"}]}\n" + send, iptables: true},
		"rules for nft before":     {text: "iptables: {preload: [{nft: \"add table ip other\"}]}\n" + send},
		"a restore fails":          {text: step("fault: {restoreFails: 1}"), nftables: true},
		"the lock is held":         {text: step("fault: {node: node1, lockHeld: 1}"), nftables: true},
		"a save fails":             {text: step("fault: {node: node1, saveFails: 1}"), nftables: true},
		"a table is flushed":       {text: step("fault: {flush: [nat]}"), nftables: true},
		"a tool runs":              {text: step("fault: {run: [\"iptables -P FORWARD DROP\"]}"), nftables: true},
		"conntrack fails":          {text: step("fault: {conntrackFails: 1}")},
		"looks at rules alone":     {text: "steps: [{rules: {absent: [a]}}]\n", nftables: true},
		"looks at rules as well":   {text: "steps: [{rules: {absent: [a]}}, {healthz: {healthy: true}}]\n"},
		"looks at rules of nft":    {text: names + "steps: [{rules: {mode: nftables, absent: [a]}}]\n", iptables: true},
		"changes its mode":         {text: step("restart: true, kubeProxy: {mode: nftables}")},
		"within syncs of iptables": {text: "during: [{node: node1, before: iptables-restore, steps: [{healthz: {healthy: true}}]}]\n" + send},
		"counters of rules":        {text: "steps: [{rules: {counters: {a: 1}}}]\n"},
		"what a sync writes":       {text: "steps: [{writes: {restores: 1}}]\n"},
	} {
		s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\n"+row.text))
		require.NoError(t, err, about)
		for mode, want := range map[string]bool{modeIPTables: row.iptables, modeNFTables: row.nftables} {
			b := &Backend{facts: *fourNodes()}
			b.facts.Mode = mode
			assert.Equal(t, want, b.OfOtherMode(s), "%s, mode %s", about, mode)
		}
	}
}

// TestPointsOfTheOtherModeArePassedOver: syncs of mode nftables do not come to iptables-restore, so nobody has to look into them there.
func TestPointsOfTheOtherModeArePassedOver(t *testing.T) {
	const look = "steps: [{connect: {from: node1, to: \"tcp 172.30.0.41:80\", expect: untouched}}]"
	for command, modes := range map[string][]string{
		"iptables-restore": {modeIPTables}, "nft": {modeNFTables}, "conntrack-list": {modeIPTables, modeNFTables},
	} {
		point := "{node: node1, after: " + command + ", " + look + "}"
		first, later := "during: ["+point+"]\n"+look+"\n", look[:len(look)-1]+", {sync: true, during: ["+point+"]}]\n"
		for _, text := range []string{first, later} {
			s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\n"+text))
			require.NoError(t, err)
			for _, mode := range []string{modeIPTables, modeNFTables} {
				facts := fourNodes()
				facts.Mode = mode
				assert.Equal(t, slices.Contains(modes, mode), unsupported(s, facts) != "", "%s in mode %s: %s", command, mode, text)
			}
		}
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
