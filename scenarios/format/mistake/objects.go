package mistake

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// InObjects finds the mistakes in objects that are there at once, such as those of a cluster.
func InObjects(objects []manifest.Object) []Mistake {
	f := newFinder()
	f.twice(objects)
	f.conflicts(objects)
	f.alone(objects)
	f.together(newCluster(objects))
	return f.sorted()
}

// node is what is known of a node.
type node struct {
	name, zone string
	podCIDRs   []netip.Prefix
	addresses  []netip.Addr
}

// cluster is all that refers to one another.
type cluster struct {
	services map[string][]manifest.Object // by NAMESPACE/NAME: what they are at some time
	slices   []manifest.Object
	ofName   map[string][]manifest.Object // slices by NAMESPACE/NAME of the service that their label names
	pods     []*corev1.Pod
	nodes    []node // none: nothing is known of nodes
}

func newCluster(objects []manifest.Object) *cluster {
	c := &cluster{services: map[string][]manifest.Object{}, ofName: map[string][]manifest.Object{}}
	for _, o := range objects {
		switch obj := o.Object.(type) {
		case *corev1.Service:
			name := obj.Namespace + "/" + obj.Name
			c.services[name] = append(c.services[name], o)
		case *discoveryv1.EndpointSlice:
			c.slices = append(c.slices, o)
			c.ofName[serviceOf(o)] = append(c.ofName[serviceOf(o)], o)
		case *corev1.Pod:
			c.pods = append(c.pods, obj)
		case *corev1.Node:
			c.nodes = append(c.nodes, nodeOf(obj))
		}
	}
	return c
}

func nodeOf(o *corev1.Node) node {
	n := node{name: o.Name, zone: o.Labels[corev1.LabelTopologyZone]}
	for _, text := range append([]string{o.Spec.PodCIDR}, o.Spec.PodCIDRs...) {
		if cidr, err := netip.ParsePrefix(text); err == nil {
			n.podCIDRs = append(n.podCIDRs, cidr.Masked())
		}
	}
	for _, a := range o.Status.Addresses {
		if address, ok := addressOf(a.Address); ok {
			n.addresses = append(n.addresses, address)
		}
	}
	return n
}

// addressOf reads an address as kube-proxy does, also with leading zeros.
func addressOf(text string) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return a.Unmap(), ok
}

// twice finds objects that are given twice in one list: the second takes the place of the first.
func (f *finder) twice(objects []manifest.Object) {
	first := map[manifest.Ref]manifest.Object{}
	for _, o := range objects {
		if before, given := first[o.Ref()]; given {
			f.errorf(DuplicateObject, o, at("metadata", "name"), "is given twice, first at %s (take one out, or give it another name)", before.Pos)
			continue
		}
		first[o.Ref()] = o
	}
}

// conflicts finds services that have what only one can have at a time.
func (f *finder) conflicts(objects []manifest.Object) {
	type port struct {
		protocol corev1.Protocol
		port     int32
	}
	addresses, ports := map[netip.Addr]manifest.Ref{}, map[port]manifest.Ref{}
	for _, o := range objects {
		s, ok := o.Object.(*corev1.Service)
		if !ok {
			continue
		}
		for i, text := range s.Spec.ClusterIPs {
			a, ok := addressOf(text)
			if other, taken := addresses[a]; ok && taken && other != o.Ref() {
				f.errorf(ClusterIPTaken, o, clusterIPPath(o, i), "the cluster IP %s is that of %s as well (give each service one of its own)", a, other)
			}
			if ok {
				addresses[a] = o.Ref()
			}
		}
		for i, p := range s.Spec.Ports {
			key := port{p.Protocol, p.NodePort}
			if other, taken := ports[key]; taken && other != o.Ref() {
				f.errorf(NodePortTaken, o, at("spec", "ports", i, "nodePort"),
					"the node port %d of %s is that of %s as well (give each port one of its own)",
					p.NodePort, p.Protocol, other)
			}
			if p.NodePort != 0 {
				ports[key] = o.Ref()
			}
		}
	}
}

// clusterIPPath is where the i-th cluster IP of a service stands.
func clusterIPPath(o manifest.Object, i int) []any {
	if o.Has("spec", "clusterIPs") {
		return at("spec", "clusterIPs", i)
	}
	return at("spec", "clusterIP")
}

