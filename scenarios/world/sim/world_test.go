package sim

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// worldOf is a scenario's cluster after its first sync.
func worldOf(t testing.TB, text string, o Options) *World {
	t.Helper()
	s, err := scenarios.Read("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(t, err)
	w, err := NewWorld(t.Context(), cluster.With(netfilter.Legacy), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.Close()) })
	require.NoError(t, w.Sync(t.Context(), nodesOf(w)))
	return w
}

func nodesOf(w *World) (names []string) {
	for i := range w.cluster.Nodes {
		names = append(names, w.cluster.Nodes[i].Name)
	}
	return names
}

func attempt(from string, protocol corev1.Protocol, to string) oracle.Attempt {
	return oracle.Attempt{From: from, Protocol: protocol, To: netip.MustParseAddrPort(to), Via: "node1"}
}

// reached are the ends of an attempt's ways, such as "delivered 10.244.1.2:8080".
func reached(t *testing.T, w *World, a oracle.Attempt) (ends []string) {
	t.Helper()
	ways, err := w.Reach(a)
	require.NoError(t, err)
	for _, way := range ways {
		end := string(way.End)
		if way.End == oracle.Delivered {
			end = way.Server.String()
		}
		if !way.Heard {
			end += " unheard"
		}
		ends = append(ends, end)
	}
	return ends
}

func objects(t testing.TB, text string) []manifest.Object {
	t.Helper()
	out, err := manifest.ReadObjects("objects.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return out
}

const (
	webOn2 = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.2.2], nodeName: node2}]}`
	webOn3 = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.3.2], nodeName: node3}]}`
	blog = `{apiVersion: v1, kind: Service, metadata: {name: blog}, spec: {clusterIP: 172.30.0.43, ports: [{port: 80}]}}`
	web  = "172.30.0.41:80"
)

var bothWays = map[string]Options{"informers": {}, "direct": {Direct: true}}

func TestWorldSaysWhatBecomesOfConnections(t *testing.T) {
	for name, o := range bothWays {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, smallState, o)
			all := []string{"10.244.1.2:8080", "10.244.2.2:8080", "10.244.3.2:8080"}
			assert.ElementsMatch(t, all, reached(t, w, attempt("10.244.1.9", "TCP", web)))
			assert.Equal(t, []string{"lost"}, reached(t, w, attempt("client", "TCP", "198.51.100.9:80")), "it is told so by a host on the way")
			assert.Equal(t, []string{"dropped unheard"}, reached(t, w, attempt("client", "UDP", "192.168.0.3:30053")))
			require.NoError(t, w.Apply(t.Context(), objects(t, blog)))
			require.NoError(t, w.Sync(t.Context(), nodesOf(w)))
			assert.Equal(t, []string{"rejected"}, reached(t, w, attempt("node1", "TCP", "172.30.0.43:80")))
			_, err := w.Reach(attempt("nobody", "TCP", web))
			require.ErrorContains(t, err, "there is no host nobody")
		})
	}
}

// A node that is held goes on with what it knew, and is told in parts, or of what became of things.
func TestWorldHoldsBack(t *testing.T) {
	for name, o := range bothWays {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, smallState, o)
			ctx, all := t.Context(), nodesOf(w)
			from2, from3 := attempt("10.244.2.9", "TCP", web), attempt("node3", "TCP", web)
			require.NoError(t, w.Hold(ctx, []string{"node3"}))
			require.NoError(t, w.Apply(ctx, objects(t, webOn2+"\n---\n"+blog)))
			require.NoError(t, w.Apply(ctx, objects(t, webOn3)))
			require.NoError(t, w.Sync(ctx, all))
			assert.Equal(t, []string{"10.244.3.2:8080"}, reached(t, w, from2))
			assert.Len(t, reached(t, w, from3), 3, "it was not told")
			assert.Len(t, w.Knowledge("node3").Services, 2)
			assert.Len(t, w.Knowledge("node2").Services, 3)

			slices := scenarios.Delivery{Nodes: []string{"node3"}, Kinds: []scenarios.Watched{scenarios.WatchedEndpointSlices}, Count: 1}
			require.NoError(t, w.Deliver(ctx, slices))
			require.NoError(t, w.Sync(ctx, all))
			assert.Equal(t, []string{"10.244.2.2:8080"}, reached(t, w, from3), "the first change of the two")
			assert.Len(t, w.Knowledge("node3").Services, 2)

			require.NoError(t, w.Hold(ctx, nil))
			require.NoError(t, w.Sync(ctx, all))
			assert.Equal(t, []string{"10.244.3.2:8080"}, reached(t, w, from3))
			assert.Equal(t, w.Knowledge("node2").Services, w.Knowledge("node3").Services)
		})
	}
}

