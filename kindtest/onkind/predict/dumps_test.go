package predict

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/kindtest/internal/literal"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

// recordedView is the cluster of internal/dumps, with what was around its nodes.
func recordedView(t *testing.T, tool netfilter.Dialect) *State {
	v := &State{Cluster: &scenarios.Cluster{
		IPFamily: scenarios.FamilyDual, Dialect: tool,
		Underlay: literal.Prefixes("172.18.0.0/16", "fc00:f853:ccd:e793::/64"), Router: literal.Addrs("172.18.0.1", "fc00:f853:ccd:e793::1"),
		Nodes: []scenarios.Node{
			{Name: "demo-control-plane", Addresses: literal.Addrs("172.18.0.4", "fc00:f853:ccd:e793::4"),
				PodCIDRs: literal.Prefixes("10.244.0.0/24", "fd00:10:244::/64")},
			{Name: "demo-worker", Addresses: literal.Addrs("172.18.0.3", "fc00:f853:ccd:e793::3"),
				PodCIDRs: literal.Prefixes("10.244.2.0/24", "fd00:10:244:2::/64")},
			{Name: "demo-worker2", Addresses: literal.Addrs("172.18.0.2", "fc00:f853:ccd:e793::2"),
				PodCIDRs: literal.Prefixes("10.244.1.0/24", "fd00:10:244:1::/64")},
		},
		Pods: []scenarios.Pod{
			{Name: "one", Node: "demo-worker", Addresses: literal.Addrs("10.244.2.2", "fd00:10:244:2::2")},
			{Name: "echo1", Node: "demo-worker", Addresses: literal.Addrs("10.244.2.3", "fd00:10:244:2::3")},
			{Name: "echo2", Node: "demo-worker2", Addresses: literal.Addrs("10.244.1.2", "fd00:10:244:1::2")},
			{Name: "echo3", Node: "demo-worker2", Addresses: literal.Addrs("10.244.1.3", "fd00:10:244:1::3")},
		},
	}}
	for _, node := range v.Cluster.Nodes {
		file, err := dumps.Kind().Open(string(tool) + "/" + node.Name + ".yaml")
		require.NoError(t, err)
		taken, err := snapshot.Read(node.Name, file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		v.Snapshots = append(v.Snapshots, taken)
	}
	return v
}

func (s *State) judge() *Judge {
	return NewJudge(func(context.Context) (*State, error) { return s, nil })
}

func attempt(t *testing.T, from, to, via string) scenarios.Attempt {
	a := scenarios.Attempt{From: from, Via: via}
	require.NoError(t, a.To.UnmarshalText([]byte(to)))
	return a
}

// TestRecordedNodesForetellWhatWasSeen asks the recorded nodes for the traffic that internal/dumps/README.md says was seen there.
func TestRecordedNodesForetellWhatWasSeen(t *testing.T) {
	for _, tool := range []netfilter.Dialect{netfilter.NFT, netfilter.Legacy} {
		judge := recordedView(t, tool).judge()
		for _, row := range []struct {
			name     string
			attempt  scenarios.Attempt
			outcomes []string
		}{
			{"from a node to a cluster IP", attempt(t, "demo-worker", "tcp 10.96.125.22:80", ""), []string{
				"answered by echo1 at 10.244.2.3:8080, from 10.244.2.1", "answered by echo2 at 10.244.1.2:8080, from 172.18.0.3",
				"answered by echo3 at 10.244.1.3:8080, from 172.18.0.3"}},
			{"from a node to a service of policy Local", attempt(t, "demo-worker", "tcp 10.96.233.187:80", ""),
				[]string{"answered by one at 10.244.2.2:8080, from 10.244.2.1"}},
			{"from outside to the node port of a node with an endpoint, policy Local", attempt(t, "router", "tcp 172.18.0.3:30081", "demo-worker"),
				[]string{"answered by one at 10.244.2.2:8080, from 172.18.0.1"}},
			{"from outside to a node port without endpoints", attempt(t, "router", "tcp 172.18.0.2:30084", "demo-worker"),
				[]string{"refused with icmp-port-unreachable"}},
		} {
			t.Run(string(tool)+": "+row.name, func(t *testing.T) {
				f, err := judge.Connect(t.Context(), row.attempt)
				require.NoError(t, err)
				assert.Equal(t, row.outcomes, Outcomes(f.proto, f.ways))
			})
		}
	}
}

// TestARuleDecidesAPrediction changes one rule of a recorded node after the other, and sees predictions change with it.
func TestARuleDecidesAPrediction(t *testing.T) {
	web := attempt(t, "one", "tcp 10.96.125.22:80", "")
	before := predicted(t, recordedView(t, netfilter.NFT), web)
	require.Len(t, before.ways, 3)
	assert.Contains(t, before.Against(&scenarios.Observed{Samples: 100, Ways: before.ways}).Ways[0].Forward[1].Steps[2].Rule,
		"shop/web:http cluster IP",
		"the way has the node's rules")
	for _, row := range []struct {
		name, chain, rule string
		wrong             string
	}{
		{"the portal", "-A PREROUTING ", "KUBE-SERVICES", "no way leads there: 1 leaves the cluster"},
		{"the choice between endpoints", "-A KUBE-SVC-", "statistic", "no way leads there: 1 answered by"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := recordedView(t, netfilter.NFT)
			removed := 0
			for _, taken := range v.Snapshots {
				for i := range taken.IPTables {
					save, n := without(taken.IPTables[i].Save, row.chain, row.rule)
					taken.IPTables[i].Save = save
					removed += n
				}
			}
			require.NotZero(t, removed)
			after := predicted(t, v, web)
			assert.Contains(t, after.Against(&scenarios.Observed{Samples: 300, Ways: before.ways}).Wrong, row.wrong)
		})
	}
}

