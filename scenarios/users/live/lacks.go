package live

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// lacks is what the objects lack for a connection to be made: the service that it is for has no endpoint or no such port, or nobody has the
// address. It is nil if they lack nothing, or if there are no services among them.
func (e *premises) lacks(a oracle.Attempt) *cause.Cause {
	services := e.cluster.services()
	if len(services) == 0 || a.Protocol == oracle.ICMP {
		return nil
	}
	for _, s := range services {
		isIts := slices.Contains(e.cluster.addressesOf(s), a.To.Addr())
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			called := isIts && p.Port == int32(a.To.Port()) || !isIts && p.NodePort == int32(a.To.Port()) && e.isNodes(a.To.Addr())
			if !called || protocolOf(p) != a.Protocol {
				continue
			}
			if found, ok := whynot.Lacks(e.cluster.Objects, s, p); ok {
				return &found
			}
			return nil
		}
		if isIts {
			found := whynot.NoPort(s, strconv.Itoa(int(a.To.Port())))
			return &found
		}
	}
	return e.nobody(a.To.Addr())
}

// nobody is the cause of a call to an address of the cluster that nobody has; nil if somebody has it, or if it may be one outside.
func (e *premises) nobody(a netip.Addr) *cause.Cause {
	if e.isNodes(a) || e.topology.Owner(a) != "" || a.IsLoopback() || !a.IsPrivate() || e.translates(a) {
		return nil
	}
	return &cause.Cause{
		Code: cause.NoService, What: "the address " + a.String(),
		Says:   fmt.Sprintf("No service, pod or node of the objects has the address %s.", a),
		Remedy: "kubectl get services,pods -A -o wide: an address that one of them has",
	}
}

// translates says whether a rule of a node is about packets to an address.
func (e *premises) translates(a netip.Addr) bool { return e.cluster.isServices(a) }

// isNodes says whether an address is a node's.
func (e *premises) isNodes(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(e.topology.Nodes, func(n scenarios.Node) bool {
		return slices.Contains(n.Addresses, a) || slices.Contains(n.ExtraAddresses, a)
	})
}

// addressesOf are all addresses at which a service is called, but for those of nodes.
func (c *Cluster) addressesOf(s *corev1.Service) []netip.Addr {
	texts := slices.Concat([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs, externalAddresses(s))
	var out []netip.Addr
	for _, text := range texts {
		if a, ok := parse(text); ok {
			out = append(out, a)
		}
	}
	return out
}