// A proxier that starts lists all there is, and what it is told from there on is held back again.
func TestWorldHoldsBackFromANewProxier(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	require.NoError(t, w.Hold(ctx, []string{"node3"}))
	require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
	require.NoError(t, w.Restart(ctx, []string{"node3"}))
	require.NoError(t, w.Apply(ctx, objects(t, webOn3)))
	require.NoError(t, w.Sync(ctx, []string{"node3"}))
	assert.Equal(t, []string{"10.244.2.2:8080"}, reached(t, w, attempt("node3", "TCP", web)))
	require.NoError(t, w.Deliver(ctx, scenarios.Delivery{Nodes: []string{"node3"}}))
	require.NoError(t, w.Sync(ctx, []string{"node3"}))
	assert.Equal(t, []string{"10.244.3.2:8080"}, reached(t, w, attempt("node3", "TCP", web)))
}

// Pods go with all that they are, and others have their addresses.
func TestWorldStartsAndStopsPods(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	call := attempt("10.244.2.9", "TCP", "10.244.1.2:8080")
	client := attempt("10.244.1.2", "TCP", "10.244.2.2:8080")
	client.Source = netip.MustParseAddrPort("10.244.1.2:40000")
	flow, err := w.Keep(call, netip.AddrPort{})
	require.NoError(t, err)
	own, err := w.Keep(client, netip.AddrPort{})
	require.NoError(t, err)
	send := func(from scenarios.Side) (ends []string) {
		ways, err := flow.Send(from, scenarios.PacketData, netip.AddrPort{})
		require.NoError(t, err)
		for _, way := range ways {
			ends = append(ends, string(way.End))
		}
		return ends
	}
	assert.Equal(t, []string{"delivered"}, send(scenarios.SideClient))

	require.NoError(t, w.StopPods(ctx, []string{"10.244.1.2"}))
	assert.Equal(t, []string{"lost"}, send(scenarios.SideClient))
	_, err = flow.Send(scenarios.SideServer, scenarios.PacketData, netip.AddrPort{})
	require.ErrorContains(t, err, "its server 10.244.1.2 is no more")
	_, err = own.Send(scenarios.SideClient, scenarios.PacketData, netip.AddrPort{})
	require.ErrorContains(t, err, "its client 10.244.1.2 is no more")
	assert.Equal(t, []string{"lost unheard"}, reached(t, w, call))
	_, err = w.Reach(client)
	require.ErrorContains(t, err, "there is no host")

	again := scenarios.Pod{Name: "10.244.1.2", Node: "node1", Addresses: []netip.Addr{netip.MustParseAddr("10.244.1.2")}}
	require.NoError(t, w.StartPods(ctx, []scenarios.Pod{again}))
	assert.Equal(t, []string{"10.244.1.2:8080"}, reached(t, w, call))
	ways, err := flow.Send(scenarios.SideClient, scenarios.PacketData, netip.AddrPort{})
	require.NoError(t, err)
	assert.False(t, ways[0].Heard, "the new pod does not know the connection")
	require.NoError(t, w.StopPods(ctx, []string{"10.244.2.9"}))
	other := scenarios.Pod{Name: "other", Node: "node3", Addresses: []netip.Addr{netip.MustParseAddr("10.244.2.9")}}
	require.NoError(t, w.StartPods(ctx, []scenarios.Pod{other}))
	assert.ElementsMatch(t, []string{"10.244.1.2:8080", "10.244.2.2:8080", "10.244.3.2:8080"}, reached(t, w, attempt("other", "TCP", web)),
		"an address on another node than before is found there")
}