// The node ports that API servers give out unless they are told otherwise (--service-node-port-range).
const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// alone finds what can be seen in an object by itself, and kube-proxy passes over.
func (f *finder) alone(objects []manifest.Object) {
	for _, o := range objects {
		switch obj := o.Object.(type) {
		case *corev1.Service:
			f.service(o, &obj.Spec)
		case *discoveryv1.EndpointSlice:
			f.sliceFamily(o, obj)
		}
	}
}

func (f *finder) service(o manifest.Object, s *corev1.ServiceSpec) {
	external := s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer
	local := s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	switch {
	case s.Type == corev1.ServiceTypeExternalName:
		return
	case len(s.ClusterIPs) == 0:
		f.errorf(ClusterIPMissing, o, at("spec"),
			"has no clusterIP, so kube-proxy does nothing for it (write one, or None for a headless service)")
	case !external && local && len(s.ExternalIPs) == 0:
		f.errorf(FieldIgnored, o, at("spec", "externalTrafficPolicy"),
			"externalTrafficPolicy says nothing about a service of type ClusterIP without externalIPs")
	}
	if s.Type != corev1.ServiceTypeLoadBalancer && len(s.LoadBalancerSourceRanges) > 0 {
		f.errorf(FieldIgnored, o, at("spec", "loadBalancerSourceRanges"), "loadBalancerSourceRanges says nothing about a service of type %s",
			s.Type)
	}
	if s.Type == corev1.ServiceTypeLoadBalancer && local && s.HealthCheckNodePort == 0 {
		f.errorf(HealthCheckMissing, o, at("spec"), "has externalTrafficPolicy Local and no healthCheckNodePort, which an API server gives out")
	}
	for i, p := range s.Ports {
		switch path := at("spec", "ports", i, "nodePort"); {
		case p.NodePort != 0 && (p.NodePort < firstNodePort || p.NodePort > lastNodePort):
			f.errorf(NodePortRange, o, path, "the node port %d is outside of %d-%d, which API servers give out", p.NodePort, firstNodePort,
				lastNodePort)
		case p.NodePort == 0 && s.Type == corev1.ServiceTypeNodePort && len(s.ClusterIPs) > 0:
			f.errorf(NodePortMissing, o, path, "port %d has no nodePort, so nothing listens on nodes (an API server gives one out)", p.Port)
		}
	}
}

