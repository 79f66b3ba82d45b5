package changes

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// dualStack is the Service from which the rows of TestServicePort start.
func dualStack(edits ...func(*v1.Service)) *v1.Service {
	base := []func(*v1.Service){
		withPorts("http/TCP/80/0"),
		withSpec(func(spec *v1.ServiceSpec) { spec.ClusterIPs = []string{"10.96.3.1", "fd00:96::31"} }),
	}
	return makeService("web", "10.96.3.1", append(base, edits...)...)
}

func TestServicePort(t *testing.T) {
	lb := func(spec *v1.ServiceSpec) { spec.Type = v1.ServiceTypeLoadBalancer }
	local := func(spec *v1.ServiceSpec) { spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal }
	affinity := func(config *v1.SessionAffinityConfig) func(*v1.ServiceSpec) {
		return func(spec *v1.ServiceSpec) {
			spec.SessionAffinity = v1.ServiceAffinityClientIP
			spec.SessionAffinityConfig = config
		}
	}
	ranges := func(texts ...string) func(*v1.ServiceSpec) {
		return func(spec *v1.ServiceSpec) { spec.LoadBalancerSourceRanges = texts }
	}
	external := func(texts ...string) func(*v1.ServiceSpec) {
		return func(spec *v1.ServiceSpec) { spec.ExternalIPs = texts }
	}
	cases := []struct {
		name    string
		service *v1.Service
		want4   func(*ServicePort)
		want6   func(*ServicePort)
	}{
		{"nothing special", dualStack(), nil, nil},
		{"node port", dualStack(withSpec(func(s *v1.ServiceSpec) { s.Ports[0].NodePort = 30123 })),
			func(p *ServicePort) { p.NodePort = 30123 }, func(p *ServicePort) { p.NodePort = 30123 }},
		{"external IPs of both families, a blank and a bad one",
			dualStack(withSpec(external("198.51.100.7", "fd00:5::7", " ", "198.051.100.008", "nonsense"))),
			func(p *ServicePort) { p.ExternalIPs = addrs("198.51.100.7", "198.51.100.8") },
			func(p *ServicePort) { p.ExternalIPs = addrs("fd00:5::7") }},
		{"ingress of both families",
			dualStack(withSpec(lb), withIngress("203.0.113.9", "fd00:6::9", "bad")),
			func(p *ServicePort) { p.LoadBalancerVIPs = addrs("203.0.113.9") },
			func(p *ServicePort) { p.LoadBalancerVIPs = addrs("fd00:6::9") }},
		{"ingress modes", dualStack(withSpec(lb), withIngress("proxy:203.0.113.9", "vip:203.0.113.10", "203.0.113.011")),
			func(p *ServicePort) { p.LoadBalancerVIPs = addrs("203.0.113.10", "203.0.113.11") }, nil},
		{"ingress that is only a host name",
			dualStack(withSpec(lb), func(s *v1.Service) {
				s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
			}), nil, nil},
		{"source ranges of both families, padded, with zeros and a bad one",
			dualStack(withSpec(lb), withSpec(ranges(" 198.51.100.0/24", "fd00:7::/64 ", "198.051.101.000/025", "198.51.100.0", ""))),
			func(p *ServicePort) { p.SourceRanges = prefixes("198.51.100.0/24", "198.51.101.0/25") },
			func(p *ServicePort) { p.SourceRanges = prefixes("fd00:7::/64") }},
		{"a range of everything lifts the limit of its own family only",
			dualStack(withSpec(lb), withSpec(ranges("198.51.100.0/24", "0.0.0.0/0", "fd00:7::/64"))),
			nil, func(p *ServicePort) { p.SourceRanges = prefixes("fd00:7::/64") }},
		{"the annotation for source ranges is for cloud controllers",
			dualStack(withSpec(lb), func(s *v1.Service) {
				s.Annotations = map[string]string{v1.AnnotationLoadBalancerSourceRangesKey: "198.51.100.0/24"}
			}), nil, nil},
		{"client IP affinity", dualStack(withSpec(affinity(&v1.SessionAffinityConfig{
			ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(77))}}))),
			func(p *ServicePort) { p.SessionAffinityClientIP, p.StickyMaxAgeSeconds = true, 77 },
			func(p *ServicePort) { p.SessionAffinityClientIP, p.StickyMaxAgeSeconds = true, 77 }},
		{"client IP affinity without a timeout", dualStack(withSpec(affinity(nil))),
			func(p *ServicePort) { p.SessionAffinityClientIP, p.StickyMaxAgeSeconds = true, 10800 },
			func(p *ServicePort) { p.SessionAffinityClientIP, p.StickyMaxAgeSeconds = true, 10800 }},
		{"external policy Local of a cluster-only service has no meaning", dualStack(withSpec(local)), nil, nil},
		{"external policy Local with a node port",
			dualStack(withSpec(local), withSpec(func(s *v1.ServiceSpec) { s.Type = v1.ServiceTypeNodePort; s.HealthCheckNodePort = 30999 })),
			func(p *ServicePort) { p.ExternalPolicyLocal = true }, func(p *ServicePort) { p.ExternalPolicyLocal = true }},
		{"external policy Local with an external IP of one family counts in both",
			dualStack(withSpec(local), withSpec(external("198.51.100.7"))),
			func(p *ServicePort) { p.ExternalPolicyLocal, p.ExternalIPs = true, addrs("198.51.100.7") },
			func(p *ServicePort) { p.ExternalPolicyLocal = true }},
		{"health check port of a load balancer with policy Local",
			dualStack(withSpec(lb), withSpec(local), withSpec(func(s *v1.ServiceSpec) { s.HealthCheckNodePort = 30999 })),
			func(p *ServicePort) { p.ExternalPolicyLocal, p.HealthCheckNodePort = true, 30999 },
			func(p *ServicePort) { p.ExternalPolicyLocal, p.HealthCheckNodePort = true, 30999 }},
		{"health check port of a load balancer with policy Cluster",
			dualStack(withSpec(lb), withSpec(func(s *v1.ServiceSpec) { s.HealthCheckNodePort = 30999 })), nil, nil},
		{"missing health check port", dualStack(withSpec(lb), withSpec(local)),
			func(p *ServicePort) { p.ExternalPolicyLocal = true }, func(p *ServicePort) { p.ExternalPolicyLocal = true }},
		{"internal policy Local", dualStack(withSpec(func(s *v1.ServiceSpec) {
			s.InternalTrafficPolicy = ptr.To(v1.ServiceInternalTrafficPolicyLocal)
		})), func(p *ServicePort) { p.InternalPolicyLocal = true }, func(p *ServicePort) { p.InternalPolicyLocal = true }},
		{"cluster IP with leading zeros", dualStack(withSpec(func(s *v1.ServiceSpec) {
			s.ClusterIP, s.ClusterIPs = "10.096.03.001", []string{"10.096.03.001", "fd00:96::31"}
		})), nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			requireOnePort(t, (&serviceReader{family: v1.IPv4Protocol}).read(c.service), "10.96.3.1", c.want4)
			requireOnePort(t, (&serviceReader{family: v1.IPv6Protocol}).read(c.service), "fd00:96::31", c.want6)
		})
	}
}

