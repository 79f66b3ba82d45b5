package trial

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// judgeHealth asks each node's health checks of services. They are for the cluster's first family.
func (r *run) judgeHealth(ctx context.Context) error {
	for _, n := range r.nodes {
		if n.fresh() {
			continue // a proxier that has not synced yet answers nothing
		}
		for _, s := range n.ruled.Services {
			want, known := readyHere(n, s, r.cluster.IPFamily == scenarios.FamilyIPv6)
			if !known {
				continue
			}
			r.exercised(oracle.HealthCheckAgrees)
			answers, err := r.world.Health(ctx, n.name)
			if err != nil {
				return err
			}
			name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}.String()
			if got, ok := answers[name]; ok && got == want {
				continue
			} else if err := r.add(wrongHealth(n, name, want, got, ok)); err != nil {
				return err
			}
		}
		if err := r.noOtherHealth(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// noOtherHealth judges that a node answers for no service that has no health check.
func (r *run) noOtherHealth(ctx context.Context, n *nodeState) error {
	answers, err := r.world.Health(ctx, n.name)
	if err != nil {
		return err
	}
	for _, s := range n.ruled.Services {
		if wantsHealthCheck(s) { // in which family, is told by addresses that not everybody may be able to read
			delete(answers, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		f := Violation{
			Clause: oracle.HealthCheckAgrees, Node: n.name, Want: "no health check of " + name, Got: fmt.Sprintf("%d", answers[name]),
			Check: []scenarios.Step{{Health: &scenarios.HealthCheck{Service: name, Nodes: []string{n.name}}}},
		}
		if err := r.add(f); err != nil {
			return err
		}
	}
	return nil
}

func wrongHealth(n *nodeState, service string, want, got int, serves bool) Violation {
	said := fmt.Sprintf("%d", got)
	if !serves {
		said = "no health check"
	}
	return Violation{
		Clause: oracle.HealthCheckAgrees, Node: n.name, Want: fmt.Sprintf("%d endpoints of %s", want, service), Got: said,
		Check: []scenarios.Step{{Health: &scenarios.HealthCheck{Service: service, Nodes: []string{n.name}, LocalEndpoints: &want}}},
	}
}

// readyHere is how many ready endpoints of a service a node has; known says that the service has a
// health check of the family, and that slices do not contradict each other.
func readyHere(n *nodeState, s *corev1.Service, v6 bool) (count int, known bool) {
	if !hasHealthCheck(s, v6) {
		return 0, false
	}
	ready := map[netip.Addr]bool{}
	for _, slice := range n.ruled.Slices {
		if notForProxies(slice.Labels) || serviceOf(slice).Name != s.Name || slice.Namespace != s.Namespace ||
			(slice.AddressType == discoveryv1.AddressTypeIPv6) != v6 {
			continue
		}
		if !hasAllPorts(slice, s) || !addReady(ready, slice, n.name) {
			return 0, false
		}
	}
	for _, is := range ready {
		if is {
			count++
		}
	}
	return count, true
}

func hasHealthCheck(s *corev1.Service, v6 bool) bool {
	return wantsHealthCheck(s) && slices.ContainsFunc(clusterIPs(s), func(a netip.Addr) bool { return a.Is6() == v6 })
}

func wantsHealthCheck(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal &&
		s.Spec.HealthCheckNodePort != 0 && !notForProxies(s.Labels)
}

// notForProxies reports whether labels take an object away from service proxies.
func notForProxies(labels map[string]string) bool {
	_, another := labels["service.kubernetes.io/service-proxy-name"]
	_, headless := labels[corev1.IsHeadlessService]
	return another || headless
}

// hasAllPorts reports whether the endpoints of a slice are some of every port of a service.
func hasAllPorts(slice *discoveryv1.EndpointSlice, s *corev1.Service) bool {
	return !slices.ContainsFunc(s.Spec.Ports, func(port corev1.ServicePort) bool {
		return !slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
			return p.Port != nil && p.Name != nil && *p.Name == port.Name && p.Protocol != nil && *p.Protocol == port.Protocol
		})
	})
}

// addReady adds a slice's endpoints on a node, and whether they are ready. It is false if something else was said of
// one of them, or one has no address that everybody reads alike.
func addReady(ready map[netip.Addr]bool, slice *discoveryv1.EndpointSlice, node string) bool {
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		if e.NodeName == nil || *e.NodeName != node || len(e.Addresses) == 0 {
			continue
		}
		a, err := netip.ParseAddr(e.Addresses[0])
		if err == nil && a.Is6() != (slice.AddressType == discoveryv1.AddressTypeIPv6) {
			continue // none of the slice's family (slices-of-one-family)
		}
		is := e.Conditions.Ready == nil || *e.Conditions.Ready
		if was, twice := ready[a]; err != nil || twice && was != is {
			return false
		}
		ready[a] = is
	}
	return true
}

// hasToWrite reports whether it is certain that the sync of a node has something to write: what it knows of services leads packets
// elsewhere, in each family that it writes: one may fail with nothing to write while the other succeeds. Other syncs may fail without a
// word: nothing waits for them. Nor does a search for connections that fails, after rules were written.
func (r *run) hasToWrite(n *nodeState, tried *view) bool {
	if r.quiet || r.unsearched || n.doubtful || !tried.sameNode(n.ruled) {
		return false
	}
	services := changed(n.ruled.Knowledge, tried.Knowledge)
	if len(services) == 0 {
		return false
	}
	elsewhere := r.specs.elsewhere(n, tried, services)
	if r.cluster.IPFamily == scenarios.FamilyDual {
		return elsewhere[true] && elsewhere[false]
	}
	return len(elsewhere) > 0
}

// judgeHealthz asks the nodes whose syncs have failed for long whether they say so.
func (r *run) judgeHealthz(ctx context.Context) error {
	for _, n := range r.nodes {
		if r.quiet || !n.failing.now || n.fresh() || r.passed-n.failing.since <= 2*proxier.WithDefaults(n.config).IPTables.SyncPeriod.Duration {
			continue
		}
		r.exercised(oracle.HealthTellsFailure)
		healthy, err := r.world.Healthz(ctx, n.name)
		if err != nil {
			return err
		}
		if !healthy {
			continue
		}
		no := false
		f := Violation{
			Clause: oracle.HealthTellsFailure, Node: n.name, Want: "/healthz tells that syncs have failed for long", Got: "all is well",
			Check: []scenarios.Step{{Healthz: &scenarios.HealthzCheck{Nodes: []string{n.name}, Healthy: &no}}},
		}
		if err := r.add(f); err != nil {
			return err
		}
	}
	return nil
}

// clusterIPs are the addresses of a service.
func clusterIPs(s *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, text := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}