// sliceFamily finds endpoints of another family than their slice.
func (f *finder) sliceFamily(o manifest.Object, s *discoveryv1.EndpointSlice) {
	for i, e := range s.Endpoints {
		for j, text := range e.Addresses {
			if a, ok := addressOf(text); ok && s.AddressType != discoveryv1.AddressTypeFQDN && familyOf(a) != corev1.IPFamily(s.AddressType) {
				f.errorf(EndpointFamily, o, at("endpoints", i, "addresses", j), "%s is not of the slice's addressType %s, so kube-proxy passes it over",
					a, s.AddressType)
			}
		}
	}
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// together finds what refers to nothing.
func (f *finder) together(c *cluster) {
	for _, versions := range c.services {
		for _, o := range versions {
			f.serviceIn(c, o, o.Object.(*corev1.Service))
		}
	}
	for _, versions := range c.versions() {
		f.sliceOf(c, versions)
		for _, o := range versions {
			f.sliceIn(c, o, o.Object.(*discoveryv1.EndpointSlice))
		}
	}
}

// versions are the slices, those of one name together: what a slice is at some time.
func (c *cluster) versions() (out [][]manifest.Object) {
	place := map[manifest.Ref]int{}
	for _, o := range c.slices {
		at, known := place[o.Ref()]
		if !known {
			at = len(out)
			place[o.Ref()], out = at, append(out, nil)
		}
		out[at] = append(out[at], o)
	}
	return out
}

func (f *finder) serviceIn(c *cluster, o manifest.Object, s *corev1.Service) {
	for i, text := range s.Spec.ClusterIPs {
		if a, ok := addressOf(text); ok {
			if owner := c.ownerOf(a); owner != "" {
				f.errorf(ClusterIPElsewhere, o, clusterIPPath(o, i), "the cluster IP %s is %s (take one that nothing else has)", a, owner)
			}
		}
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	own := c.ofName[s.Namespace+"/"+s.Name]
	if len(own) == 0 {
		if len(s.Spec.Selector) > 0 && len(c.slices) > 0 && !c.selects(s) {
			f.errorf(SelectorWithoutSlice, o, at("spec", "selector"), "selects no pod and has no EndpointSlice, so it has no endpoints")
		}
		return
	}
	if len(s.Spec.ClusterIPs) > 0 && s.Spec.ClusterIPs[0] == corev1.ClusterIPNone {
		return
	}
	for i, p := range s.Spec.Ports {
		if !slices.ContainsFunc(own, func(o manifest.Object) bool { return servesPort(o.Object.(*discoveryv1.EndpointSlice), p) }) {
			f.errorf(ServicePortUnserved, o, at("spec", "ports", i),
				"no EndpointSlice of it has the port %s, so it has no endpoints (its slices have %s)",
				portName(p.Name, p.Protocol), slicePorts(own))
		}
	}
}

// servesPort reports whether a slice has endpoints of a service's port. One without endpoints needs no ports.
func servesPort(s *discoveryv1.EndpointSlice, p corev1.ServicePort) bool {
	return len(s.Endpoints) == 0 || slices.ContainsFunc(s.Ports, func(sp discoveryv1.EndpointPort) bool {
		return *sp.Name == p.Name && *sp.Protocol == p.Protocol
	})
}

// portName is a port as slices and services name it.
func portName(name string, protocol corev1.Protocol) string {
	if name == "" {
		return "without a name, " + string(protocol)
	}
	return "\"" + name + "\", " + string(protocol)
}

func slicePorts(own []manifest.Object) string {
	var out []string
	for _, o := range own {
		for _, p := range o.Object.(*discoveryv1.EndpointSlice).Ports {
			if name := portName(*p.Name, *p.Protocol); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, "; ")
}

// serviceOf is NAMESPACE/NAME of the service that a slice's label names.
func serviceOf(slice manifest.Object) string {
	return slice.Meta().GetNamespace() + "/" + slice.Meta().GetLabels()[discoveryv1.LabelServiceName]
}

// selects reports whether a service selects any pod.
func (c *cluster) selects(s *corev1.Service) bool {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	return slices.ContainsFunc(c.pods,
		func(p *corev1.Pod) bool { return p.Namespace == s.Namespace && selector.Matches(labels.Set(p.Labels)) })
}

// ownerOf says in words who has an address that should be nobody's; empty if it is.
func (c *cluster) ownerOf(a netip.Addr) string {
	for _, n := range c.nodes {
		if slices.Contains(n.addresses, a) {
			return "an address of node " + n.name
		}
		for _, cidr := range n.podCIDRs {
			if cidr.Contains(a) {
				return "in the pod network " + cidr.String() + " of node " + n.name
			}
		}
	}
	return ""
}

// sliceOf finds slices that are never a service's, or never have a port of it. One that is at some time, and not at another, is a change.
func (f *finder) sliceOf(c *cluster, versions []manifest.Object) {
	of := func(o manifest.Object) []manifest.Object {
		return c.services[serviceOf(o)]
	}
	o := versions[0]
	name, labelled := o.Meta().GetLabels()[discoveryv1.LabelServiceName]
	switch {
	case slices.ContainsFunc(versions, func(o manifest.Object) bool { return len(of(o)) > 0 }):
		f.slicePorts(versions, of)
	case !labelled:
		f.errorf(SliceWithoutService, o, at("metadata"), "has no label %s, so it is no service's", discoveryv1.LabelServiceName)
	default:
		f.errorf(SliceWithoutService, o, at("metadata", "labels", discoveryv1.LabelServiceName), "there is no service %s/%s (check the label %s)",
			o.Meta().GetNamespace(), name, discoveryv1.LabelServiceName)
	}
}

// slicePorts finds ports of a slice of which none is the service's, at any time of both, and those that are there all the time.
func (f *finder) slicePorts(versions []manifest.Object, of func(manifest.Object) []manifest.Object) {
	fits := func(o manifest.Object, p discoveryv1.EndpointPort) bool {
		return slices.ContainsFunc(of(o), func(service manifest.Object) bool { return hasPort(service.Object.(*corev1.Service), p) })
	}
	ports := func(o manifest.Object) []discoveryv1.EndpointPort { return o.Object.(*discoveryv1.EndpointSlice).Ports }
	for _, o := range versions[1:] {
		for _, p := range ports(o) {
			if fits(o, p) {
				return
			}
		}
	}
	o := versions[0]
	for i, p := range ports(o) {
		if services := of(o); len(services) > 0 && !fits(o, p) {
			f.errorf(SlicePort, o, at("ports", i), "the service has no port %s, so kube-proxy passes it over (it has %s)",
				portName(*p.Name, *p.Protocol), servicePorts(services[0].Object.(*corev1.Service)))
		}
	}
}

// hasPort reports whether a port of a slice is one of a service's. Headless services are none of kube-proxy's.
func hasPort(s *corev1.Service, p discoveryv1.EndpointPort) bool {
	return s.Spec.ClusterIP == corev1.ClusterIPNone || slices.ContainsFunc(s.Spec.Ports, func(sp corev1.ServicePort) bool {
		return *p.Name == sp.Name && *p.Protocol == sp.Protocol
	})
}

func servicePorts(s *corev1.Service) string {
	var ports []string
	for _, sp := range s.Spec.Ports {
		ports = append(ports, portName(sp.Name, sp.Protocol))
	}
	return strings.Join(ports, "; ")
}

func (f *finder) sliceIn(c *cluster, o manifest.Object, s *discoveryv1.EndpointSlice) {
	if versions := c.services[s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName]]; len(versions) > 0 {
		f.sliceFamilies(o, s, versions)
	}
	if len(c.nodes) > 0 {
		for i := range s.Endpoints {
			f.endpoint(c, o, &s.Endpoints[i], at("endpoints", i))
		}
	}
}

// sliceFamilies finds slices of a family that no version of their service has.
func (f *finder) sliceFamilies(o manifest.Object, s *discoveryv1.EndpointSlice, versions []manifest.Object) {
	other := func(o manifest.Object) bool {
		families := o.Object.(*corev1.Service).Spec.IPFamilies
		return len(families) > 0 && !slices.Contains(families, corev1.IPFamily(s.AddressType))
	}
	if s.AddressType != discoveryv1.AddressTypeFQDN && !slices.ContainsFunc(versions, func(o manifest.Object) bool { return !other(o) }) {
		f.errorf(EndpointFamily, o, at("addressType"),
			"the service has no cluster IP of %s (it has %v), so no client reaches these endpoints by one",
			s.AddressType, versions[0].Object.(*corev1.Service).Spec.IPFamilies)
	}
}

// endpoint finds nodes and zones that an endpoint names and nobody has.
func (f *finder) endpoint(c *cluster, o manifest.Object, e *discoveryv1.Endpoint, path []any) {
	field := func(more ...any) []any { return append(path[:len(path):len(path)], more...) }
	if e.NodeName != nil {
		if place := slices.IndexFunc(c.nodes, func(n node) bool { return n.name == *e.NodeName }); place < 0 {
			f.errorf(UnknownNode, o, field("nodeName"), "there is no node %q, so it is local to none", *e.NodeName)
		} else {
			f.otherNode(c, o, e, field)
		}
	}
	if e.Hints == nil {
		return
	}
	for i, hint := range e.Hints.ForZones {
		if !slices.ContainsFunc(c.nodes, func(n node) bool { return n.zone == hint.Name }) {
			f.errorf(UnknownZone, o, field("hints", "forZones", i, "name"), "no node is in zone %q", hint.Name)
		}
	}
	for i, hint := range e.Hints.ForNodes {
		if !slices.ContainsFunc(c.nodes, func(n node) bool { return n.name == hint.Name }) {
			f.errorf(UnknownZone, o, field("hints", "forNodes", i, "name"), "there is no node %q", hint.Name)
		}
	}
}

// otherNode finds endpoints with addresses of another node's pods than that which they name.
func (f *finder) otherNode(c *cluster, o manifest.Object, e *discoveryv1.Endpoint, field func(...any) []any) {
	for i, text := range e.Addresses {
		a, ok := addressOf(text)
		for _, n := range c.nodes {
			in := slices.ContainsFunc(n.podCIDRs, func(cidr netip.Prefix) bool { return cidr.Contains(a) })
			if ok && in && n.name != *e.NodeName {
				f.errorf(OtherNode, o, field("addresses", i), "%s is in the pod network of node %s, and nodeName says %s", a, n.name, *e.NodeName)
			}
		}
	}
}
