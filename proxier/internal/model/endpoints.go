package model

import (
	"slices"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// EndpointSets are the endpoints that a service port uses on one node. The
// lists may share memory with each other and with the API state; nobody may
// modify them.
type EndpointSets struct {
	// Cluster serves traffic under policy Cluster. It is empty for a service
	// port that never uses that policy.
	Cluster []changes.Endpoint
	// Local serves traffic under policy Local. It is empty for a service port
	// that never uses that policy.
	Local []changes.Endpoint
	// Reachable is the union of Cluster and Local.
	Reachable []changes.Endpoint
	// Any says that some node has an endpoint that could serve, even if
	// traffic on this node can reach none.
	Any bool
	// Known counts all endpoints, also those that are not used.
	Known int
}

// selectEndpoints decides which of a service port's endpoints are used on a
// node. This is the whole endpoint policy:
//
//   - Policy Cluster uses the ready endpoints that the topology hints allow
//     (see topologyOf). A service port uses it for internal traffic unless
//     internalTrafficPolicy is Local. A service port that can be reached from
//     outside uses it always: even under externalTrafficPolicy Local, pods and
//     the node itself are routed by policy Cluster.
//   - Policy Local uses the ready endpoints on this node. Hints are ignored.
//   - A policy without a ready endpoint falls back to the endpoints that are
//     terminating but still serve, wherever they are for Cluster and on this
//     node for Local, and without regard to hints. The two policies fall back
//     independently of each other.
//   - An endpoint that is neither ready nor serving while it terminates is
//     never used.
func selectEndpoints(all []changes.Endpoint, port *changes.ServicePort, node Node) EndpointSets {
	sets := EndpointSets{Known: len(all)}
	useCluster := never
	if usesClusterPolicy(port) {
		useCluster = clusterPolicy(all, node)
	} else {
		node.Marks.Hit(mark.ModelClusterUnused)
	}
	useLocal := never
	if usesLocalPolicy(port) {
		useLocal = localPolicy(all, node)
	}
	sets.Cluster = filter(all, useCluster)
	sets.Local = filter(all, useLocal)
	sets.Reachable = filter(all, func(e *changes.Endpoint) bool { return useCluster(e) || useLocal(e) })
	node.Marks.HitIf(mark.ModelPoliciesDiffer, len(sets.Reachable) > len(sets.Cluster) && len(sets.Cluster) > 0)
	sets.Any = slices.ContainsFunc(all, func(e changes.Endpoint) bool { return ready(&e) || draining(&e) })
	return sets
}

// externallyAccessible says whether the service port has an address or a port
// that clients outside of the cluster may use.
func externallyAccessible(port *changes.ServicePort) bool {
	return port.NodePort != 0 || len(port.LoadBalancerVIPs) > 0 || len(port.ExternalIPs) > 0
}

func usesClusterPolicy(port *changes.ServicePort) bool {
	return !port.InternalPolicyLocal || externallyAccessible(port)
}

func usesLocalPolicy(port *changes.ServicePort) bool {
	return port.InternalPolicyLocal || (port.ExternalPolicyLocal && externallyAccessible(port))
}

// predicate picks endpoints.
type predicate func(*changes.Endpoint) bool

func never(*changes.Endpoint) bool { return false }

func ready(e *changes.Endpoint) bool { return e.Ready }

// draining endpoints are being taken away but still answer.
func draining(e *changes.Endpoint) bool { return e.Serving && e.Terminating }

func localReady(e *changes.Endpoint) bool { return e.Local && ready(e) }

func localDraining(e *changes.Endpoint) bool { return e.Local && draining(e) }

func clusterPolicy(all []changes.Endpoint, node Node) predicate {
	if !slices.ContainsFunc(all, func(e changes.Endpoint) bool { return ready(&e) }) {
		node.Marks.HitIf(mark.ModelClusterDraining, slices.ContainsFunc(all, func(e changes.Endpoint) bool { return draining(&e) }))
		return draining
	}
	allowed := topologyOf(all, node)
	if allowed == nil {
		node.Marks.Hit(mark.ModelClusterReady)
		return ready
	}
	return func(e *changes.Endpoint) bool { return ready(e) && allowed(e) }
}

func localPolicy(all []changes.Endpoint, node Node) predicate {
	if slices.ContainsFunc(all, func(e changes.Endpoint) bool { return localReady(&e) }) {
		node.Marks.Hit(mark.ModelLocalReady)
		return localReady
	}
	node.Marks.HitIf(mark.ModelLocalDraining, slices.ContainsFunc(all, func(e changes.Endpoint) bool { return localDraining(&e) }))
	return localDraining
}

// topologyOf says which endpoints the hints leave to this node. Only hints of
// ready endpoints count, and only if every ready endpoint has one:
//
//   - node hints, if at least one names this node;
//   - otherwise zone hints, if at least one names this node's zone;
//   - otherwise nil: no endpoint is left out.
func topologyOf(all []changes.Endpoint, node Node) predicate {
	forNode := func(e *changes.Endpoint) bool { return slices.Contains(e.NodeHints, node.Name) }
	forZone := func(e *changes.Endpoint) bool { return slices.Contains(e.ZoneHints, node.Zone) }
	allNode, allZone, anyNode, anyZone := true, true, false, false
	for i := range all {
		e := &all[i]
		if !ready(e) {
			continue
		}
		allNode = allNode && len(e.NodeHints) > 0
		allZone = allZone && len(e.ZoneHints) > 0
		anyNode = anyNode || forNode(e)
		anyZone = anyZone || forZone(e)
	}
	switch {
	case allNode && anyNode:
		node.Marks.Hit(mark.ModelHintsOfNode)
		return forNode
	case allZone && anyZone:
		node.Marks.Hit(mark.ModelHintsOfZone)
		return forZone
	default:
		node.Marks.HitIf(mark.ModelHintsElsewhere, allNode || allZone)
		node.Marks.HitIf(mark.ModelHintsIncomplete, anyNode && !allNode || anyZone && !allZone)
		return nil
	}
}

// filter returns the endpoints that keep picks. It returns all itself where
// nothing is left out, which is the common case in a large cluster.
func filter(all []changes.Endpoint, keep predicate) []changes.Endpoint {
	n := 0
	for i := range all {
		if keep(&all[i]) {
			n++
		}
	}
	if n == len(all) {
		return all
	}
	if n == 0 {
		return nil
	}
	kept := make([]changes.Endpoint, 0, n)
	for i := range all {
		if keep(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}
