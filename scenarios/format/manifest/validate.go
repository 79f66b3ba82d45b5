package manifest

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

// The checks here are checks of the API server without which a
// scenario could say something that no cluster can. Addresses may have leading zeros,
// as old objects do; kube-proxy rewrites them. What kube-proxy itself decides
// (slices without a service label, addresses of the other family) is left to it.

func validate(d *document.Decoder, o Object) {
	c := check{d: d, node: o.node}
	c.name(o)
	switch obj := o.Object.(type) {
	case *corev1.Service:
		c.service(obj)
	case *discoveryv1.EndpointSlice:
		c.slice(obj)
	case *corev1.Node:
		c.clusterNode(obj)
	case *corev1.Pod:
		c.pod(obj)
	case *networkingv1.NetworkPolicy:
		c.policy(&obj.Spec)
	case *networkingv1.ServiceCIDR:
		c.ranges(obj.Spec.CIDRs)
	}
}

// policy checks what nobody could say of a packet whether it holds: selectors, ranges and types.
func (c check) policy(s *networkingv1.NetworkPolicySpec) {
	c.selector(at("spec", "podSelector"), &s.PodSelector)
	for i, t := range s.PolicyTypes {
		c.oneOf(at("spec", "policyTypes", i), string(t), string(networkingv1.PolicyTypeIngress), string(networkingv1.PolicyTypeEgress))
	}
	for i := range s.Ingress {
		c.peers(at("spec", "ingress", i, "from"), s.Ingress[i].From)
	}
	for i := range s.Egress {
		c.peers(at("spec", "egress", i, "to"), s.Egress[i].To)
	}
}

// ranges checks the ranges of a ServiceCIDR: one, or one of each family.
func (c check) ranges(cidrs []string) {
	if len(cidrs) == 0 || len(cidrs) > 2 {
		c.errorf(at("spec", "cidrs"), "want one range, or one of each family, got %d", len(cidrs))
		return
	}
	for i, cidr := range cidrs {
		c.cidr(at("spec", "cidrs", i), cidr)
	}
	if len(cidrs) == 2 && netutils.IsIPv6CIDRString(cidrs[0]) == netutils.IsIPv6CIDRString(cidrs[1]) {
		c.errorf(at("spec", "cidrs", 1), "%s is of the family of the range before it", cidrs[1])
	}
}

func (c check) peers(path []any, peers []networkingv1.NetworkPolicyPeer) {
	for i := range peers {
		p, at := &peers[i], func(more ...any) []any { return append(append(slices.Clone(path), i), more...) }
		c.selector(at("podSelector"), p.PodSelector)
		c.selector(at("namespaceSelector"), p.NamespaceSelector)
		if p.IPBlock == nil {
			continue
		}
		c.cidr(at("ipBlock", "cidr"), p.IPBlock.CIDR)
		for n, except := range p.IPBlock.Except {
			c.cidr(at("ipBlock", "except", n), except)
		}
	}
}

func (c check) selector(path []any, s *metav1.LabelSelector) {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		c.errorf(path, "%s", document.Shorten(err.Error()))
	}
}

// check notes errors at the fields of one object.
type check struct {
	d    *document.Decoder
	node *yaml.Node
}

// errorf notes an error at a field. The path is of keys (string) and list
// indexes (int); the error is put at the deepest part of it that was written.
func (c check) errorf(path []any, format string, args ...any) {
	n, words := c.node, make([]string, 0, len(path))
	for _, step := range path {
		next := child(n, step)
		if next == nil {
			break
		}
		n = next
	}
	for _, step := range path {
		if s, ok := step.(string); ok {
			words = append(words, s)
		}
	}
	c.d.Errorf(n, strings.ReplaceAll(strings.Join(words, "."), "%", "%%")+": "+format, args...)
}

