package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ServicePort names a port of a service in one family.
type ServicePort struct {
	Service  types.NamespacedName
	Protocol corev1.Protocol
	// Name is the port's, empty if it has none.
	Name string
	IPv6 bool
}

// Contested says whether a service port has external addresses or a node port, and each of them is also that of another service port, as a
// node knows them. Either may get such packets (same-address-conflict), so it may be that none reach this one from there.
func (s *Spec) Contested(node string, name ServicePort) bool {
	at := s.place(node)
	if at < 0 {
		return false
	}
	services := s.known[at].spec.services
	for _, p := range services.ports {
		if p.service == name.Service && p.protocol == name.Protocol && p.name == name.Name && p.v6 == name.IPv6 {
			return services.contested(p)
		}
	}
	return false
}

func (s *services) contested(p *port) bool {
	external := 0
	for _, addresses := range [][]netip.Addr{p.externalIPs, p.balancers} {
		for _, a := range addresses {
			if !hasOther(s.places[place{netip.AddrPortFrom(a, p.number), protocolNumber(p.protocol)}], p) {
				return false
			}
			external++
		}
	}
	if p.nodePort != 0 {
		if !hasOther(s.nodePorts[portPlace{p.nodePort, protocolNumber(p.protocol), p.v6}], p) {
			return false
		}
		external++
	}
	return external > 0
}

// hasOther says whether a place is that of another port too.
func hasOther(all []served, p *port) bool {
	for i := range all {
		if all[i].port != p {
			return true
		}
	}
	return false
}
