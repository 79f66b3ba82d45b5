package model

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// Handling says what happens to new traffic.
type Handling uint8

const (
	// Route sends it to one of the endpoints.
	Route Handling = iota
	// Reject answers that nobody listens: no node has a usable endpoint.
	Reject
	// Drop is silent: the policy is Local and this node has no usable
	// endpoint, but another node has.
	Drop
)

// String returns "route", "reject" or "drop".
func (v Handling) String() string {
	return [...]string{"route", "reject", "drop"}[v]
}

// Traffic says what happens to one kind of traffic of a service port.
type Traffic struct {
	Handling Handling
	// Local says that EndpointSets.Local serves it, not Cluster.
	Local bool
}

// Service holds the decisions for one service port.
type Service struct {
	Port      *changes.ServicePort
	Endpoints EndpointSets
	// Internal traffic goes to the cluster IP.
	Internal Traffic
	// External traffic goes to external IPs, load balancer VIPs and the node
	// port. It means nothing if the service port has none of these.
	External Traffic
	// EntersExternal says that traffic for external destinations is taken up
	// at all. This may be so even if External.Handling is Drop: traffic of
	// pods and of the node itself is then still routed, by policy Cluster.
	EntersExternal bool
	// Firewall guards the load balancer VIPs; nil where every source may use
	// them.
	Firewall *Firewall
}

// Firewall says which sources may use the load balancer VIPs of a service
// port. It does not guard node ports.
type Firewall struct {
	Sources []netip.Prefix
	// VIPs are sources too: a node that has the VIP as its own address uses
	// it as the source when it calls the VIP.
	VIPs []netip.Addr
}

// DecideService decides for one service port with these endpoints. It depends
// on no other service port.
func DecideService(port *changes.ServicePort, all []changes.Endpoint, node Node) Service {
	sets := selectEndpoints(all, port, node)
	service := Service{
		Port:           port,
		Endpoints:      sets,
		Internal:       decideTraffic(sets, port.InternalPolicyLocal),
		External:       decideTraffic(sets, port.ExternalPolicyLocal),
		EntersExternal: sets.Any && externallyAccessible(port),
		Firewall:       decideFirewall(port, sets, node),
	}
	service.hitMarks(node.Marks)
	return service
}

func (s *Service) hitMarks(marks *mark.Recorder) {
	marks.HitIf(mark.ModelInternalReject, s.Internal.Handling == Reject)
	marks.HitIf(mark.ModelInternalDrop, s.Internal.Handling == Drop)
	marks.HitIf(mark.ModelInternalLocal, s.Internal.Handling == Route && s.Internal.Local)
	if !externallyAccessible(s.Port) {
		return
	}
	marks.HitIf(mark.ModelExternalReject, s.External.Handling == Reject)
	marks.HitIf(mark.ModelExternalDrop, s.External.Handling == Drop)
	marks.HitIf(mark.ModelExternalLocal, s.External.Handling == Route && s.External.Local)
}

func decideTraffic(sets EndpointSets, local bool) Traffic {
	switch {
	case !sets.Any:
		return Traffic{Handling: Reject, Local: local}
	case local && len(sets.Local) == 0:
		return Traffic{Handling: Drop, Local: true}
	default:
		return Traffic{Handling: Route, Local: local}
	}
}

func decideFirewall(port *changes.ServicePort, sets EndpointSets, node Node) *Firewall {
	if !sets.Any || len(port.LoadBalancerVIPs) == 0 || len(port.SourceRanges) == 0 {
		return nil
	}
	node.Marks.Hit(mark.ModelFirewall)
	firewall := &Firewall{Sources: port.SourceRanges}
	if slices.ContainsFunc(port.SourceRanges, func(p netip.Prefix) bool { return p.Contains(node.IP) }) {
		node.Marks.Hit(mark.ModelFirewallOfNode)
		firewall.VIPs = port.LoadBalancerVIPs
	}
	return firewall
}