func requireOnePort(t *testing.T, got []*ServicePort, clusterIP string, edit func(*ServicePort)) {
	t.Helper()
	want := &ServicePort{Name: portName("web", "http", v1.ProtocolTCP), ClusterIP: netip.MustParseAddr(clusterIP), Port: 80}
	if edit != nil {
		edit(want)
	}
	require.Len(t, got, 1)
	assert.Equal(t, want, got[0])
}

func TestServiceThatIsNotServed(t *testing.T) {
	cases := []struct {
		name    string
		service *v1.Service
	}{
		{"no object", nil},
		{"headless", makeService("s", v1.ClusterIPNone, withPorts("p/TCP/80/0"))},
		{"no cluster IP yet", makeService("s", "", withPorts("p/TCP/80/0"))},
		{"external name with a cluster IP", makeService("s", "10.96.0.9", withPorts("p/TCP/80/0"),
			withSpec(func(s *v1.ServiceSpec) { s.Type = v1.ServiceTypeExternalName }))},
		{"another proxy's", makeService("s", "10.96.0.9", withPorts("p/TCP/80/0"),
			func(s *v1.Service) { s.Labels = map[string]string{LabelServiceProxyName: "mesh"} })},
		{"only the other family", makeService("s", "fd00:96::9", withPorts("p/TCP/80/0"))},
		{"cluster IP that is none", makeService("s", "10.96.0.999", withPorts("p/TCP/80/0"))},
		{"no ports", makeService("s", "10.96.0.9")},
		{"ports out of range", makeService("s", "10.96.0.9",
			withPorts("zero/TCP/0/0", "large/TCP/65536/0", "negative/TCP/-1/0", "node/TCP/80/70000"))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Empty(t, (&serviceReader{family: v1.IPv4Protocol}).read(c.service))
		})
	}
}

