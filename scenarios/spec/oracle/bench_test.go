package oracle_test

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// smallState has three nodes, two services and a machine outside.
func smallState() *oracle.Cluster {
	c := &oracle.Cluster{Underlay: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}}
	for i := 1; i <= 3; i++ {
		node := fmt.Sprintf("node%d", i)
		c.Nodes = append(c.Nodes, oracle.Node{
			Name: node, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 168, 0, byte(i + 1)})},
			PodCIDRs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), 0}), 24)},
			Config:   &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16"},
		})
		for j := 2; j <= 3; j++ {
			a := netip.AddrFrom4([4]byte{10, 244, byte(i), byte(j)})
			c.Pods = append(c.Pods, oracle.Pod{Name: a.String(), Node: node, Addresses: []netip.Addr{a}, Listen: []oracle.Listener{{}}})
		}
	}
	c.Machines = []oracle.Machine{{Name: "internet", Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.2")}}}
	for i := 1; i <= 2; i++ {
		name := fmt.Sprintf("svc%d", i)
		c.Services = append(c.Services, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, ClusterIP: fmt.Sprintf("172.30.0.%d", i),
				Ports: []corev1.ServicePort{{Port: 80, NodePort: int32(30000 + i), Protocol: corev1.ProtocolTCP}},
			},
		})
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32)}},
		}
		*slice.Ports[0].Port = 8080
		for n := 1; n <= 3; n++ {
			node := fmt.Sprintf("node%d", n)
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.244.%d.2", n)}, NodeName: &node})
		}
		c.Slices = append(c.Slices, slice)
	}
	return c
}

func BenchmarkNew(b *testing.B) {
	c := smallState()
	b.ReportAllocs()
	for b.Loop() {
		oracle.New(c)
	}
}

func BenchmarkAttempts(b *testing.B) {
	s := oracle.New(smallState())
	b.ReportAllocs()
	for b.Loop() {
		if len(s.Attempts()) == 0 {
			b.Fatal("none")
		}
	}
}

// BenchmarkJudge judges a connection to a cluster IP of three endpoints.
func BenchmarkJudge(b *testing.B) {
	s := oracle.New(smallState())
	client := netip.MustParseAddrPort("10.244.1.3:40000")
	a := oracle.Attempt{From: "10.244.1.3", Protocol: corev1.ProtocolTCP, To: netip.MustParseAddrPort("172.30.0.1:80")}
	var ways []oracle.Way
	for i := 1; i <= 3; i++ {
		pod := netip.AddrFrom4([4]byte{10, 244, byte(i), 2})
		ways = append(ways, oracle.Way{
			Probability: 1.0 / 3, End: oracle.Delivered, Host: pod.String(), Heard: true,
			Sender: client, Client: client, Server: netip.AddrPortFrom(pod, 8080),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := s.Judge(a, ways); len(v) != 0 {
			b.Fatal(v)
		}
	}
}
