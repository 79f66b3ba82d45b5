package judge

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// TestGeneratedCasesAgree is a small part of what make peer does.
func TestGeneratedCasesAgree(t *testing.T) {
	klog.SetLogger(logr.Discard())
	report := NewReport()
	for number := range uint64(20) {
		differences, err := Run(cases.Generated(4711, number), report)
		require.NoError(t, err)
		if d := Unexplained(differences); d != nil {
			t.Fatalf("case %d: %s", number, d)
		}
	}
	assert.Equal(t, 20, report.Cases)
	assert.Greater(t, report.Syncs, 60)
	assert.Greater(t, report.Rules, 1000)
	assert.Greater(t, report.Packets, 1000)
	assert.Greater(t, report.Metrics, 400)
}

// saboteur is this project's proxier with something that spoils its kernel or its answers after each sync.
type saboteur struct {
	peers.Peer
	rules   [][]string // run with iptables
	sysctl  string
	metric  string
	noError bool
}

func (s *saboteur) Sync() map[v1.IPFamily]error {
	errs := s.Peer.Sync()
	for _, args := range s.rules {
		if message, err := s.Kernel().Exec().Command("iptables", args...).CombinedOutput(); err != nil {
			panic(string(message))
		}
	}
	if s.noError {
		clear(errs)
	}
	return errs
}

func (s *saboteur) Sysctls() map[string]int {
	values := s.Peer.Sysctls()
	if s.sysctl != "" {
		values[s.sysctl] = 7
	}
	return values
}

func (s *saboteur) Metrics(family v1.IPFamily) map[string]float64 {
	values := s.Peer.Metrics(family)
	if s.metric != "" {
		values[s.metric]++
	}
	return values
}

// plainCase is a service of two endpoints with a node port and affinity.
func plainCase(more ...cases.Action) *cases.Case {
	service := &v1.Service{Spec: v1.ServiceSpec{
		Type: v1.ServiceTypeNodePort, ClusterIP: "172.30.0.1", ClusterIPs: []string{"172.30.0.1"},
		IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
		Ports:      []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}},
	}}
	service.Namespace, service.Name = "default", "web"
	slice := &discovery.EndpointSlice{
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: ptr.To(""), Port: ptr.To[int32](8080), Protocol: ptr.To(v1.ProtocolTCP)}},
		Endpoints:   []discovery.Endpoint{{Addresses: []string{"10.244.1.2"}}, {Addresses: []string{"10.244.2.2"}}},
	}
	slice.Namespace, slice.Name, slice.Labels = "default", "web-1", map[string]string{discovery.LabelServiceName: "web"}
	c := &cases.Case{
		Settings: cases.Settings{Dialect: "legacy", Detect: "cidr", MasqueradeBit: 14, Accounting: "present"},
		Steps:    []cases.Step{{Service: service}, {Slice: slice}},
	}
	for _, action := range append(more, cases.Sync) {
		c.Steps = append(c.Steps, cases.Step{Do: action})
	}
	return c
}