func TestPortsAreSortedAndNamedOnce(t *testing.T) {
	got := (&serviceReader{family: v1.IPv4Protocol}).read(makeService("dns", "10.96.0.10",
		withPorts("dns/UDP/53/0", "dns//53/0", "/SCTP/7/0", "dns/TCP/54/0")))
	require.Len(t, got, 3)
	assert.Equal(t, portName("dns", "", v1.ProtocolSCTP), got[0].Name)
	assert.Equal(t, portName("dns", "dns", v1.ProtocolTCP), got[1].Name)
	assert.EqualValues(t, 54, got[1].Port, "the later of two ports with one name stays; no protocol is TCP")
	assert.Equal(t, portName("dns", "dns", v1.ProtocolUDP), got[2].Name)
}

func TestServicePortNameString(t *testing.T) {
	assert.Equal(t, "shop/web:http", portName("web", "http", v1.ProtocolTCP).String())
	assert.Equal(t, "shop/web", portName("web", "", v1.ProtocolUDP).String())
}

// What cannot be used, or is of the other family, does not keep what comes after it.
func TestEntriesAfterOneThatCannotBeUsed(t *testing.T) {
	reader := serviceReader{family: v1.IPv4Protocol}
	ports := reader.read(makeService("web", "172.30.0.1", withPorts("http/TCP/80/0"), withSpec(func(spec *v1.ServiceSpec) {
		spec.ExternalIPs = []string{"", "nowhere", "fd00::1", "192.0.2.1"}
		spec.LoadBalancerSourceRanges = []string{"", "nowhere", "fd00::/64", "198.51.100.0/24"}
	})))
	requireOnePort(t, ports, "172.30.0.1", func(port *ServicePort) {
		port.ExternalIPs, port.SourceRanges = addrs("192.0.2.1"), prefixes("198.51.100.0/24")
	})
}

func TestPortNumbersAtTheBounds(t *testing.T) {
	reader := serviceReader{family: v1.IPv4Protocol}
	read := func(port, nodePort int32) int {
		return len(reader.read(makeService("web", "172.30.0.1", withSpec(func(spec *v1.ServiceSpec) {
			spec.Ports = []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: port, NodePort: nodePort}}
		}))))
	}
	assert.Equal(t, 1, read(65535, 65535))
	assert.Equal(t, 1, read(1, 0))
	assert.Zero(t, read(65536, 0))
	assert.Zero(t, read(80, 65536))
	assert.Zero(t, read(0, 0))
	assert.Zero(t, read(80, -1))
}
