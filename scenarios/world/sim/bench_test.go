package sim

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// smallState is a state as the generator makes most: three nodes, two services, a client of each kind.
const smallState = `
name: small
topology:
  nodes: 3
  outside: [{name: client, addresses: [203.0.113.2]}]
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, clusterIP: 172.30.0.41, externalIPs: [198.51.100.7],
   ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.8}]}}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node1}, {addresses: [10.244.2.2], nodeName: node2},
   {addresses: [10.244.3.2], nodeName: node3}]}
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {type: NodePort, externalTrafficPolicy: Local, clusterIP: 172.30.0.42,
   ports: [{port: 53, protocol: UDP, nodePort: 30053}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}},
   addressType: IPv4, ports: [{port: 53, protocol: UDP}], endpoints: [{addresses: [10.244.1.9], nodeName: node1}]}
steps:
- connect: {from: 10.244.1.9, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080", "10.244.2.2:8080", "10.244.3.2:8080"]}}
- connect: {from: 10.244.2.9, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080", "10.244.2.2:8080", "10.244.3.2:8080"]}}
`

// startSmall is the cluster of smallState after its first sync.
func startSmall(b testing.TB, tool netfilter.Dialect) *World {
	s, err := scenarios.Read("small.yaml", strings.NewReader(smallState))
	require.NoError(b, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(b, err)
	started, err := Backend{}.Start(b.Context(), cluster.With(tool))
	require.NoError(b, err)
	require.NoError(b, started.Sync(b.Context(), []string{"node1", "node2", "node3"}))
	return started.(*World)
}

// smallConnects are connections from every host but the router to every kind of destination.
func smallConnects(s *World) []network.Connect {
	var all []network.Connect
	for _, from := range s.network.Hosts() {
		if from == scenarios.RouterName {
			continue
		}
		for _, to := range []string{
			"172.30.0.41:80", "198.51.100.7:80", "198.51.100.8:80", "192.168.0.1:30080", "192.168.0.2:30080", "10.244.1.2:8080",
			"172.30.0.41:81", "192.168.0.3:30081", "198.51.100.9:80",
		} {
			all = append(all, network.Connect{
				From: from, Proto: inet.TCP, To: netip.MustParseAddrPort(to), Via: s.plan.Gateway("node2", false),
			})
		}
		for _, to := range []string{"172.30.0.42:53", "192.168.0.1:30053", "192.168.0.2:30053", "10.244.1.9:53"} {
			all = append(all, network.Connect{From: from, Proto: inet.UDP, To: netip.MustParseAddrPort(to)})
		}
	}
	return all
}

// BenchmarkReach asks for one connection after the other of a small state, each there and back.
func BenchmarkReach(b *testing.B) {
	for _, tool := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		b.Run(string(tool), func(b *testing.B) {
			s := startSmall(b, tool)
			all := smallConnects(s)
			var ways []network.Reached
			var err error
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				if ways, err = s.network.Reach(all[n%len(all)], ways[:0]); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "connections/s")
		})
	}
}

// BenchmarkBuild lays out and builds the network of a small state.
func BenchmarkBuild(b *testing.B) {
	s, err := scenarios.Read("small.yaml", strings.NewReader(smallState))
	require.NoError(b, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(b, err)
	cluster = cluster.With(netfilter.Legacy)
	b.ReportAllocs()
	for b.Loop() {
		s := &World{
			cluster: cluster, clock: node.NewClock(), network: network.New(), plan: plan.Of(cluster), kernels: map[string]*fakekernel.Kernel{},
		}
		if _, err := s.build(); err != nil {
			b.Fatal(err)
		}
	}
}

// smallCluster is the cluster of smallState.
func smallCluster(b testing.TB, tool netfilter.Dialect) *scenarios.Cluster {
	s, err := scenarios.Read("small.yaml", strings.NewReader(smallState))
	require.NoError(b, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(b, err)
	return cluster.With(tool)
}

// BenchmarkWorld builds a small state and syncs its three nodes for the first time; changes a slice and syncs again; starts the
// three proxiers anew, and asks what a new one would write.
func BenchmarkWorld(b *testing.B) {
	ctx, nodes := b.Context(), []string{"node1", "node2", "node3"}
	for _, tool := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		cluster := smallCluster(b, tool)
		start := func() *World {
			w, err := NewWorld(ctx, cluster.With(tool), Options{Direct: true, OneFamily: true})
			require.NoError(b, err)
			require.NoError(b, w.Sync(ctx, nodes))
			return w
		}
		b.Run("start/"+string(tool), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				start()
			}
		})
		slices := [][]manifest.Object{objects(b, webOn2), objects(b, webOn3)}
		b.Run("change/"+string(tool), func(b *testing.B) {
			w, n := start(), 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				require.NoError(b, w.Apply(ctx, slices[n%2]))
				require.NoError(b, w.Sync(ctx, nodes))
			}
		})
		b.Run("restart/"+string(tool), func(b *testing.B) {
			w := start()
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, w.Restart(ctx, nodes))
				require.NoError(b, w.Sync(ctx, nodes))
			}
		})
		b.Run("fresh/"+string(tool), func(b *testing.B) {
			w := start()
			b.ReportAllocs()
			for b.Loop() {
				_, err := w.Fresh("node1")
				require.NoError(b, err)
			}
		})
	}
}