func TestSabotageIsFound(t *testing.T) {
	nat := func(args ...string) []string { return append([]string{"-t", "nat"}, args...) }
	for name, test := range map[string]struct {
		saboteur saboteur
		kinds    []string
		before   []cases.Action
	}{
		"nothing":                  {},
		"a chain that is too many": {saboteur{rules: [][]string{nat("-N", "KUBE-SVC-X")}}, []string{"rules"}, nil},
		"a rule that is missing":   {saboteur{rules: [][]string{nat("-D", "KUBE-MARK-MASQ", "1")}}, []string{"rules", "packets"}, nil},
		"a hook that is missing":   {saboteur{rules: [][]string{nat("-D", "PREROUTING", "1")}}, []string{"rules", "packets"}, nil},
		"a service out of reach": {saboteur{rules: [][]string{nat("-I", "KUBE-SERVICES", "-d", "172.30.0.1", "-j", "RETURN")}},
			[]string{"rules", "packets"}, nil},
		"hooks in another order": {saboteur{rules: [][]string{{"-A", "INPUT", "-j", "KUBE-FIREWALL"}, {"-D", "INPUT", "-j",
			"KUBE-FIREWALL"}}}, []string{"rules"}, nil},
		"a setting of the kernel":   {saboteur{sysctl: "net/ipv4/conf/all/route_localnet"}, []string{"sysctls", "packets"}, nil},
		"a metric":                  {saboteur{metric: "kubeproxy_sync_proxy_rules_iptables_total{table=nat}"}, []string{"metrics"}, nil},
		"an error that is not told": {saboteur{noError: true}, []string{"errors"}, []cases.Action{cases.Fail}},
		"node ports before a service": {saboteur{rules: [][]string{
			nat("-I", "KUBE-SERVICES", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "KUBE-NODEPORTS"),
		}}, []string{"rules"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := plainCase(test.before...)
			r, err := start(c, NewReport())
			require.NoError(t, err)
			test.saboteur.Peer = r.ours.Peer
			r.ours.Peer = &test.saboteur
			kinds := map[string]bool{}
			for i := range c.Steps {
				for _, d := range r.take(&c.Steps[i]) {
					assert.Empty(t, d.Explanation, d)
					kinds[d.Kind] = true
				}
			}
			for _, kind := range test.kinds {
				assert.True(t, kinds[kind], "no difference of kind %s", kind)
			}
			assert.Equal(t, len(test.kinds) == 0, len(kinds) == 0, kinds)
		})
	}
}

func TestOrderSharedKeepsTheOrderInsideAService(t *testing.T) {
	loopback := `-A KUBE-NODEPORTS -d 127.0.0.0/8 -m comment --comment "b/x:http" -j KUBE-EXT-B`
	plain := `-A KUBE-NODEPORTS -m comment --comment "b/x:http" -j KUBE-EXT-B`
	other := `-A KUBE-NODEPORTS -m comment --comment "a/x" -j KUBE-EXT-A`
	inOrder := func(lines ...string) (out []string) {
		save := "*nat\n:KUBE-NODEPORTS - [0:0]\n:KUBE-EXT-A - [0:0]\n:KUBE-EXT-B - [0:0]\n" + strings.Join(lines, "\n") + "\nCOMMIT\n"
		rules, err := fakekernel.ReadSave("rules", save, netfilter.IPv4, netfilter.Legacy)
		require.NoError(t, err)
		for _, r := range rulesOf(rules, false)["nat KUBE-NODEPORTS"] {
			out = append(out, r.text)
		}
		return out
	}
	assert.Equal(t, []string{other, loopback, plain}, inOrder(loopback, plain, other))
	assert.Equal(t, []string{other, plain, loopback}, inOrder(other, plain, loopback))
}

func TestExplanationsAreShownByTheirCases(t *testing.T) {
	klog.SetLogger(logr.Discard())
	for _, mode := range []cases.Mode{"", cases.NFTables} {
		for _, e := range Explanations(mode) {
			if mode == cases.NFTables && !e.native {
				continue // cmd/peer shows them in this mode
			}
			t.Run(string(mode)+e.Name, func(t *testing.T) {
				c, err := cases.ReadIn(mode, "../testdata/"+e.Case)
				require.NoError(t, err)
				differences, err := e.Show(c, NewReport())
				require.NoError(t, err)
				require.True(t, Shown(e.Name, differences))
				for _, d := range differences {
					assert.True(t, d.Explanation == e.Name || e.Allows(d.Explanation), d)
				}
			})
		}
	}
}

