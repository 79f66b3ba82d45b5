package changes

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ServicePortName names one port of one Service. It is the key by which
// services and their endpoints are joined. The protocol is part of it, since
// a Service may use one port number for two protocols.
type ServicePortName struct {
	types.NamespacedName
	Port     string
	Protocol v1.Protocol
}

// String returns "namespace/name:port", or "namespace/name" for a port without
// a name. The protocol is left out: the text goes into rule comments.
func (n ServicePortName) String() string {
	if n.Port == "" {
		return n.NamespacedName.String()
	}
	return n.NamespacedName.String() + ":" + n.Port
}

// Compare orders by namespace, name, port and protocol, so that the ports of a
// Service stand together.
func (n ServicePortName) Compare(other ServicePortName) int {
	if c := strings.Compare(n.Namespace, other.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(n.Name, other.Name); c != 0 {
		return c
	}
	if c := strings.Compare(n.Port, other.Port); c != 0 {
		return c
	}
	return strings.Compare(string(n.Protocol), string(other.Protocol))
}

// LowerProtocol spells a protocol as the tools of the kernel do: "tcp", "udp" or "sctp".
func LowerProtocol(protocol v1.Protocol) string {
	switch protocol {
	case v1.ProtocolUDP:
		return "udp"
	case v1.ProtocolSCTP:
		return "sctp"
	default:
		return "tcp"
	}
}

// ServicePort is one port of a Service as one address family sees it. It is
// never modified after the tracker has made it, so two equal pointers mean
// that nothing changed.
type ServicePort struct {
	Name      ServicePortName
	ClusterIP netip.Addr
	Port      uint16
	// NodePort is 0 where the Service has none.
	NodePort uint16
	// ExternalIPs, LoadBalancerVIPs and SourceRanges hold the family's own
	// entries in the order of the object.
	ExternalIPs []netip.Addr
	// LoadBalancerVIPs leaves out ingress entries with ipMode Proxy: traffic
	// to these must reach the load balancer itself.
	LoadBalancerVIPs []netip.Addr
	// SourceRanges is empty where every client may use the load balancer.
	SourceRanges []netip.Prefix
	// HealthCheckNodePort is 0 unless the Service needs a health check: type
	// LoadBalancer with externalTrafficPolicy Local.
	HealthCheckNodePort uint16
	// SessionAffinityClientIP keeps a client on one endpoint for
	// StickyMaxAgeSeconds after its last new connection.
	SessionAffinityClientIP bool
	StickyMaxAgeSeconds     int
	// ExternalPolicyLocal is false for a Service that nothing outside of the
	// cluster can reach, whatever its externalTrafficPolicy says.
	ExternalPolicyLocal bool
	InternalPolicyLocal bool
}

// Services holds every service port of one family.
type Services map[ServicePortName]*ServicePort

// Endpoint is one address and port that serves a service port.
type Endpoint struct {
	IP   netip.Addr
	Port uint16
	// Local says that the endpoint is on the tracker's own node. Unplaced says that nobody knows on which node it is, if on any.
	Local       bool
	Unplaced    bool
	Ready       bool
	Serving     bool
	Terminating bool
	// ZoneHints and NodeHints name the zones and nodes that should use this
	// endpoint, sorted and without duplicates. Empty means no hint.
	ZoneHints []string
	NodeHints []string
}

// AddrPort returns the endpoint's address and port.
func (e *Endpoint) AddrPort() netip.AddrPort {
	return netip.AddrPortFrom(e.IP, e.Port)
}

// String returns "ip:port", with the address of IPv6 in brackets. Endpoints
// are sorted by it, and names of chains are derived from it.
func (e *Endpoint) String() string {
	return e.AddrPort().String()
}

// Endpoints holds the endpoints of every service port of one family. A list is
// sorted by Endpoint.String and is never modified after it was put here. A
// service port without endpoints has no key.
type Endpoints map[ServicePortName][]Endpoint
