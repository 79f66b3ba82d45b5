package oracle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestContested(t *testing.T) {
	service := func(name, clusterIP string, nodePort int32, externalIPs ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{
			ClusterIP: clusterIP, ClusterIPs: []string{clusterIP}, ExternalIPs: externalIPs,
			Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: nodePort}},
		}}
	}
	spec := New(&Cluster{Nodes: []Node{{Name: "node1"}}, Services: []*corev1.Service{
		service("shares", "172.30.0.1", 0, "198.51.100.1"),
		service("too", "172.30.0.2", 0, "198.51.100.1", "198.51.100.2"),
		service("port", "172.30.0.3", 30001, "198.51.100.2"),
		service("takes", "172.30.0.4", 0, "172.30.0.1"),
		service("none", "172.30.0.5", 0),
	}})
	for name, want := range map[string]bool{
		"shares": true,  // the other one has it too
		"too":    true,  // each of the two
		"port":   false, // it has a node port
		"takes":  true,  // it is a cluster IP
		"none":   false, // it has no external address
		"absent": false,
	} {
		port := ServicePort{Service: types.NamespacedName{Namespace: "shop", Name: name}, Protocol: corev1.ProtocolTCP}
		assert.Equal(t, want, spec.Contested("node1", port), name)
		assert.False(t, spec.Contested("elsewhere", port), name)
		port.IPv6 = true
		assert.False(t, spec.Contested("node1", port), name)
	}
}
