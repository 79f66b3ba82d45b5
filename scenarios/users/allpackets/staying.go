package allpackets

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// staying are the services whose traffic stays on a node or in a zone, so that nodes treat it otherwise on purpose.
type staying struct {
	services []string
	// to are the packets to their addresses, and ports those to their node ports.
	to, ports []forall.Packets
}

func stayingOf(objects []manifest.Object, family netfilter.Family) (out staying) {
	hinted := map[string]bool{}
	for _, slice := range manifest.Of[*discoveryv1.EndpointSlice](objects) {
		if slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Hints != nil }) {
			hinted[slice.Namespace+"/"+slice.Labels[discoveryv1.LabelServiceName]] = true
		}
	}
	for _, s := range manifest.Of[*corev1.Service](objects) {
		name := s.Namespace + "/" + s.Name
		zonal := hinted[name] || s.Spec.TrafficDistribution != nil
		within := zonal || s.Spec.InternalTrafficPolicy != nil && *s.Spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
		from := zonal || s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
		if !within && !from {
			continue
		}
		out.services = append(out.services, name)
		if within {
			out.add(s, family, append(slices.Clone(s.Spec.ClusterIPs), s.Spec.ClusterIP)...)
		}
		if from {
			out.addExternal(s, family)
		}
	}
	slices.Sort(out.services)
	return out
}

// addExternal adds the packets that come to a service from outside.
func (s *staying) addExternal(service *corev1.Service, family netfilter.Family) {
	addresses := slices.Clone(service.Spec.ExternalIPs)
	for i := range service.Status.LoadBalancer.Ingress {
		addresses = append(addresses, service.Status.LoadBalancer.Ingress[i].IP)
	}
	s.add(service, family, addresses...)
	for i := range service.Spec.Ports {
		if p := &service.Spec.Ports[i]; p.NodePort != 0 {
			s.ports = append(s.ports, forall.Packets{Proto: protoOf(p.Protocol), DstPort: uint16(p.NodePort)})
		}
	}
}

// add adds the packets to the ports of a service at addresses.
func (s *staying) add(service *corev1.Service, family netfilter.Family, addresses ...string) {
	slices.Sort(addresses)
	for _, text := range slices.Compact(addresses) {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Is6() != (family == netfilter.IPv6) {
			continue
		}
		for i := range service.Spec.Ports {
			p := &service.Spec.Ports[i]
			s.to = append(s.to, forall.Packets{Dst: netip.PrefixFrom(a, a.BitLen()), Proto: protoOf(p.Protocol), DstPort: uint16(p.Port)})
		}
	}
}

func protoOf(p corev1.Protocol) uint8 {
	switch p {
	case corev1.ProtocolUDP:
		return uint8(inet.UDP)
	case corev1.ProtocolSCTP:
		return uint8(inet.SCTP)
	}
	return uint8(inet.TCP)
}

// without are the packets to leave out of those to addresses that nodes share, and to those that none has.
func (s *staying) without(shared []netip.Prefix) []forall.Packets {
	out := slices.Clone(s.to)
	for _, p := range shared {
		for _, port := range s.ports {
			port.Dst = p
			out = append(out, port)
		}
	}
	return out
}