func child(n *yaml.Node, step any) *yaml.Node {
	n = document.Resolve(n)
	switch s := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && s < len(n.Content) {
			return n.Content[s]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

func at(path ...any) []any { return path }

func (c check) name(o Object) {
	valid := validation.IsDNS1123Subdomain
	switch o.Object.(type) {
	case *corev1.Service, *corev1.Namespace:
		valid = validation.IsDNS1123Label
	}
	if msgs := valid(o.Meta().GetName()); len(msgs) > 0 {
		c.errorf(at("metadata", "name"), "%q is not a valid name: %s", document.Shorten(o.Meta().GetName()), msgs[0])
	}
	if ns := o.Meta().GetNamespace(); ns != "" {
		if msgs := validation.IsDNS1123Label(ns); len(msgs) > 0 {
			c.errorf(at("metadata", "namespace"), "%q is not a valid namespace: %s", document.Shorten(ns), msgs[0])
		}
	}
}

// oneOf checks a field that holds one word of a few; empty is the default.
func (c check) oneOf(path []any, got string, want ...string) {
	if got != "" && !sets.New(want...).Has(got) {
		c.errorf(path, "unknown value %q (want %s)", document.Shorten(got), strings.Join(want, ", "))
	}
}

func (c check) port(path []any, port int32, lowest int32) {
	if port < lowest || port > 65535 {
		c.errorf(path, "port %d is out of range (want %d to 65535)", port, lowest)
	}
}

func (c check) ip(path []any, ip string) {
	if netutils.ParseIPSloppy(ip) == nil {
		c.errorf(path, "%q is not an IP address", document.Shorten(ip))
	}
}

func (c check) cidr(path []any, cidr string) {
	if _, _, err := netutils.ParseCIDRSloppy(strings.TrimSpace(cidr)); err != nil {
		c.errorf(path, "%q is not an address range (want ADDRESS/LENGTH)", document.Shorten(cidr))
	}
}

func (c check) service(svc *corev1.Service) {
	s := svc.Spec
	c.oneOf(at("spec", "type"), string(s.Type), "ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
	c.oneOf(at("spec", "sessionAffinity"), string(s.SessionAffinity), "None", "ClientIP")
	c.oneOf(at("spec", "externalTrafficPolicy"), string(s.ExternalTrafficPolicy), "Cluster", "Local")
	if s.InternalTrafficPolicy != nil {
		c.oneOf(at("spec", "internalTrafficPolicy"), string(*s.InternalTrafficPolicy), "Cluster", "Local")
	}
	if s.SessionAffinityConfig != nil && s.SessionAffinityConfig.ClientIP != nil {
		c.affinity(s.SessionAffinityConfig.ClientIP.TimeoutSeconds)
	}
	c.port(at("spec", "healthCheckNodePort"), s.HealthCheckNodePort, 0)
	c.serviceAddresses(svc)
	c.servicePorts(s)
}

func (c check) affinity(seconds *int32) {
	if seconds != nil && (*seconds < 1 || *seconds > 86400) {
		c.errorf(at("spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"), "%d is out of range (want 1 to 86400)", *seconds)
	}
}

func (c check) serviceAddresses(svc *corev1.Service) {
	s := svc.Spec
	if s.ClusterIP != "" && s.ClusterIP != corev1.ClusterIPNone {
		c.ip(at("spec", "clusterIP"), s.ClusterIP)
	}
	for i, ip := range s.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			c.ip(at("spec", "clusterIPs", i), ip)
		}
	}
	if s.ClusterIP != "" && len(s.ClusterIPs) > 0 && s.ClusterIP != s.ClusterIPs[0] {
		c.errorf(at("spec", "clusterIPs", 0), "%q is not the clusterIP %q (the first must be the same)", s.ClusterIPs[0], s.ClusterIP)
	}
	for i, ip := range s.ExternalIPs {
		c.ip(at("spec", "externalIPs", i), ip)
	}
	for i, cidr := range s.LoadBalancerSourceRanges {
		c.cidr(at("spec", "loadBalancerSourceRanges", i), cidr)
	}
	for i, ingress := range svc.Status.LoadBalancer.Ingress {
		path := at("status", "loadBalancer", "ingress", i)
		if ingress.IP != "" {
			c.ip(append(path, "ip"), ingress.IP)
		}
		if ingress.IPMode != nil {
			c.oneOf(append(path[:len(path):len(path)], "ipMode"), string(*ingress.IPMode), "VIP", "Proxy")
		}
	}
}

func (c check) servicePorts(s corev1.ServiceSpec) {
	type portOf struct {
		protocol corev1.Protocol
		port     int32
	}
	names, ports := sets.New[string](), sets.New[portOf]()
	for i, p := range s.Ports {
		path := func(field string) []any { return at("spec", "ports", i, field) }
		c.port(path("port"), p.Port, 1)
		c.port(path("nodePort"), p.NodePort, 0)
		c.oneOf(path("protocol"), string(p.Protocol), "TCP", "UDP", "SCTP")
		if p.Name == "" && len(s.Ports) > 1 {
			c.errorf(path("name"), "missing (a service of several ports names each of them)")
		} else if names.Has(p.Name) {
			c.errorf(path("name"), "%q is given twice", p.Name)
		}
		key := portOf{p.Protocol, p.Port}
		if key.protocol == "" {
			key.protocol = corev1.ProtocolTCP
		}
		if ports.Has(key) {
			c.errorf(path("port"), "%s port %d is given twice", key.protocol, p.Port)
		}
		names.Insert(p.Name)
		ports.Insert(key)
	}
	if len(s.Ports) == 0 && s.Type != corev1.ServiceTypeExternalName && s.ClusterIP != corev1.ClusterIPNone {
		c.errorf(at("spec", "ports"), "missing (a service has at least one port)")
	}
}

func (c check) slice(slice *discoveryv1.EndpointSlice) {
	if slice.AddressType == "" {
		c.errorf(at("addressType"), "missing (want IPv4, IPv6 or FQDN)")
	}
	c.oneOf(at("addressType"), string(slice.AddressType), "IPv4", "IPv6", "FQDN")
	for i, p := range slice.Ports {
		if p.Port != nil {
			c.port(at("ports", i, "port"), *p.Port, 1)
		}
		if p.Protocol != nil {
			c.oneOf(at("ports", i, "protocol"), string(*p.Protocol), "TCP", "UDP", "SCTP")
		}
	}
	for i, e := range slice.Endpoints {
		if len(e.Addresses) == 0 {
			c.errorf(at("endpoints", i, "addresses"), "missing (an endpoint has at least one address)")
		}
		for j, a := range e.Addresses {
			if slice.AddressType != discoveryv1.AddressTypeFQDN {
				c.ip(at("endpoints", i, "addresses", j), a)
			}
		}
	}
}

func (c check) clusterNode(node *corev1.Node) {
	if node.Spec.PodCIDR != "" {
		c.cidr(at("spec", "podCIDR"), node.Spec.PodCIDR)
	}
	for i, cidr := range node.Spec.PodCIDRs {
		c.cidr(at("spec", "podCIDRs", i), cidr)
	}
	for i, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			c.ip(at("status", "addresses", i, "address"), a.Address)
		}
	}
}

func (c check) pod(pod *corev1.Pod) {
	if pod.Status.PodIP != "" {
		c.ip(at("status", "podIP"), pod.Status.PodIP)
	}
	for i, ip := range pod.Status.PodIPs {
		c.ip(at("status", "podIPs", i, "ip"), ip.IP)
	}
}
