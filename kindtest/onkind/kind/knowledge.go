package kind

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// knowledge is what the objects of a scenario say, as the scenario has them: enough to know which connections chance may have a part in.
type knowledge struct {
	objects map[manifest.Ref]manifest.Object
	order   []manifest.Ref
	// checks are the health check ports that services have or have had.
	checks map[string]int32
}

// checked are the services that have a health check now.
func (k *knowledge) checked() []string {
	var out []string
	for _, s := range k.services() {
		if s.Spec.HealthCheckNodePort > 0 {
			out = append(out, s.Namespace+"/"+s.Name)
		}
	}
	return out
}

func newKnowledge() *knowledge {
	return &knowledge{objects: map[manifest.Ref]manifest.Object{}, checks: map[string]int32{}}
}

func (k *knowledge) add(o manifest.Object) {
	ref := o.Ref()
	if _, known := k.objects[ref]; !known {
		k.order = append(k.order, ref)
	}
	k.objects[ref] = o
	if s, ok := o.Object.(*corev1.Service); ok && s.Spec.HealthCheckNodePort > 0 {
		k.checks[s.Namespace+"/"+s.Name] = s.Spec.HealthCheckNodePort
	}
}

func (k *knowledge) remove(ref manifest.Ref) {
	delete(k.objects, ref)
	k.order = slices.DeleteFunc(k.order, func(r manifest.Ref) bool { return r == ref })
}

func (k *knowledge) all() []manifest.Object {
	out := make([]manifest.Object, len(k.order))
	for i, ref := range k.order {
		out[i] = k.objects[ref]
	}
	return out
}

func (k *knowledge) services() []*corev1.Service {
	var out []*corev1.Service
	for _, o := range k.all() {
		if s, ok := o.Object.(*corev1.Service); ok {
			out = append(out, s)
		}
	}
	return out
}

func (k *knowledge) slices() []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, o := range k.all() {
		if s, ok := o.Object.(*discoveryv1.EndpointSlice); ok {
			out = append(out, s)
		}
	}
	return out
}

// made are a service's slices that follow from its pods; none where the scenario writes them itself, or there are none.
func (k *knowledge) made(service *corev1.Service) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, o := range k.all() {
		if s, ok := o.Object.(*discoveryv1.EndpointSlice); ok && o.Derived && s.Namespace == service.Namespace &&
			s.Labels[discoveryv1.LabelServiceName] == service.Name {
			out = append(out, s)
		}
	}
	return out
}

// addresses are all by which services can be called, but for those of nodes.
func (k *knowledge) addresses() []netip.Addr {
	var out []netip.Addr
	for _, s := range k.services() {
		out = append(out, addressesOf(s)...)
	}
	return out
}

func addressesOf(s *corev1.Service) []netip.Addr {
	texts := slices.Concat(s.Spec.ClusterIPs, s.Spec.ExternalIPs)
	for _, one := range s.Status.LoadBalancer.Ingress {
		texts = append(texts, one.IP)
	}
	var out []netip.Addr
	for _, text := range texts {
		if a := parse(text); a.IsValid() && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// called are the services that may answer at an address and a port: by an address of their own, or by a node port wherever it is. Which
// of them does, and whether, is not said.
func (k *knowledge) called(at netip.AddrPort) []*corev1.Service {
	var out []*corev1.Service
	for _, s := range k.services() {
		own := slices.Contains(addressesOf(s), at.Addr().Unmap())
		if slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
			return own && p.Port == int32(at.Port()) || p.NodePort > 0 && p.NodePort == int32(at.Port())
		}) {
			out = append(out, s)
		}
	}
	return out
}

// chancy reports whether chance may have a part in where a connection goes.
func (k *knowledge) chancy(at netip.AddrPort) bool {
	for _, s := range k.called(at) {
		if k.endpoints(s) > 1 {
			return true
		}
	}
	return false
}

// sticky reports whether a client may be remembered.
func (k *knowledge) sticky(at netip.AddrPort) bool {
	return slices.ContainsFunc(k.called(at), func(s *corev1.Service) bool { return s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP })
}

// endpoints is how many addresses a service's slices have.
func (k *knowledge) endpoints(service *corev1.Service) int {
	n := 0
	for _, slice := range k.slices() {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		for i := range slice.Endpoints {
			n += len(slice.Endpoints[i].Addresses)
		}
	}
	return n
}
