package gen

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// numbers gives out addresses and node ports, as API servers and their neighbours do.
type numbers struct {
	mixture
	cluster  *cluster
	lastPort int32
	lastIP   int
}

// firstPort is a node port where the API server gives out all that there are.
const firstPort = 1

// next is a number for an address outside the cluster.
func (a *numbers) next() int {
	a.lastIP++
	return 20 + a.lastIP%200
}

// clusterIP allocates an address, or one again that a service had which is deleted.
func (a *numbers) clusterIP(family corev1.IPFamily) string {
	for _, s := range a.cluster.deleted {
		for i, ip := range s.Spec.ClusterIPs {
			if i < len(s.Spec.IPFamilies) && s.Spec.IPFamilies[i] == family && ip != corev1.ClusterIPNone && !a.cluster.taken(ip) && a.in(1, 2) {
				return ip
			}
		}
	}
	a.lastIP++
	ip := serviceIP(family, a.lastIP)
	if family == corev1.IPv4Protocol && a.has.Has(OddSpelling) && a.in(1, 3) {
		return odd(ip)
	}
	return ip
}

// freePort allocates a node port: a new one, or one again that a deleted service had.
func (a *numbers) freePort(own *corev1.Service) int32 {
	for _, s := range a.cluster.deleted {
		for _, p := range s.Spec.Ports {
			if p.NodePort > 0 && a.cluster.isFree(p.NodePort, own) && a.in(1, 2) {
				return p.NodePort
			}
		}
	}
	if a.has.Has(OddSpelling) && a.in(1, 6) && a.cluster.isFree(firstPort, own) && !servesFirstPort(own) &&
		!a.cluster.somebody(servesFirstPort) {
		return firstPort
	}
	a.lastPort++
	return a.lastPort
}

func serviceIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("fd00:30::%x", number)
	}
	return fmt.Sprintf("172.30.%d.%d", number/250, 1+number%250)
}

func externalIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:e::%x", number)
	}
	return fmt.Sprintf("198.51.100.%d", number)
}

func balancerIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:f::%x", number)
	}
	return fmt.Sprintf("203.0.113.%d", number)
}
