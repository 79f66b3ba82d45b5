package beside

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/kindtest/internal/literal"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// facts are the facts of a cluster with two pods on each node.
func facts() *kind.Facts {
	return &kind.Facts{
		Nodes: []cluster.Node{
			{Name: "worker", Addresses: literal.Addrs("172.18.0.3"), PodCIDRs: literal.Prefixes("10.244.5.0/24")},
			{Name: "control-plane", Addresses: literal.Addrs("172.18.0.2"), PodCIDRs: literal.Prefixes("10.244.0.0/24")},
		},
		Pods: []cluster.Pod{
			{Name: "worker-pool-1", Node: "worker", Addresses: literal.Addrs("10.244.5.7")},
			{Name: "worker-pool-2", Node: "worker", Addresses: literal.Addrs("10.244.5.8")},
			{Name: "control-plane-pool-1", Node: "control-plane", Addresses: literal.Addrs("10.244.0.7")},
		},
		Outside: cluster.Outside{Name: "outside", Addresses: literal.Addrs("172.18.0.9")},
		Dialect: netfilter.NFT, Networks: literal.Prefixes("172.18.0.0/16"), Services: literal.Prefixes("10.96.0.0/12"),
	}
}

func translationOf(t *testing.T) *translation {
	pods := []scenarios.Pod{
		{Name: "client", Node: "node1", Addresses: literal.Addrs("10.244.1.100")},
		{Name: "web", Node: "node1", Addresses: literal.Addrs("10.244.1.2"), Listen: []scenarios.Listener{{Proto: "tcp", Port: 80}}},
		{Name: "far", Node: "node2", Addresses: literal.Addrs("10.244.2.2")},
		{Name: "one too many", Node: "node2", Addresses: literal.Addrs("10.244.2.3"), Listen: []scenarios.Listener{}},
	}
	s := &scenarios.Scenario{Name: "t", Steps: []scenarios.Step{{}}, Topology: scenarios.Topology{
		Nodes: scenarios.Nodes{{Listen: []scenarios.Listener{{Proto: "tcp", Addr: literal.Addrs("192.168.0.2")[0], Port: 22}}}, {}},
		Pods:  pods, Outside: []scenarios.Machine{{Name: "internet", Addresses: literal.Addrs("203.0.113.2")}},
	}}
	c, err := scenarios.Resolve(s)
	require.NoError(t, err)
	m, err := kind.Map(facts(), c)
	require.NoError(t, err)
	return &translation{facts: facts(), mapping: m, scenario: c}
}

func TestTheClusterIsWhatTheScenarioHasInIt(t *testing.T) {
	c := translationOf(t).cluster([]manifest.Object{{Object: &corev1.Service{Spec: corev1.ServiceSpec{HealthCheckNodePort: 32000}}}})
	assert.Equal(t, literal.Addrs("172.18.0.1"), c.Router)
	require.Len(t, c.Nodes, 2)
	assert.Equal(t, "worker", c.Nodes[0].Name)
	assert.Equal(t, []scenarios.Listener{{Proto: "tcp", Addr: literal.Addrs("172.18.0.3")[0], Port: 22}, {Proto: "tcp", Port: 32000}},
		c.Nodes[0].Listen,
		"a process at the node's own address, and its proxy")
	require.Len(t, c.Pods, 3, "two pods of the scenario are one of the pool")
	assert.Equal(t, "worker-pool-2", c.Pods[1].Name)
	assert.Equal(t, []scenarios.Listener{{Proto: "tcp", Port: 80}}, c.Pods[1].Listen)
	assert.Equal(t, "control-plane", c.Pods[2].Node)
	assert.Len(t, c.Pods[2].Addresses, 2)
	everywhere := []scenarios.Listener{}
	for _, proto := range []string{"tcp", "udp", "sctp"} {
		everywhere = append(everywhere, scenarios.Listener{Proto: proto, Addr: c.Pods[2].Addresses[0]})
	}
	assert.Equal(t, everywhere, c.Pods[2].Listen, "one of them listens on every port, the other on none")
	assert.Equal(t, "outside", c.Outside[0].Name)
	assert.Equal(t, literal.Addrs("172.18.0.9", "203.0.113.2"), c.Outside[0].Addresses)
	for _, l := range c.Outside[0].Listen {
		assert.Equal(t, literal.Addrs("203.0.113.2")[0], l.Addr, "the container itself is nobody")
	}
	assert.Len(t, c.Outside[0].Listen, 3)
}

