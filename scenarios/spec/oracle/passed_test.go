package oracle_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

func condition(v bool) *bool { return &v }

// TestPassedEndpointsSayWhy has each reason as the only one, and nothing once what it says is mended.
func TestPassedEndpointsSayWhy(t *testing.T) {
	fromPod := oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("172.30.0.1:80")}
	fromOutside := oracle.Attempt{From: "internet", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("192.168.0.2:30001")}
	toBalancer := oracle.Attempt{From: "internet", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("198.51.100.1:80")}
	third := func(c *oracle.Cluster) *discoveryv1.Endpoint { return &c.Slices[0].Endpoints[2] }
	hint := func(c *oracle.Cluster, of func(n int) discoveryv1.EndpointHints) {
		for i := range c.Slices[0].Endpoints {
			hints := of(i + 1)
			c.Slices[0].Endpoints[i].Hints = &hints
		}
		for i := range c.Nodes {
			c.Nodes[i].Object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: c.Nodes[i].Name, Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone%d", (i+2)/2)},
			}}
		}
	}
	balanced := func(c *oracle.Cluster, ranges ...string) {
		s := c.Services[0]
		s.Spec.Type, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeLoadBalancer, ranges
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.1"}}
	}
	apart := func(c *oracle.Cluster, change func(*discoveryv1.EndpointSlice)) { // the third endpoint in a slice of its own
		own := c.Slices[0].DeepCopy()
		own.Name, own.Endpoints = "apart", own.Endpoints[2:]
		c.Slices[0].Endpoints = c.Slices[0].Endpoints[:2]
		change(own)
		c.Slices = append(c.Slices, own)
	}
	local := corev1.ServiceInternalTrafficPolicyLocal
	for _, row := range []struct {
		name         string
		attempt      oracle.Attempt
		breaks, mend func(*oracle.Cluster)
		want         []string
	}{
		{"not ready", fromPod,
			func(c *oracle.Cluster) { third(c).Conditions.Ready = condition(false) },
			func(c *oracle.Cluster) { third(c).Conditions.Ready = condition(true) },
			[]string{"10.244.3.2:8080 not ready [ready-endpoints]"}},
		{"terminating", fromPod,
			func(c *oracle.Cluster) {
				third(c).Conditions = discoveryv1.EndpointConditions{Ready: condition(false), Serving: condition(true), Terminating: condition(true)}
			},
			func(c *oracle.Cluster) { // nobody else is ready any more
				c.Slices[0].Endpoints = c.Slices[0].Endpoints[2:]
			},
			[]string{"10.244.3.2:8080 terminating, while others are ready [ready-endpoints]"}},
		{"terminated", fromPod,
			func(c *oracle.Cluster) {
				third(c).Conditions = discoveryv1.EndpointConditions{Ready: condition(false), Serving: condition(false), Terminating: condition(true)}
			},
			func(c *oracle.Cluster) { third(c).Conditions = discoveryv1.EndpointConditions{} },
			[]string{"10.244.3.2:8080 terminating, and it serves no more [ready-endpoints]"}},
		{"zones", fromPod,
			func(c *oracle.Cluster) {
				hint(c, func(n int) discoveryv1.EndpointHints {
					return discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: fmt.Sprintf("zone%d", (n+1)/2)}}}
				})
			},
			func(c *oracle.Cluster) { third(c).Hints = nil },
			[]string{"10.244.3.2:8080 hint of zone zone2: node1 is in zone zone1 [zone-hints]"}},
		{"nodes", fromPod,
			func(c *oracle.Cluster) {
				hint(c, func(n int) discoveryv1.EndpointHints {
					return discoveryv1.EndpointHints{ForNodes: []discoveryv1.ForNode{{Name: fmt.Sprintf("node%d", n)}}}
				})
			},
			func(c *oracle.Cluster) { third(c).Hints = nil },
			[]string{"10.244.2.2:8080 hint of node node2: the packet is on node1 [node-hints]",
				"10.244.3.2:8080 hint of node node3: the packet is on node1 [node-hints]"}},
		{"internal policy, with a local endpoint", fromPod,
			func(c *oracle.Cluster) { c.Services[0].Spec.InternalTrafficPolicy = &local },
			func(c *oracle.Cluster) { c.Services[0].Spec.InternalTrafficPolicy = nil },
			[]string{"10.244.2.2:8080 policy Local: it is on node2 and the packet on node1 (internalTrafficPolicy) [local-endpoints]",
				"10.244.3.2:8080 policy Local: it is on node3 and the packet on node1 (internalTrafficPolicy) [local-endpoints]"}},
		{"internal policy, without one", fromPod,
			func(c *oracle.Cluster) {
				c.Services[0].Spec.InternalTrafficPolicy = &local
				c.Slices[0].Endpoints = c.Slices[0].Endpoints[2:]
			},
			func(c *oracle.Cluster) { c.Services[0].Spec.InternalTrafficPolicy = nil },
			[]string{"10.244.3.2:8080 policy Local: it is on node3 and the packet on node1 (internalTrafficPolicy) [internal-local-drops]"}},
		{"external policy", fromOutside,
			func(c *oracle.Cluster) {
				c.Services[0].Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
				c.Slices[0].Endpoints = c.Slices[0].Endpoints[2:]
				third := &c.Slices[0].Endpoints[0]
				third.NodeName = nil
			},
			func(c *oracle.Cluster) { c.Slices[0].Endpoints[0].NodeName = &c.Nodes[0].Name },
			[]string{"10.244.3.2:8080 policy Local: it is on no node (nodeName is missing) and the packet on node1 (externalTrafficPolicy) " +
				"[external-local-drops]"}},
		{"source ranges", toBalancer,
			func(c *oracle.Cluster) {
				balanced(c, "192.0.2.0/24", "10.9.0.0/16")
				c.Slices[0].Endpoints = c.Slices[0].Endpoints[2:]
			},
			func(c *oracle.Cluster) { balanced(c, "192.0.2.0/24", "203.0.113.0/24") },
			[]string{"10.244.3.2:8080 source range: 203.0.113.2 is in none of 192.0.2.0/24, 10.9.0.0/16 (loadBalancerSourceRanges) " +
				"[source-ranges]"}},
		{"another port name", fromPod,
			func(c *oracle.Cluster) {
				apart(c, func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = &[]string{"metrics"}[0] })
			},
			func(c *oracle.Cluster) { c.Slices[len(c.Slices)-1].Ports[0].Name = nil },
			[]string{`10.244.3.2:0 port name differs: endpoint slice apart has "metrics" of TCP, the service port is "" of TCP [port-names-match]`}},
		{"no port", fromPod,
			func(c *oracle.Cluster) { apart(c, func(s *discoveryv1.EndpointSlice) { s.Ports = nil }) },
			func(c *oracle.Cluster) { c.Slices[len(c.Slices)-1].Ports = c.Slices[0].Ports },
			[]string{`10.244.3.2:0 port name differs: endpoint slice apart has no port, the service port is "" of TCP [port-names-match]`}},
		{"another proxy's slice", fromPod,
			func(c *oracle.Cluster) {
				apart(c, func(s *discoveryv1.EndpointSlice) {
					s.Labels = map[string]string{discoveryv1.LabelServiceName: "svc1", "service.kubernetes.io/service-proxy-name": "x"}
				})
			},
			func(c *oracle.Cluster) { c.Slices[len(c.Slices)-1].Labels = c.Slices[0].Labels },
			[]string{"10.244.3.2:0 endpoint slice apart is another proxy's (label service.kubernetes.io/service-proxy-name) [other-service-proxy]"}},
		{"slices that contradict each other", fromPod,
			func(c *oracle.Cluster) {
				for i := range c.Slices[0].Endpoints {
					c.Slices[0].Endpoints[i].Conditions.Ready = condition(false)
				}
				again := c.Slices[0].DeepCopy()
				again.Name, again.Endpoints = "again", again.Endpoints[2:]
				again.Endpoints[0].NodeName = nil
				c.Slices = append(c.Slices, again)
			},
			func(c *oracle.Cluster) {
				c.Slices = c.Slices[:2]
				for i := range c.Slices[0].Endpoints {
					c.Slices[0].Endpoints[i].Conditions.Ready = nil
				}
			},
			[]string{"10.244.1.2:8080 two endpoint slices say different things of it [conflicting-duplicates]",
				"10.244.2.2:8080 two endpoint slices say different things of it [conflicting-duplicates]",
				"10.244.3.2:8080 two endpoint slices say different things of it [conflicting-duplicates]"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := smallState()
			row.breaks(c)
			assert.Equal(t, row.want, passedOf(t, c, row.attempt))
			row.mend(c)
			assert.Empty(t, passedOf(t, c, row.attempt))
		})
	}
}

func passedOf(t *testing.T, c *oracle.Cluster, a oracle.Attempt) []string {
	served, _, ok := oracle.New(c).Serve(a, "node1")
	require.True(t, ok)
	var out []string
	for _, p := range served.Passed {
		out = append(out, fmt.Sprintf("%s %s [%s]", p.Endpoint, p.Why, p.Clause.Name))
	}
	return out
}

func TestWhatNoServiceIsAtHasNoEndpoints(t *testing.T) {
	c := smallState()
	other := oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("172.30.0.1:81")}
	_, why, ok := oracle.New(c).Serve(other, "node1")
	assert.False(t, ok)
	assert.Nil(t, why)

	c.Services[0].Labels = map[string]string{"service.kubernetes.io/service-proxy-name": "x"}
	other.To = netip.MustParseAddrPort("172.30.0.1:80")
	_, why, ok = oracle.New(c).Serve(other, "node1")
	assert.False(t, ok)
	assert.Equal(t, oracle.ByName("other-service-proxy"), why)
}
