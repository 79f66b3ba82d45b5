package live

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	labs "github.com/chainwalk/chainwalk/scenarios/world/lab"
)

// Place puts the pods that run on a node, and who else has an address, behind the ports of the node's bridges. Pods have their namespace
// in the name, and the other one its address for a name.
func (c *Cluster) Place(taken *snapshot.NodeSnapshot, other netip.Addr) *labs.Attached {
	var pods []scenarios.Pod
	known := !other.IsValid()
	for _, pod := range c.pods() {
		if pod.Spec.NodeName != taken.Hostname || pod.Spec.HostNetwork || hasEnded(pod) {
			continue
		}
		placed := scenarios.Pod{Name: pod.Namespace + "/" + pod.Name, Addresses: addressesOf(pod)}
		known = known || slices.Contains(placed.Addresses, other)
		pods = append(pods, placed)
	}
	if !known {
		pods = append(pods, scenarios.Pod{Name: other.String(), Addresses: []netip.Addr{other}})
	}
	return labs.Place(taken, pods)
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// addressesOf are a pod's addresses, of both families.
func addressesOf(pod *corev1.Pod) []netip.Addr {
	texts := []string{pod.Status.PodIP}
	for _, ip := range pod.Status.PodIPs {
		texts = append(texts, ip.IP)
	}
	var out []netip.Addr
	for _, text := range texts {
		if a, ok := parse(text); ok && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
