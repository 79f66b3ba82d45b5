package trial

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// How many rules a packet that is for a node itself may be held against: those that do not depend on services, and those of an address
// and port of a service by which the node may be called.
const (
	rulesAround   = 40
	rulesCluster  = 1
	rulesExternal = 3
)

// discard is a port of no service.
const discard = 9

// judgeWalks looks how far a first packet to each node itself goes through the rules.
func (r *run) judgeWalks(ctx context.Context) error {
	if len(r.cluster.Outside) == 0 {
		return nil
	}
	client := &r.cluster.Outside[0]
	for _, n := range r.nodes {
		if n.inNFTables() {
			continue // its maps find a service at once
		}
		bound := scenarios.Bound{Op: "<=", N: rulesAround + rulesOf(n.ruled)}
		for _, to := range r.cluster.Node(n.name).Addresses {
			if !slices.ContainsFunc(client.Addresses, func(a netip.Addr) bool { return a.Is6() == to.Is6() }) {
				continue
			}
			c := connectOf(anew(oracle.Attempt{From: client.Name, Protocol: corev1.ProtocolTCP, To: netip.AddrPortFrom(to, discard)}))
			seen, err := r.world.Connect(ctx, scenarios.Attempt{From: c.From, Bind: c.Bind, To: c.To})
			if err != nil {
				return err
			}
			r.report.Figures.Connections++
			r.exercised(oracle.WalkBounded)
			if err := r.judgeWalk(n, &c, &bound, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) judgeWalk(n *nodeState, c *scenarios.Connect, bound *scenarios.Bound, seen *scenarios.Observed) error {
	for i := range seen.Ways {
		way := &seen.Ways[i]
		walked := way.RulesWalked()
		if bound.Holds(walked) {
			continue
		}
		c.Expect = scenarios.Expect{Untouched: true, RulesWalked: bound}
		if way.End == scenarios.Dropped {
			c.Expect = scenarios.Expect{Drop: scenarios.Matched{Wanted: true}, RulesWalked: bound}
		}
		return r.add(Violation{
			Clause: oracle.WalkBounded, Node: n.name, Want: fmt.Sprintf("rules walked %s", bound), Got: fmt.Sprintf("%d rules", walked),
			Check: []scenarios.Step{{Connect: c}},
		})
	}
	return nil
}

// rulesOf is how many rules packets to a node itself may be held against for what it knows of services: one of the cluster IP if there is
// an endpoint to send packets to, and those of addresses by which the node may be called.
func rulesOf(v *view) int {
	sum := 0
	for _, s := range v.Services {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		external := len(s.Spec.ExternalIPs) + len(s.Status.LoadBalancer.Ingress)*(1+len(s.Spec.LoadBalancerSourceRanges))
		if s.Spec.HealthCheckNodePort != 0 {
			sum += rulesExternal
		}
		for i := range s.Spec.Ports {
			sum += external * rulesExternal
			if s.Spec.Ports[i].NodePort != 0 {
				sum += rulesExternal
			}
			if sizeOf(v, []types.NamespacedName{name}).endpoints > 0 {
				sum += rulesCluster
			}
		}
	}
	return sum
}
