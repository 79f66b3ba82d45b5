package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// histogram counts what objects have, so that generated ones can be compared with those
// of real clusters.
type histogram struct {
	services, slices, endpoints int
	counts                      map[string]int // by what is counted, such as "service type NodePort"
}

// Add counts objects.
func (h *histogram) Add(objects []manifest.Object) {
	if h.counts == nil {
		h.counts = map[string]int{}
	}
	for _, o := range objects {
		switch o := o.Object.(type) {
		case *corev1.Service:
			h.service(o)
		case *discoveryv1.EndpointSlice:
			h.slice(o)
		}
	}
}

func (h *histogram) countIf(is bool, what string) {
	if is {
		h.counts[what]++
	}
}

func (h *histogram) service(s *corev1.Service) {
	h.services++
	spec := &s.Spec
	h.counts["service type "+string(spec.Type)]++
	h.counts[fmt.Sprintf("service ports %d", min(len(spec.Ports), 3))]++
	h.countIf(spec.ClusterIP == corev1.ClusterIPNone, "service headless")
	h.countIf(len(spec.IPFamilies) == 2, "service dual-stack")
	h.countIf(spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal, "service external Local")
	h.countIf(spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal,
		"service internal Local")
	h.countIf(spec.SessionAffinity == corev1.ServiceAffinityClientIP, "service affinity")
	h.countIf(len(spec.ExternalIPs) > 0, "service external IPs")
	h.countIf(len(spec.LoadBalancerSourceRanges) > 0, "service source ranges")
	h.countIf(len(s.Status.LoadBalancer.Ingress) > 0, "service ingress")
	for _, p := range spec.Ports {
		h.counts["port "+string(p.Protocol)]++
	}
}

func (h *histogram) slice(s *discoveryv1.EndpointSlice) {
	h.slices++
	h.counts["slice "+string(s.AddressType)]++
	h.counts[fmt.Sprintf("slice endpoints %d", min(len(s.Endpoints), 4))]++
	for _, e := range s.Endpoints {
		h.endpoints++
		c := e.Conditions
		switch {
		case c.Terminating != nil && *c.Terminating:
			h.counts["endpoint terminating"]++
		case c.Ready != nil && !*c.Ready:
			h.counts["endpoint not ready"]++
		default:
			h.counts["endpoint ready"]++
		}
		h.countIf(e.NodeName == nil, "endpoint without node")
		h.countIf(e.Hints != nil, "endpoint with hints")
	}
}

// Compare prints two histograms beside one another, in percent of the services, ports,
// slices and endpoints.
func (h *histogram) Compare(name string, other *histogram, otherName string) string {
	var whats []string
	for what := range h.counts {
		whats = append(whats, what)
	}
	for what := range other.counts {
		if _, ok := h.counts[what]; !ok {
			whats = append(whats, what)
		}
	}
	slices.SortFunc(whats, cmp.Compare[string])
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %10s %10s\n", "percent", name, otherName)
	for _, what := range whats {
		fmt.Fprintf(&b, "%-32s %10.1f %10.1f\n", what, h.share(what), other.share(what))
	}
	return b.String()
}

// share is how many of a hundred have something.
func (h *histogram) share(what string) float64 {
	kind, _, _ := strings.Cut(what, " ")
	of := map[string]int{"service": h.services, "slice": h.slices, "endpoint": h.endpoints}[kind]
	if kind == "port" {
		of = h.counts["port TCP"] + h.counts["port UDP"] + h.counts["port SCTP"]
	}
	return 100 * float64(h.counts[what]) / float64(max(of, 1))
}