func predicted(t *testing.T, v *State, a scenarios.Attempt) *Forecast {
	f, err := v.judge().Connect(t.Context(), a)
	require.NoError(t, err)
	return f
}

// without takes the rules of chains away that contain a text.
func without(save, chain, text string) (left string, removed int) {
	var b strings.Builder
	for line := range strings.Lines(save) {
		if strings.Contains(line, chain) && strings.Contains(line, text) {
			removed++
			continue
		}
		b.WriteString(line)
	}
	return b.String(), removed
}

// TestRulesOfTheOtherToolAreNotOverlooked: the kernel runs both.
func TestRulesOfTheOtherToolAreNotOverlooked(t *testing.T) {
	const portal = "tcp 10.96.125.22:80"
	echo := []string{"answered by echo1 at 10.244.2.3:8080, from 10.244.2.1", "answered by echo2 at 10.244.1.2:8080, from 172.18.0.3",
		"answered by echo3 at 10.244.1.3:8080, from 172.18.0.3"}
	for _, row := range []struct {
		name, save string
		order      []snapshot.HookOrder
		want       []string
		open       bool
	}{
		{
			name: "Docker's name server", want: echo,
			save: "*nat\n:OUTPUT ACCEPT [0:0]\n:DOCKER_OUTPUT - [0:0]\n[0:0] -A OUTPUT -d 127.0.0.11/32 -j DOCKER_OUTPUT\n" +
				"[0:0] -A DOCKER_OUTPUT -d 127.0.0.11/32 -p tcp -m tcp --dport 53 -j DNAT --to-destination 127.0.0.11:43211\nCOMMIT\n",
		},
		{name: "a firewall", save: "*filter\n:OUTPUT DROP [0:0]\nCOMMIT\n", want: []string{"silent"}},
		{
			name: "a translation that may be first or not", open: true,
			want: slices.Sorted(slices.Values(append(slices.Clone(echo), "answered by one at 10.244.2.2:8080, from 172.18.0.3"))),
			save: "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -d 10.96.125.22/32 -p tcp -j DNAT --to-destination 10.244.2.2:8080\nCOMMIT\n",
		},
		{
			name: "a translation that is first", want: []string{"answered by one at 10.244.2.2:8080, from 172.18.0.3"},
			save:  "*nat\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -d 10.96.125.22/32 -p tcp -j DNAT --to-destination 10.244.2.2:8080\nCOMMIT\n",
			order: []snapshot.HookOrder{{Family: 4, Hook: "OUTPUT", Table: "nat", First: "legacy"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := recordedView(t, netfilter.NFT)
			for _, taken := range v.Snapshots {
				taken.Order = row.order
				taken.IPTables = append(taken.IPTables, snapshot.Rules{Dialect: "legacy", Family: 4, Save: row.save})
			}
			f := predicted(t, v, attempt(t, "demo-worker", portal, ""))
			assert.Equal(t, row.want, Outcomes(f.proto, f.ways))
			assert.Equal(t, row.open, f.partly != "", f.partly)
		})
	}
}

func TestEveryNodeHasASnapshot(t *testing.T) {
	v := recordedView(t, netfilter.Legacy)
	v.Snapshots = v.Snapshots[1:]
	_, err := v.build()
	assert.ErrorContains(t, err, "no snapshot of node demo-control-plane")
	v.Snapshots[0].Hostname = "somebody"
	_, err = v.build()
	assert.ErrorContains(t, err, "a snapshot of somebody, which is no node")
}

// TestAPortThatNodesRememberIsNotTaken: the kernel gives a client another one as well.
func TestAPortThatNodesRememberIsNotTaken(t *testing.T) {
	v := recordedView(t, netfilter.NFT)
	a := attempt(t, "one", "tcp 10.96.125.22:80", "")
	taken := v.Snapshots[1]
	taken.Conntrack = append(taken.Conntrack, snapshot.Connection{
		Original: snapshot.Tuple{Proto: inet.TCP, Src: literal.Addrs("10.244.2.2")[0], SrcPort: firstPort, Dst: literal.Addrs("10.96.125.22")[0],
			DstPort: 80},
		Reply: snapshot.Tuple{Proto: inet.TCP, Src: literal.Addrs("10.244.1.2")[0], SrcPort: 8080, Dst: literal.Addrs("10.244.2.2")[0],
			DstPort: firstPort},
		State: "ESTABLISHED", Timeout: 1000, Replied: true, Assured: true,
	})
	f := predicted(t, v, a)
	assert.Len(t, f.ways, 3)
	assert.Equal(t, uint16(firstPort+1), f.ways[0].Sender.Port())
	a.Bind.Port = firstPort
	assert.Len(t, predicted(t, v, a).ways, 1, "who takes it all the same goes on with the connection")
}

func TestNothingIsPredictedWithoutIPTables(t *testing.T) {
	f, err := Nothing("kube-proxy is in mode nftables").Connect(t.Context(), attempt(t, "one", "tcp 10.96.125.22:80", ""))
	require.NoError(t, err)
	assert.Equal(t, "nothing: kube-proxy is in mode nftables", f.Against(&scenarios.Observed{}).String())
}

// TestARuleThatNobodyKnowsEndsWhatMeetsIt: a snapshot with it is loaded, and what does not come to the rule is predicted.
func TestARuleThatNobodyKnowsEndsWhatMeetsIt(t *testing.T) {
	const rule = "-A FORWARD -p tcp -m tcp --dport 8080 -m geoip --source-country DE -j ACCEPT"
	for _, tool := range []netfilter.Dialect{netfilter.NFT, netfilter.Legacy} {
		v := recordedView(t, tool)
		for _, taken := range v.Snapshots {
			for i := range taken.IPTables {
				r := &taken.IPTables[i]
				filter := strings.Index(r.Save, "*filter\n")
				require.GreaterOrEqual(t, filter, 0)
				end := filter + strings.Index(r.Save[filter:], "COMMIT\n")
				r.Save = strings.Replace(r.Save[:end], " -A FORWARD ", " "+rule+"\n[0:0] -A FORWARD ", 1) + r.Save[end:]
				require.Contains(t, r.Save, rule)
			}
		}
		_, err := v.judge().Connect(t.Context(), attempt(t, "one", "tcp 10.96.125.22:80", ""))
		require.ErrorContains(t, err, "not supported: an extension that is not known: match geoip of filter:FORWARD:rule:1")
		require.ErrorContains(t, err, rule)
		f := predicted(t, v, attempt(t, "router", "tcp 172.18.0.2:30084", "demo-worker"))
		assert.Equal(t, []string{"refused with icmp-port-unreachable"}, Outcomes(f.proto, f.ways), "it is no packet of that port")
	}
}