func TestWorldGivesNodesOtherAddresses(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	require.NoError(t, w.SetAddresses(ctx, "node2", []netip.Addr{netip.MustParseAddr("192.168.0.22")}))
	assert.Equal(t, []string{"lost unheard"}, reached(t, w, attempt("client", "TCP", "192.168.0.3:30080")))
	assert.Len(t, reached(t, w, attempt("client", "TCP", "192.168.0.22:30080")), 3, "node ports are served at every local address")
	direct := attempt("10.244.1.9", "TCP", "10.244.2.2:8080")
	assert.Equal(t, []string{"10.244.2.2:8080"}, reached(t, w, direct), "pods are found by the new address")
	err := w.SetAddresses(ctx, "node2", []netip.Addr{netip.MustParseAddr("10.0.0.1")})
	require.ErrorContains(t, err, "10.0.0.1 is in no network of the nodes")
}

// A later packet from outside goes to the node that its first one went to, whatever its addresses are by then.
func TestWorldFollowsNodesThatMove(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	a := attempt("client", "TCP", "198.51.100.8:80")
	a.Via = "node2"
	flow, err := w.Keep(a, netip.MustParseAddrPort("10.244.2.2:8080"))
	require.NoError(t, err)
	require.NoError(t, w.SetAddresses(t.Context(), "node2", []netip.Addr{netip.MustParseAddr("192.168.0.22")}))
	ways, err := flow.Send(scenarios.SideClient, scenarios.PacketData, netip.AddrPort{})
	require.NoError(t, err)
	require.Len(t, ways, 1)
	assert.Equal(t, oracle.Delivered, ways[0].End, "%+v", ways[0])
}

func TestWorldTellsConntrack(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	a := attempt("10.244.1.9", "UDP", "172.30.0.42:53")
	_, err := w.Keep(a, netip.AddrPort{})
	require.NoError(t, err)
	entries, err := w.Conntrack(ctx, "node1")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "udp 10.244.1.9:40000 > 172.30.0.42:53 to 10.244.1.9:53 from 10.244.1.1:18213", entries[0].String())
	_, err = w.Conntrack(ctx, "node9")
	require.ErrorContains(t, err, "there is no node node9")
}

// A new proxier writes what the node's has come to.
func TestWorldKnowsWhatANewProxierWrites(t *testing.T) {
	for name, o := range bothWays {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, smallState, o)
			require.NoError(t, w.Hold(t.Context(), []string{"node3"}))
			require.NoError(t, w.Apply(t.Context(), objects(t, webOn2+"\n---\n"+blog)))
			require.NoError(t, w.Sync(t.Context(), nodesOf(w)))
			for _, node := range nodesOf(w) {
				fresh, err := w.Fresh(node)
				require.NoError(t, err)
				for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
					want, got := rulesOf(fresh, family), rulesOf(w.Kernel(node), family)
					assert.Equal(t, want, got)
					assert.Equal(t, family == netfilter.IPv4 && node != "node3", strings.Contains(fmt.Sprint(got), "default/blog"), node)
				}
			}
		})
	}
}

// The proxier's settings stay where they are.
func TestANewProxierSetsNothing(t *testing.T) {
	w := worldOf(t, "kubeProxy: {iptables: {localhostNodePorts: true}}\n"+smallState, Options{Direct: true})
	host := w.network.Host("node1")
	require.NoError(t, host.SetSysctl("net.ipv4.conf.all.route_localnet", "0"))
	_, err := w.Fresh("node1")
	require.NoError(t, err)
	value, _ := host.Sysctl("net.ipv4.conf.all.route_localnet")
	assert.Equal(t, "0", value)
}

// rulesOf are the rules of a family by "TABLE CHAIN", without counters. A chain without rules is there with none.
func rulesOf(k *fakekernel.Kernel, family netfilter.Family) map[string][]string {
	out := map[string][]string{}
	for _, table := range k.Rules(family).Tables {
		for chain := range table.Unsorted() {
			rules := make([]string, chain.Len())
			for i := range rules {
				rules[i] = chain.Text(i)
			}
			out[table.Name()+" "+chain.Name] = rules
		}
	}
	return out
}
