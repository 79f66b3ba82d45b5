package model

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// Config holds what the operator and the kernel say about one address family.
type Config struct {
	Family v1.IPFamily
	// MasqueradeAll masquerades all traffic to cluster IPs.
	MasqueradeAll bool
	// LocalTraffic recognises traffic of this node's pods.
	LocalTraffic LocalTraffic
	// NodePortPrefixes of this family; none means every address of the node.
	NodePortPrefixes []netip.Prefix
	// LocalhostNodePorts asks for node ports at loopback addresses.
	LocalhostNodePorts bool
	// TCPLiberal says that the kernel's conntrack takes TCP segments outside
	// of the window for valid ones.
	TCPLiberal bool
	// ServiceCIDRs are the ranges of this family that cluster IPs come from, sorted; none where they are not known.
	ServiceCIDRs []netip.Prefix
	// RouteLocalnet says that the kernel routes packets from elsewhere to loopback addresses, whoever has told it to.
	RouteLocalnet bool
}

// Node is the node that the decisions are for.
type Node struct {
	Name string
	// Zone is empty if the node has none.
	Zone string
	// IP is the node's main address of this family.
	IP netip.Addr
	// Addresses are all addresses of the host. They matter only if
	// Config.ServesAllAddresses is false.
	Addresses []netip.Addr
	// Marks counts the decisions for the node. Nil: nobody counts.
	Marks *mark.Recorder
}

// LocalTraffic says how traffic of this node's pods is recognised: by exactly
// one of its fields. The zero value recognises nothing.
type LocalTraffic struct {
	// Source is the range of the pods' addresses.
	Source netip.Prefix
	// Interface is the device that all pods' traffic comes in on.
	Interface string
	// InterfacePrefix begins the names of the pods' devices.
	InterfacePrefix string
}

// Known says whether traffic of pods is recognised at all.
func (l LocalTraffic) Known() bool {
	return l != LocalTraffic{}
}

// Masquerade says which traffic to cluster IPs gets the node's address as its
// source.
type Masquerade uint8

const (
	// MasqueradeNone leaves it alone, apart from pods that call themselves.
	MasqueradeNone Masquerade = iota
	// MasqueradeNotLocal masquerades what does not come from this node's
	// pods: a router may send traffic for cluster IPs to any node, and the
	// reply must come back through it.
	MasqueradeNotLocal
	// MasqueradeEverything masquerades all of it.
	MasqueradeEverything
)

// Model is the whole decision for one address family of one node.
type Model struct {
	// Services are sorted by name.
	Services []Service
	// ClusterIPs says which traffic to cluster IPs is masqueraded.
	ClusterIPs Masquerade
	// LocalTraffic is how pods' traffic is recognised. Where it is known,
	// pods that call an external destination under externalTrafficPolicy
	// Local are routed by policy Cluster.
	LocalTraffic LocalTraffic
	// NodePorts says at which addresses node ports are served.
	NodePorts NodePorts
	// ServiceCIDRs are the ranges that the API takes cluster IPs from. Nobody has an address of these ranges that is not a
	// service's cluster IP.
	ServiceCIDRs []netip.Prefix
	// Localhost says that loopback addresses serve node ports too.
	Localhost bool
	// GuardLoopback drops packets from elsewhere to loopback addresses, which
	// the kernel routes: for node ports there, or still, for those that were
	// served there before.
	GuardLoopback bool
	// DropInvalid drops packets that conntrack finds invalid: they would get
	// past address translation and make a peer reset its connection.
	DropInvalid bool
}

// Decide makes the Model of a state.
func Decide(config Config, services changes.Services, endpoints changes.Endpoints, node Node) *Model {
	m := &Model{
		Services:     make([]Service, 0, len(services)),
		ClusterIPs:   decideMasquerade(&config, node),
		LocalTraffic: config.LocalTraffic,
		NodePorts:    DecideNodePorts(&config, node),
		ServiceCIDRs: config.ServiceCIDRs,
		Localhost:    config.ServesLocalhost(),
		// no IPv6 address is routed that way, whatever the setting
		GuardLoopback: config.ServesLocalhost() || config.RouteLocalnet && config.Family == v1.IPv4Protocol,
		DropInvalid:   !config.TCPLiberal,
	}
	ports := make([]*changes.ServicePort, 0, len(services))
	for _, port := range services {
		ports = append(ports, port)
	}
	slices.SortFunc(ports, func(a, b *changes.ServicePort) int { return a.Name.Compare(b.Name) })
	for _, port := range ports {
		m.Services = append(m.Services, DecideService(port, endpoints[port.Name], node))
	}
	return m
}

func decideMasquerade(config *Config, node Node) Masquerade {
	switch {
	case config.MasqueradeAll:
		node.Marks.Hit(mark.ModelMasqueradeAll)
		return MasqueradeEverything
	case config.LocalTraffic.Known():
		node.Marks.Hit(mark.ModelMasqueradeNotLocal)
		return MasqueradeNotLocal
	default:
		node.Marks.Hit(mark.ModelMasqueradeNone)
		return MasqueradeNone
	}
}
