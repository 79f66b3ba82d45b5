package model

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestTraffic(t *testing.T) {
	nodePort := changes.ServicePort{NodePort: 30000}
	eTPLocal := changes.ServicePort{NodePort: 30000, ExternalPolicyLocal: true}
	iTPLocal := changes.ServicePort{NodePort: 30000, InternalPolicyLocal: true}
	tests := []struct {
		name      string
		port      changes.ServicePort
		endpoints string
		internal  string
		external  string
		enters    bool
	}{
		{"endpoints anywhere serve policy Cluster", nodePort, "1:ready", "route cluster", "route cluster", true},
		{"no endpoint: reject all", nodePort, "", "reject cluster", "reject cluster", false},
		{"no usable endpoint: reject all", eTPLocal, "1:starting 2:gone,local", "reject cluster", "reject local", false},
		{"external Local without a local endpoint: drop, but pods and the node are routed", eTPLocal, "1:ready",
			"route cluster", "drop local", true},
		{"external Local with a local endpoint", eTPLocal, "1:ready,local", "route cluster", "route local", true},
		{"internal Local without a local endpoint: drop", iTPLocal, "1:ready", "drop local", "route cluster", true},
		{"internal Local with a draining local endpoint", iTPLocal, "1:draining,local 2:ready", "route local", "route cluster", true},
		{"internal service has no external traffic", changes.ServicePort{}, "1:ready", "route cluster", "route cluster", false},
	}
	text := func(traffic Traffic) string {
		policy := "cluster"
		if traffic.Local {
			policy = "local"
		}
		return traffic.Handling.String() + " " + policy
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := DecideService(&test.port, endpointsOf(test.endpoints), Node{Name: "here"})
			assert.Equal(t, test.internal, text(service.Internal))
			assert.Equal(t, test.external, text(service.External))
			assert.Equal(t, test.enters, service.EntersExternal)
		})
	}
}

func TestFirewall(t *testing.T) {
	vips := addrs("1.2.3.4", "5.6.7.8")
	ranges := prefixes("192.168.0.0/24", "203.0.113.0/25")
	tests := []struct {
		name   string
		port   changes.ServicePort
		nodeIP string
		want   *Firewall
	}{
		{"no source ranges", changes.ServicePort{LoadBalancerVIPs: vips}, "192.168.0.2", nil},
		{"no VIP yet", changes.ServicePort{NodePort: 30000, SourceRanges: ranges}, "192.168.0.2", nil},
		{"node not in a range", changes.ServicePort{LoadBalancerVIPs: vips, SourceRanges: ranges}, "192.168.1.2",
			&Firewall{Sources: ranges}},
		{"node in a range: the VIPs are allowed as sources", changes.ServicePort{LoadBalancerVIPs: vips, SourceRanges: ranges}, "192.168.0.2",
			&Firewall{Sources: ranges, VIPs: vips}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := Node{Name: "here", IP: netip.MustParseAddr(test.nodeIP)}
			assert.Equal(t, test.want, DecideService(&test.port, endpointsOf("1:ready"), node).Firewall)
			assert.Nil(t, DecideService(&test.port, nil, node).Firewall, "nothing to guard without endpoints")
		})
	}
}

