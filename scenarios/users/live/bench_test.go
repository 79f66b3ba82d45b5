package live

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// largeNodes is how many nodes a large cluster has.
const largeNodes = 3

// large is a cluster of services with endpoints, on each node a share of them, with the rules that our proxier writes for it.
func large(tb testing.TB, services, endpoints int) *Cluster {
	c := &Cluster{Config: &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.128.0.0/9"}}
	add := func(o runtime.Object) {
		object, err := manifest.New(o)
		require.NoError(tb, err)
		c.Objects = append(c.Objects, object)
	}
	var nodes []*corev1.Node
	var next [largeNodes]netip.Addr
	for n := range largeNodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node%d", n+1)}}
		node.Spec.PodCIDR = fmt.Sprintf("10.%d.0.0/16", 129+n)
		node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.168.0.%d", 2+n)}}
		next[n] = netip.MustParseAddr(fmt.Sprintf("10.%d.0.9", 129+n))
		nodes = append(nodes, node)
		add(node)
	}
	clusterIP := netip.MustParseAddr("10.96.0.9")
	number, ready, tcp, name := int32(8080), true, corev1.ProtocolTCP, "http"
	for i := range services {
		clusterIP = clusterIP.Next()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}}
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP.String(),
			ClusterIPs: []string{clusterIP.String()},
			Ports:      []corev1.ServicePort{{Name: name, Protocol: tcp, Port: 80}}}
		if i%10 == 0 {
			service.Spec.Type, service.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, int32(30000+i/10)
		}
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Name: &name, Protocol: &tcp, Port: &number}}}
		slice.Namespace, slice.Name = "shop", service.Name+"-1"
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: service.Name}
		for k := range endpoints {
			n := (i + k) % largeNodes
			next[n] = next[n].Next()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d-%d", i, k)}}
			pod.Spec.NodeName, pod.Status.PodIPs = nodes[n].Name, []corev1.PodIP{{IP: next[n].String()}}
			add(pod)
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{next[n].String()}, NodeName: &nodes[n].Name,
				Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
		}
		add(service)
		add(slice)
	}
	for n, node := range nodes {
		c.Snapshots = append(c.Snapshots, largeNode(tb, c, n, node))
	}
	return c
}

// largeNode is a node of a large cluster: a device for each of its pods, and routes to the other nodes.
func largeNode(tb testing.TB, c *Cluster, n int, node *corev1.Node) *snapshot.NodeSnapshot {
	rules, err := sim.Rules(sim.RulesInput{Objects: c.Objects, Configuration: c.Config, Node: node, Dialect: netfilter.NFT})
	require.NoError(tb, err)
	own := netip.MustParseAddr(node.Status.Addresses[0].Address)
	taken := &snapshot.NodeSnapshot{
		Version: snapshot.Version, Hostname: node.Name,
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.forwarding": "1", "net.ipv4.conf.all.rp_filter": "0",
			"net.ipv4.conf.default.rp_filter": "0", "net.ipv4.conf.all.route_localnet": "1", "net.bridge.bridge-nf-call-iptables": "1"},
		Devices: []snapshot.Device{
			{Name: "lo", Index: 1, Kind: "loopback", MTU: 65536, Up: true,
				Addresses: []snapshot.Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8"), Scope: packetsim.ScopeHost}}},
			{Name: "eth0", Index: 2, Kind: "device", MTU: 1500, Up: true, Addresses: []snapshot.Address{{Prefix: netip.PrefixFrom(own, 24)}}},
		},
		Routes: []snapshot.Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.1"), Dev: "eth0", Table: packetsim.TableMain},
			{Dst: netip.MustParsePrefix("192.168.0.0/24"), Dev: "eth0", Table: packetsim.TableMain, Scope: packetsim.ScopeLink},
			{Dst: netip.PrefixFrom(own, 32), Dev: "eth0", Type: packetsim.RouteLocal, Table: packetsim.TableLocal, Scope: packetsim.ScopeHost},
			{Dst: netip.MustParsePrefix("127.0.0.0/8"), Dev: "lo", Type: packetsim.RouteLocal, Table: packetsim.TableLocal,
				Scope: packetsim.ScopeHost},
		},
	}
	for _, pod := range c.pods() {
		if pod.Spec.NodeName != node.Name {
			continue
		}
		device := fmt.Sprintf("veth%d", len(taken.Devices))
		taken.Devices = append(taken.Devices, snapshot.Device{Name: device, Index: len(taken.Devices) + 1, Kind: "veth", MTU: 1500, Up: true})
		to := netip.MustParseAddr(pod.Status.PodIPs[0].IP)
		taken.Routes = append(taken.Routes, snapshot.Route{
			Dst: netip.PrefixFrom(to, 32), Dev: device, Table: packetsim.TableMain, Scope: packetsim.ScopeLink,
		})
	}
	for m := range largeNodes {
		if m != n {
			taken.Routes = append(taken.Routes, snapshot.Route{Dst: netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", 129+m)),
				Via: netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", 2+m)), Dev: "eth0", Table: packetsim.TableMain})
		}
	}
	for _, family := range netfilter.Families() {
		var save strings.Builder
		require.NoError(tb, rules.Save(family, &save))
		taken.IPTables = append(taken.IPTables, snapshot.Rules{Dialect: netfilter.NFT, Family: family, Save: save.String()})
	}
	return taken
}

// halve takes half of the rules of a node's services away.
func halve(taken *snapshot.NodeSnapshot) {
	taken.IPTables = slices.Clone(taken.IPTables)
	for i := range taken.IPTables {
		var out strings.Builder
		n := 0
		for line := range strings.Lines(taken.IPTables[i].Save) {
			if strings.Contains(line, "-A KUBE-") {
				if n++; n%2 == 0 {
					continue
				}
			}
			out.WriteString(line)
		}
		taken.IPTables[i].Save = out.String()
	}
}

// One thing that breaks a large cluster is one screen.
func TestALargeClusterIsOneScreen(t *testing.T) {
	c := large(t, 100, 5)
	sound, err := c.Examine(t.Context())
	require.NoError(t, err)
	require.Empty(t, sound.Findings, screenOf(t, sound))
	halve(c.Snapshots[1])
	report, err := c.Examine(t.Context())
	require.NoError(t, err)
	text := screenOf(t, report)
	require.NotEmpty(t, report.Findings)
	require.Equal(t, cause.RuleMissing, report.Findings[0].Code, text)
	require.Len(t, report.Findings[0].Services, 100)
}

// BenchmarkExamine examines a cluster of which one node has lost half of its rules.
func BenchmarkExamine(b *testing.B) {
	for _, services := range []int{100, 300, 1000} {
		b.Run(fmt.Sprintf("%d services", services), func(b *testing.B) {
			c := large(b, services, 5)
			halve(c.Snapshots[1])
			b.ReportAllocs()
			for b.Loop() {
				report, err := c.Examine(b.Context())
				require.NoError(b, err)
				require.NotEmpty(b, report.Findings)
			}
		})
	}
}
