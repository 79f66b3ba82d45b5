package peers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServicesInOrder has two orders of the same services come to the same rules, with the jumps to node ports last: one for each address
// of the node, which come out of a Go map too.
func TestServicesInOrder(t *testing.T) {
	const (
		head = "*nat\n:KUBE-SERVICES - [0:0]\n"
		a    = "-A KUBE-SERVICES -m comment --comment \"default/a cluster IP\" -m tcp -p tcp -d 10.0.0.1 -j KUBE-SVC-A\n"
		b    = "-A KUBE-SERVICES -m comment --comment \"default/b cluster IP\" -m tcp -p tcp -d 10.0.0.1 -j KUBE-SVC-B\n"
		own  = "-A KUBE-SVC-A -j KUBE-SEP-A\n"
		to1  = "-A KUBE-SERVICES -m comment --comment \"NOTE: this must be the last rule in this chain\" -d 192.0.2.1 -j KUBE-NODEPORTS\n"
		to2  = "-A KUBE-SERVICES -m comment --comment \"NOTE: this must be the last rule in this chain\" -d 192.0.2.2 -j KUBE-NODEPORTS\n"
		end  = "COMMIT\n"
	)
	want := head + a + own + b + to1 + to2 + end
	assert.Equal(t, want, string(inOrder([]byte(want))))
	assert.Equal(t, want, string(inOrder([]byte(head+b+own+a+to2+to1+end))))
}

// TestAddressesOnce has an address and port that several services claim be lost by all but one: the one that has it as its cluster IP, or
// the first by name, also if that comes last. Services that are not followed claim nothing.
func TestAddressesOnce(t *testing.T) {
	service := func(name, clusterIP string, port int32, externalIPs ...string) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"own": "kept"}},
			Spec: v1.ServiceSpec{
				ClusterIP: clusterIP, ClusterIPs: []string{clusterIP}, ExternalIPs: externalIPs,
				Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: port}, {Protocol: v1.ProtocolUDP, Port: 53}},
			},
		}
	}
	lost := map[string]string{}
	var services mendedServices
	change := func(before, after *v1.Service) (changed []string) {
		for _, c := range services.change(before, after) {
			if c[1] == nil {
				delete(lost, c[0].Name)
				changed = append(changed, "-"+c[0].Name)
				continue
			}
			assert.Equal(t, "kept", c[1].Annotations["own"])
			lost[c[1].Name] = c[1].Annotations[lostAnnotation]
			changed = append(changed, c[1].Name)
		}
		return changed
	}
	b, a := service("b", "10.0.0.2", 80, "192.0.2.1", "192.0.2.2"), service("a", "10.0.0.1", 80, "192.0.2.1")
	assert.Equal(t, []string{"b"}, change(nil, b))
	assert.Equal(t, map[string]string{"b": ""}, lost)
	assert.Equal(t, []string{"a", "b"}, change(nil, a))
	assert.Equal(t, map[string]string{"a": "", "b": "192.0.2.1/TCP/80,192.0.2.1/UDP/53"}, lost)
	other := service("a", "10.0.0.1", 81, "192.0.2.1")
	assert.Equal(t, []string{"a", "b"}, change(a, other), "another port")
	assert.Equal(t, "192.0.2.1/UDP/53", lost["b"])
	c := service("c", "192.0.2.2", 80)
	assert.Equal(t, []string{"b", "c"}, change(nil, c))
	assert.Equal(t, "192.0.2.1/UDP/53,192.0.2.2/TCP/80,192.0.2.2/UDP/53", lost["b"])
	headless := service("c", v1.ClusterIPNone, 80, "192.0.2.1")
	headless.Spec.ClusterIPs = []string{"192.0.2.2"}
	assert.Equal(t, []string{"b", "c"}, change(c, headless))
	assert.Equal(t, map[string]string{"a": "", "b": "192.0.2.1/UDP/53", "c": ""}, lost)
	assert.Equal(t, []string{"-b"}, change(b, nil))
	assert.Equal(t, []string{"a"}, change(other, a))

	own := service("own", "192.0.2.9", 80, "192.0.2.9", "192.0.2.9")
	own.Spec.Type = v1.ServiceTypeLoadBalancer
	own.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{
		{IP: "192.0.2.9"}, {IP: "192.0.2.1"}, {Hostname: "web.example"}, {IP: "192.0.2.1", IPMode: new(v1.LoadBalancerIPModeProxy)},
	}
	services = mendedServices{}
	change(nil, a)
	change(nil, own)
	assert.Equal(t, map[string]string{"a": "", "c": "", "own": "192.0.2.1/TCP/80,192.0.2.1/UDP/53"}, lost)
}

// TestHairpinsAreAddedOnce has the elements of endpoints that no slice places added to a transaction that writes everything, and to another
// one if they are new or if it takes them away: more would be costs of the mend.
func TestHairpinsAreAddedOnce(t *testing.T) {
	const (
		set   = "ip kube-proxy hairpin-connections"
		a     = "10.244.1.10 . 10.244.1.10 . tcp . 80"
		b     = "10.244.1.11 . 10.244.1.11 . tcp . 80"
		addA  = "add element " + set + " { " + a + " }\n"
		addB  = "add element " + set + " { " + b + " }\n"
		takeA = "delete element " + set + " { " + a + " }\n"
		full  = "add set " + set + " { type ipv4_addr ; }\n"
		chain = "add chain ip kube-proxy services\n"
	)
	for _, row := range []struct {
		name, input string
		was, there  []string
		want        string
	}{
		{"the first", full, nil, []string{a}, full + addA},
		{"known", chain, []string{a}, []string{a}, chain},
		{"one more", chain, []string{a}, []string{a, b}, chain + addB},
		{"written in full", full, []string{a}, []string{a, b}, full + addA + addB},
		{"taken away", chain + takeA, []string{a}, []string{a}, chain + takeA + addA},
		{"gone", chain, []string{a, b}, []string{b}, chain + addA + takeA},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &mendedNFT{mends: MendsOf(HairpinOfUnplaced), family: v1.IPv4Protocol, hairpins: row.was}
			assert.Equal(t, row.want, string(p.mended([]byte(row.input), row.there)))
		})
	}
}