func TestNodePorts(t *testing.T) {
	host := addrs("127.0.0.1", "192.168.0.2", "192.168.1.2", "::1", "2001:db8::1", "fe80::1%eth0", "192.168.0.2")
	tests := []struct {
		name      string
		family    v1.IPFamily
		localhost bool
		prefixes  []netip.Prefix
		want      string
		serves    bool
	}{
		{"IPv4 everywhere with localhost", v1.IPv4Protocol, true, nil, "all", true},
		{"IPv4 everywhere without localhost", v1.IPv4Protocol, false, nil, "all but 127.0.0.0/8", false},
		{"IPv4 zero prefix is everywhere", v1.IPv4Protocol, true, prefixes("192.168.0.0/24", "0.0.0.0/0"), "all", true},
		{"IPv4 zero prefix that comes first is everywhere", v1.IPv4Protocol, true, prefixes("0.0.0.0/0", "192.168.0.0/24"), "all", true},
		{"IPv4 zero prefix without localhost", v1.IPv4Protocol, false, prefixes("0.0.0.0/0"), "all but 127.0.0.0/8", false},
		{"IPv4 prefixes without loopback turn localhost off", v1.IPv4Protocol, true, prefixes("192.168.0.0/24"), "[192.168.0.2]", false},
		{"IPv4 several prefixes without loopback", v1.IPv4Protocol, true, prefixes("192.168.0.0/24", "192.168.1.2/32"),
			"[192.168.0.2 192.168.1.2]", false},
		{"IPv4 prefixes with loopback", v1.IPv4Protocol, true, prefixes("127.0.0.0/8", "192.168.1.0/24"), "[127.0.0.1 192.168.1.2]", true},
		{"IPv4 one loopback address", v1.IPv4Protocol, true, prefixes("127.0.0.1/32"), "[127.0.0.1]", true},
		{"IPv4 prefix around loopback", v1.IPv4Protocol, true, prefixes("126.0.0.0/7"), "[127.0.0.1]", true},
		{"IPv4 loopback prefix that no address is in", v1.IPv4Protocol, true, prefixes("127.5.0.0/16"), "[]", true},
		{"IPv4 loopback prefix but localhost off", v1.IPv4Protocol, false, prefixes("127.0.0.0/8", "192.168.1.0/24"), "[192.168.1.2]", false},
		{"IPv4 prefix that no address is in", v1.IPv4Protocol, true, prefixes("10.0.0.0/8"), "[]", false},
		{"IPv6 everywhere never serves localhost", v1.IPv6Protocol, true, nil, "all but ::1/128", false},
		{"IPv6 zero prefix is everywhere", v1.IPv6Protocol, true, prefixes("::/0"), "all but ::1/128", false},
		{"IPv6 zero prefix among others", v1.IPv6Protocol, false, prefixes("::/0", "2001:db8::/64"), "all but ::1/128", false},
		{"IPv6 prefixes never serve localhost", v1.IPv6Protocol, true, prefixes("::1/128", "2001:db8::/64"), "[2001:db8::1]", false},
		{"IPv6 link-local address loses its zone", v1.IPv6Protocol, false, prefixes("fe80::/10"), "[fe80::1]", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := Config{Family: test.family, LocalhostNodePorts: test.localhost, NodePortPrefixes: test.prefixes}
			m := Decide(config, nil, nil, Node{Addresses: host})
			got := fmt.Sprint(m.NodePorts.Addresses)
			if m.NodePorts.All {
				got = "all"
			}
			if m.NodePorts.Except.IsValid() {
				got += " but " + m.NodePorts.Except.String()
			}
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.serves, m.Localhost)
		})
	}
}

func TestMasquerade(t *testing.T) {
	pods := LocalTraffic{Source: netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name   string
		config Config
		want   Masquerade
	}{
		{"pods are recognised: the rest is masqueraded", Config{LocalTraffic: pods}, MasqueradeNotLocal},
		{"pods come in on a bridge", Config{LocalTraffic: LocalTraffic{Interface: "cni0"}}, MasqueradeNotLocal},
		{"pods come in on devices with a prefix", Config{LocalTraffic: LocalTraffic{InterfacePrefix: "veth"}}, MasqueradeNotLocal},
		{"pods are not recognised: nothing is masqueraded", Config{}, MasqueradeNone},
		{"masqueradeAll", Config{LocalTraffic: pods, MasqueradeAll: true}, MasqueradeEverything},
		{"masqueradeAll, pods are not recognised", Config{MasqueradeAll: true}, MasqueradeEverything},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, Decide(test.config, nil, nil, Node{}).ClusterIPs)
		})
	}
}

func TestInvalidPacketsPassIfConntrackIsLiberal(t *testing.T) {
	assert.True(t, Decide(Config{}, nil, nil, Node{}).DropInvalid)
	assert.False(t, Decide(Config{TCPLiberal: true}, nil, nil, Node{}).DropInvalid)
}

func TestServicesAreSorted(t *testing.T) {
	services := changes.Services{}
	for _, name := range []changes.ServicePortName{
		{NamespacedName: types.NamespacedName{Namespace: "b", Name: "a"}, Protocol: v1.ProtocolTCP},
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}, Protocol: v1.ProtocolUDP},
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}, Protocol: v1.ProtocolTCP},
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "a"}, Port: "q", Protocol: v1.ProtocolTCP},
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "a"}, Port: "p", Protocol: v1.ProtocolTCP},
	} {
		services[name] = &changes.ServicePort{Name: name}
	}
	var got []string
	m := Decide(Config{}, services, nil, Node{})
	require.Len(t, m.Services, 5)
	for i := range m.Services {
		name := m.Services[i].Port.Name
		got = append(got, name.String()+"/"+string(name.Protocol))
	}
	assert.Equal(t, []string{"a/a:p/TCP", "a/a:q/TCP", "a/b/TCP", "a/b/UDP", "b/a/TCP"}, got)
}

func TestNodePortsAreEqualInEveryField(t *testing.T) {
	one := NodePorts{All: true, Except: loopbackPrefix(v1.IPv4Protocol)}
	same := one
	assert.True(t, one.Equal(same))
	for _, other := range []NodePorts{
		{Except: one.Except}, {All: true}, {All: true, Except: one.Except, Addresses: addrs("192.168.0.2")}, {},
		{All: true, Addresses: addrs("192.168.0.2")},
	} {
		assert.False(t, one.Equal(other), other)
		assert.False(t, other.Equal(one), other)
	}
}
