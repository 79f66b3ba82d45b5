//go:build linux

package proxier_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/exec"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// sysctls stand for a machine that has no sysctl and takes all.
type sysctls map[string]int

func (s sysctls) Get(name string) (int, error)     { return s[name], nil }
func (s sysctls) Set(name string, value int) error { s[name] = value; return nil }

// others are rules of the kubelet, a network plugin and an administrator, and a hook of kube-proxy before 1.20.
const others = `*nat
:KUBE-MARK-DROP - [0:0]
:plugin - [0:0]
-A KUBE-MARK-DROP -j MARK --or-mark 0x8000
-A OUTPUT -m comment --comment "plugin -j KUBE-SERVICES" -j plugin
-A plugin -p tcp -m tcp --dport 99 -j REDIRECT --to-ports 98
COMMIT
*filter
:INPUT DROP [0:0]
:KUBE-FIREWALL - [0:0]
-A INPUT -j KUBE-FIREWALL
-A OUTPUT -j KUBE-FIREWALL
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
`

const oldHook = `*filter
:KUBE-SERVICES - [0:0]
-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
COMMIT
`

func TestKernelLeftovers(t *testing.T) {
	for _, variant := range []string{"legacy", "nft"} {
		for _, protocol := range []iptables.Protocol{iptables.ProtocolIPv4, iptables.ProtocolIPv6} {
			t.Run(variant+" "+string(protocol), func(t *testing.T) {
				names := iptables.ToolsOf(protocol, variant)
				ns := kerneltest.Enter(t, names.Restore, names.Save)
				tools, err := iptables.New(exec.New(), protocol, iptables.Options{Tools: map[iptables.Protocol]iptables.Tools{protocol: names}})
				require.NoError(t, err)
				ns.Feed(others, names.Restore, "--noflush")
				saved := func() string { return rules(ns.Must(names.Save)) }
				before := saved()

				syncOnce(t, tools)
				ns.Feed(oldHook, names.Restore, "--noflush")
				for _, chain := range []string{"KUBE-SVC-", "KUBE-EXT-", "KUBE-SEP-", "KUBE-PROXY-CANARY", "KUBE-POSTROUTING"} {
					require.Contains(t, saved(), chain)
				}
				for round := range 2 {
					assert.False(t, proxier.Cleanup(klog.Background(), proxier.IPTables{Tools: tools}))
					assert.Equal(t, before, saved(), "round %d", round)
				}
			})
		}
	}
}

// rules are the chains and rules of others and of the proxier, but for what both the proxier and the kubelet put into
// KUBE-FIREWALL.
func rules(saved string) string {
	var kept strings.Builder
	for line := range strings.Lines(saved) {
		rule := strings.HasPrefix(line, "-A ") && !strings.HasPrefix(line, "-A KUBE-FIREWALL ")
		if rule || strings.HasPrefix(line, ":") && strings.Contains(line, " - ") || strings.HasPrefix(line, ":INPUT DROP") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// syncOnce writes the rules of a service of every kind.
func syncOnce(t *testing.T, tools iptables.Interface) {
	family, addressType := v1.IPv4Protocol, discovery.AddressTypeIPv4
	clusterIP, vip, endpoint, node := "172.30.0.41", "1.2.3.4", "10.244.1.2", "192.168.0.2"
	if tools.IsIPv6() {
		family, addressType = v1.IPv6Protocol, discovery.AddressTypeIPv6
		clusterIP, vip, endpoint, node = "fd00:172:30::41", "2001:db8:1::4", "fd00:10:244::2", "2001:db8::1"
	}
	p, err := proxier.New(proxier.Config{Family: family, NodeName: "node1", NodeIP: netip.MustParseAddr(node),
		Rules: proxier.IPTables{Tools: tools}, Sysctls: sysctls{}, MasqueradeBit: 14, LocalhostNodePorts: family == v1.IPv4Protocol})
	require.NoError(t, err)
	p.OnServiceAdd(&v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, ClusterIP: clusterIP, ClusterIPs: []string{clusterIP},
			IPFamilies: []v1.IPFamily{family}, SessionAffinity: v1.ServiceAffinityClientIP,
			SessionAffinityConfig: &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](10800)}},
			Ports:                 []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
		Status: v1.ServiceStatus{LoadBalancer: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{
			{IP: vip, IPMode: ptr.To(v1.LoadBalancerIPModeVIP)},
		}}},
	})
	p.OnEndpointSliceAdd(&discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-1", Namespace: "default", Labels: map[string]string{discovery.LabelServiceName: "web"}},
		AddressType: addressType,
		Ports:       []discovery.EndpointPort{{Port: ptr.To[int32](8080), Protocol: ptr.To(v1.ProtocolTCP), Name: ptr.To("")}},
		Endpoints:   []discovery.Endpoint{{Addresses: []string{endpoint}, Conditions: discovery.EndpointConditions{Ready: ptr.To(true)}}},
	})
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.EnsureCanaries())
	require.NoError(t, p.Sync())
}
