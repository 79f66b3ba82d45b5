package trial

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// What a partial sync may write, in bytes: the words around the rules, the chains of an
// endpoint of a service port, and a line that all services share the chain of.
const (
	bytesAround   = 1500
	bytesEndpoint = 900
	bytesLine     = 300
)

// cost judges what a sync wrote of which only services have changed: it may write all that is of
// them, and the chains that all services share, but not what is of other services alone.
func (r *run) cost(ctx context.Context, n *nodeState, now *view) error {
	if r.quiet || n.fresh() || !n.ruled.sameNode(now) || len(n.tried) > 0 || r.nodes.blind() || r.passed-n.full >= fullSyncPeriod {
		n.full = r.passed
		n.leaveWaiting(now, nil)
		return nil
	}
	written, err := r.world.Writes(ctx, n.name)
	if err != nil {
		return err
	}
	services := changedInMeaning(n.ruled.Knowledge, now.Knowledge)
	switch {
	case n.sync.searched && !r.unsearched && !speaksUDP(n.ruled, services) && !speaksUDP(now, services):
		return r.add(Violation{
			Clause: oracle.CostByChange, Node: n.name, Want: "no look through conntrack",
			Got: fmt.Sprintf("one, though of %v none speaks UDP", services),
		})
	case len(services) == 0 && written.Restores > 0 && endpointsOf(now) <= maxFewEndpoints && n.ruled.sameRanges(now):
		return r.add(wroteNothing(n, written))
	case len(services) == 0:
		return nil
	}
	r.exercised(oracle.CostByChange)
	bound := r.costOf(n.ruled, now, services)
	bound.N += bytesLine * n.waiting
	if !n.ruled.sameRanges(now) {
		bound.N += bytesAround
	}
	n.leaveWaiting(now, services)
	if bound.Holds(written.Bytes) {
		return nil
	}
	return r.add(Violation{
		Clause: oracle.CostByChange, Node: n.name, Want: fmt.Sprintf("bytes %s for a change of %v", bound, services),
		Got:   fmt.Sprintf("%d bytes in %d restores", written.Bytes, written.Restores),
		Check: []scenarios.Step{{Writes: &scenarios.WritesCheck{Nodes: []string{n.name}, Bytes: &bound}}},
	})
}

// leaveWaiting notes how many chains a sync may have left that was to replace those of some services, or of all if none are named.
func (n *nodeState) leaveWaiting(now *view, services []types.NamespacedName) {
	if endpointsOf(n.ruled) > maxFewEndpoints || endpointsOf(now) > maxFewEndpoints {
		n.waiting += sizeOf(n.ruled, services).endpoints
	}
}

// costOf is what a sync may write that leads from one view to another.
func (r *run) costOf(before, after *view, services []types.NamespacedName) scenarios.Bound {
	was, is := sizeOf(before, services), sizeOf(after, services)
	all := max(sizeOf(before, nil).lines, sizeOf(after, nil).lines)
	families := len(tools.Families(r.cluster.IPFamily))
	return scenarios.Bound{
		Op: "<=", N: bytesAround*families + bytesEndpoint*(was.endpoints+is.endpoints) + bytesLine*(was.lines+is.lines+all),
	}
}

// wroteNothing is the violation that a node wrote rules though nothing has changed.
func wroteNothing(n *nodeState, written scenarios.Written) Violation {
	return Violation{
		Clause: oracle.SecondSyncWritesNothing, Node: n.name, Want: "no restore",
		Got:   fmt.Sprintf("%d restores, %d bytes", written.Restores, written.Bytes),
		Check: []scenarios.Step{{Writes: &scenarios.WritesCheck{Nodes: []string{n.name}, Restores: &scenarios.Bound{}}}},
	}
}

// speaksUDP reports whether one of some services has a port of that protocol, or a slice of it has.
func speaksUDP(v *view, services []types.NamespacedName) bool {
	return slices.ContainsFunc(v.Services, func(s *corev1.Service) bool {
		return slices.Contains(services, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) &&
			slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolUDP })
	}) || slices.ContainsFunc(v.Slices, func(s *discoveryv1.EndpointSlice) bool {
		return slices.Contains(services, serviceOf(s)) &&
			slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return p.Protocol != nil && *p.Protocol == corev1.ProtocolUDP })
	})
}

// size counts what rules there are for services.
type size struct {
	// endpoints counts the endpoints of all service ports, and lines the rules that lead to service ports.
	endpoints, lines int
}

// sizeOf is the size of some services, or of all if none are named.
func sizeOf(v *view, services []types.NamespacedName) size {
	var out size
	for _, s := range v.Services {
		if services == nil || slices.Contains(services, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
			out.lines += len(s.Spec.Ports) * linesOfPort(s)
		}
	}
	for _, s := range v.Slices {
		if services == nil || slices.Contains(services, serviceOf(s)) {
			out.endpoints += len(s.Endpoints) * len(s.Ports)
		}
	}
	return out
}

// linesOfPort is how many addresses lead to a port of a service, and what is said of each.
func linesOfPort(s *corev1.Service) int {
	return 4 + 2*(len(s.Spec.ClusterIPs)+len(s.Spec.ExternalIPs)) +
		len(s.Status.LoadBalancer.Ingress)*(3+len(s.Spec.LoadBalancerSourceRanges))
}

// endpointsOf counts all endpoints that are known.
func endpointsOf(v *view) int { return sizeOf(v, nil).endpoints }

// serviceOf is the service that a slice is of.
func serviceOf(s *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
}