func attempt(t *testing.T, from, to string) scenarios.Attempt {
	a := scenarios.Attempt{From: from, Via: "node2"}
	require.NoError(t, a.To.UnmarshalText([]byte(to)))
	return a
}

func TestAttemptsAreMadeInTheCluster(t *testing.T) {
	tr := translationOf(t)
	pod := tr.attempt(attempt(t, "client", "tcp 10.244.2.2:80"))
	assert.Equal(t, "worker-pool-1", pod.From)
	assert.Equal(t, "10.244.5.7", pod.Bind.Addr.String(), "a pod that may be one of several calls from its own address")
	assert.Equal(t, "10.244.0.7:80", pod.To.AddrPort.String())
	assert.Equal(t, "control-plane", pod.Via)
	node := tr.attempt(attempt(t, "node1", "udp 10.244.1.2:53"))
	assert.Equal(t, "worker", node.From)
	assert.False(t, node.Bind.Addr.IsValid(), "a node leaves its address to its kernel")
	outside := tr.attempt(attempt(t, "internet", "tcp 192.168.0.2:30080"))
	assert.Equal(t, "outside", outside.From)
	assert.Equal(t, "203.0.113.2", outside.Bind.Addr.String())
	assert.Equal(t, "172.18.0.3:30080", outside.To.AddrPort.String())
	kept := attempt(t, "client", "tcp 10.244.2.2:80")
	kept.Keep = "first"
	assert.Equal(t, uint16(40000), tr.attempt(kept).Bind.Port)
}

func TestWaysComeBackInTheScenariosWords(t *testing.T) {
	tr := translationOf(t)
	at := netip.MustParseAddrPort
	w := tr.wayBack(scenarios.Way{
		End: scenarios.Delivered, Host: "worker-pool-2", Sender: at("10.244.5.7:1"), Client: at("172.18.0.2:2"), Server: at("10.244.5.8:80"),
		Rule: "-A KUBE-SEP-X -d 10.244.5.8/32 -j DNAT --to-destination 10.244.5.8:80",
		Forward: []scenarios.Hop{{Host: "worker", Packet: "tcp 10.244.5.7:1 > 10.96.0.9:80 in veth1",
			Result: "leaves by veth2 as tcp 10.244.5.7:1 > 10.244.5.8:80",
			Steps:  []scenarios.TraceStep{{At: "nat:KUBE-SEP-X:rule:1", Rule: "-s 10.244.5.8/32"}}}},
	})
	assert.Equal(t, "web", w.Host)
	assert.Equal(t, "10.244.1.100:1", w.Sender.String())
	assert.Equal(t, "192.168.0.3:2", w.Client.String(), "masqueraded with the other node's address")
	assert.Equal(t, "-A KUBE-SEP-X -d 10.244.1.2/32 -j DNAT --to-destination 10.244.1.2:80", w.Rule)
	assert.Equal(t, "node1", w.Forward[0].Host)
	assert.Equal(t, "leaves by veth2 as tcp 10.244.1.100:1 > 10.244.1.2:80", w.Forward[0].Result)
	assert.Equal(t, "-s 10.244.1.2/32", w.Forward[0].Steps[0].Rule)
	shared := tr.wayBack(scenarios.Way{End: scenarios.Delivered, Host: "control-plane-pool-1",
		Server: netip.AddrPortFrom(tr.mapping.To(literal.Addrs("10.244.2.3")[0]), 80)})
	assert.Equal(t, "one too many", shared.Host, "of several pods in one the one that was called")
	nowhere := tr.wayBack(scenarios.Way{End: scenarios.Lost, Host: "outside", Server: at("198.51.100.1:80")})
	assert.Equal(t, scenarios.RouterName, nowhere.Host)
}

func TestPacketsAreGivenToTheClustersNodes(t *testing.T) {
	tr := translationOf(t)
	in := tr.input(inet.Input{In: "client", Packet: inet.Packet{Src: literal.Addrs("10.244.1.100")[0], Dst: literal.Addrs("192.168.0.2")[0]}})
	assert.Equal(t, "worker-pool-1", in.In)
	assert.Equal(t, "10.244.5.7", in.Src.String())
	assert.Equal(t, "172.18.0.3", in.Dst.String())
	assert.Equal(t, "eth0", tr.input(inet.Input{In: "eth0"}).In)
}
