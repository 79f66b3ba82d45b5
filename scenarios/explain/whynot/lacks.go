package whynot

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Lacks says why no node can serve a port of a service: what the objects lack. It is false if they have an endpoint for the port.
// It does not look at what depends on the node and the client, such as traffic policies and source ranges.
func Lacks(objects []manifest.Object, service *corev1.Service, port *corev1.ServicePort) (cause.Cause, bool) {
	name := service.Namespace + "/" + service.Name
	all := endpointsOf(objects, service)
	switch usable, known := usableOf(all, port); {
	case usable:
		return cause.Cause{}, false
	case len(all) > 0 && !known:
		return lacking(cause.PortName, name, fmt.Sprintf("%s has endpoints, and none of them has its port %q", name, port.Name),
			"kubectl get endpointslices -n "+service.Namespace+" -l kubernetes.io/service-name="+service.Name+
				" -o yaml: targetPort "+port.TargetPort.String()+" must be a port of the pods"), true
	case len(all) > 0:
		return lacking(cause.NotReady, name, fmt.Sprintf("none of the %d endpoints of %s is ready", len(all), name),
			"kubectl describe pods -n "+service.Namespace+": the readiness probe"), true
	case len(service.Spec.Selector) == 0:
		return lacking(cause.NoEndpoints, name, name+" has no selector, and no EndpointSlice with an endpoint",
			"an EndpointSlice with the label kubernetes.io/service-name: "+service.Name), true
	}
	return unselected(objects, service, name), true
}

func lacking(code cause.Code, what, says, remedy string) cause.Cause {
	return cause.Cause{Code: code, What: "service " + what, Says: cause.Sentence(says), Remedy: remedy}
}

// unselected is why a service with a selector has no endpoint.
func unselected(objects []manifest.Object, service *corev1.Service, name string) cause.Cause {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	selected := slices.DeleteFunc(manifest.Of[*corev1.Pod](objects), func(p *corev1.Pod) bool {
		return p.Namespace != service.Namespace || !selector.Matches(labels.Set(p.Labels))
	})
	if len(selected) == 0 {
		return lacking(cause.SelectsNothing, name, fmt.Sprintf("the selector of %s (%s) selects no pod", name, selector),
			"kubectl get pods -n "+service.Namespace+" --show-labels, and spec.selector of the service")
	}
	return lacking(cause.NoEndpoints, name,
		fmt.Sprintf("the selector of %s selects %d pods (%s), and there is no endpoint", name, len(selected), selected[0].Name),
		"kubectl describe pods -n "+service.Namespace+": an address, and ready; kube-controller-manager makes the EndpointSlice")
}

// endpoint is an endpoint with the ports of its slice.
type endpoint struct {
	discoveryv1.Endpoint
	ports []discoveryv1.EndpointPort
}

// endpointsOf are the endpoints of a service that kube-proxy takes.
func endpointsOf(objects []manifest.Object, service *corev1.Service) []endpoint {
	var out []endpoint
	for _, slice := range manifest.Of[*discoveryv1.EndpointSlice](objects) {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name ||
			slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		for _, e := range slice.Endpoints {
			out = append(out, endpoint{e, slice.Ports})
		}
	}
	return out
}

// EndpointsOf are the places of the endpoints of a service's port that take connections: what the name of a headless service stands for.
func EndpointsOf(objects []manifest.Object, service *corev1.Service, port *corev1.ServicePort) []netip.AddrPort {
	var out []netip.AddrPort
	for _, e := range endpointsOf(objects, service) {
		i := slices.IndexFunc(e.ports, func(p discoveryv1.EndpointPort) bool { return isPort(&p, port) && p.Port != nil })
		if i < 0 || e.Conditions.Ready != nil && !*e.Conditions.Ready {
			continue
		}
		for _, text := range e.Addresses {
			if a, err := netip.ParseAddr(text); err == nil {
				out = append(out, netip.AddrPortFrom(a, uint16(*e.ports[i].Port)))
			}
		}
	}
	return out
}

// isPort says whether a port of a slice is the one of a service.
func isPort(p *discoveryv1.EndpointPort, port *corev1.ServicePort) bool {
	return ptr.Deref(p.Name, "") == port.Name && protocolOr(p.Protocol) == protocolOr(&port.Protocol)
}

// usableOf says whether an endpoint of a port takes connections, and whether any has the port at all. One that terminates and still
// serves does if no other is ready.
func usableOf(all []endpoint, port *corev1.ServicePort) (usable, known bool) {
	for i := range all {
		if !slices.ContainsFunc(all[i].ports, func(p discoveryv1.EndpointPort) bool { return isPort(&p, port) }) {
			continue
		}
		known = true
		c := all[i].Conditions
		usable = usable || c.Ready == nil || *c.Ready || ptr.Deref(c.Serving, false) && ptr.Deref(c.Terminating, false)
	}
	return usable, known
}

func protocolOr(p *corev1.Protocol) corev1.Protocol {
	if p == nil || *p == "" {
		return corev1.ProtocolTCP
	}
	return *p
}

// NoPort is the cause of a call to a port that a service does not have.
func NoPort(service *corev1.Service, port string) cause.Cause {
	name := service.Namespace + "/" + service.Name
	return lacking(cause.NoSuchPort, name, fmt.Sprintf("%s has no port %s: it has %s", name, port, names.PortsOf(service)),
		"spec.ports of the service")
}