// Which of two services an address belongs to is chance, whatever is different for another reason.
func TestAContestedAddressIsExplainedWithOldToolsToo(t *testing.T) {
	c := plainCase()
	c.Settings.NoRandomFully = true
	c.Steps[0].Service.Spec.ExternalIPs = []string{"198.51.100.1"}
	second, slice := c.Steps[0].Service.DeepCopy(), c.Steps[1].Slice.DeepCopy()
	second.Name, second.Spec.ClusterIP, second.Spec.ClusterIPs, second.Spec.Ports[0].NodePort = "dns", "172.30.0.2", []string{"172.30.0.2"},
		30081
	slice.Name, slice.Labels, slice.Endpoints = "dns-1", map[string]string{discovery.LabelServiceName: "dns"}, slice.Endpoints[:1]
	c.Steps = slices.Insert(c.Steps, 2, cases.Step{Service: second}, cases.Step{Slice: slice})
	packets := 0
	for tries := 0; packets == 0 && tries < chanceTries; tries++ {
		differences, err := Run(c, NewReport())
		require.NoError(t, err)
		require.Nil(t, Unexplained(differences))
		for _, d := range differences {
			if d.Explanation == "contested" {
				packets++
			}
		}
	}
	require.Positive(t, packets)
}

// TestServicesOfBeforeDualStackAreCalledInTheirFamily, which they do not name.
func TestServicesOfBeforeDualStackAreCalledInTheirFamily(t *testing.T) {
	service := &v1.Service{Spec: v1.ServiceSpec{
		ClusterIP: "FD00:30:0::0E", ClusterIPs: []string{"FD00:30:0::0E"}, Ports: []v1.ServicePort{{Port: 53, Protocol: v1.ProtocolUDP}},
	}}
	require.NotEmpty(t, frontendsOf(service, &service.Spec.Ports[0], v1.IPv6Protocol))
	require.Empty(t, frontendsOf(service, &service.Spec.Ports[0], v1.IPv4Protocol))
}

// TestAddressesOfModeProxyAreNoServices, as what is sent there goes to the balancer.
func TestAddressesOfModeProxyAreNoServices(t *testing.T) {
	service := plainCase().Steps[0].Service
	service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{
		{IP: "203.0.113.1"}, {IP: "203.0.113.2", IPMode: ptr.To(v1.LoadBalancerIPModeVIP)},
		{IP: "203.0.113.3", IPMode: ptr.To(v1.LoadBalancerIPModeProxy)},
	}
	port, c := &service.Spec.Ports[0], claims{}
	c.addPort(service, port, v1.IPv4Protocol)
	for i, want := range []int{1, 1, 0} {
		at := destination{inet.TCP, netip.AddrFrom4([4]byte{203, 0, 113, byte(i + 1)}), 80}
		claimed, known := c[at]
		assert.True(t, known, at)
		assert.Equal(t, want, claimed, at)
	}
	assert.Equal(t, []netip.AddrPort{netip.MustParseAddrPort("203.0.113.3:80")}, balancersOf(service, port, v1.IPv4Protocol))
}

func TestAffinityIsFollowed(t *testing.T) {
	c := plainCase()
	spec := &c.Steps[0].Service.Spec
	spec.SessionAffinity = v1.ServiceAffinityClientIP
	spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](10800)}}
	r, err := start(c, NewReport())
	require.NoError(t, err)
	for i := range c.Steps {
		require.Empty(t, r.take(&c.Steps[i]))
	}
	packets, differences, err := r.compareAffinity(v1.IPv4Protocol)
	require.NoError(t, err)
	assert.Positive(t, packets)
	assert.Empty(t, differences)

	// Without the rule that looks for former clients of one endpoint, some go elsewhere.
	_, err = r.ours.Kernel().Exec().Command("iptables", "-t", "nat", "-D", serviceChain(t, r), "2").CombinedOutput()
	require.NoError(t, err)
	_, differences, err = r.compareAffinity(v1.IPv4Protocol)
	require.NoError(t, err)
	assert.NotEmpty(t, differences)
}

// serviceChain is the chain of the only service's cluster policy.
func serviceChain(t *testing.T, r *run) string {
	rules := r.ours.Kernel().Rules(netfilter.IPv4)
	for chain := range rules.Table("nat").Chains() {
		if strings.HasPrefix(chain.Name, "KUBE-SVC-") {
			return chain.Name
		}
	}
	t.Fatal("no chain of a service")
	return ""
}
