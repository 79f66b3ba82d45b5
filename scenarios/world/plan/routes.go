package plan

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// single is an address alone, as a prefix of its own.
func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func anywhere(v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// gateway is the address by which a node's pods know it: the first of its
// podCIDR, as a point-to-point CNI plugin does, or its own if it has none.
func gateway(n *scenarios.Node, v6 bool) netip.Addr {
	for _, cidr := range n.PodCIDRs {
		if cidr.Addr().Is6() == v6 {
			return cidr.Masked().Addr().Next()
		}
	}
	return nodeAddress(n, v6)
}

// nodeAddress is a node's address of a family; invalid if it has none.
func nodeAddress(n *scenarios.Node, v6 bool) netip.Addr {
	for _, a := range n.Addresses {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

// nodeRoutes lead a node to the other underlay networks, to the other nodes'
// pods, and to the router for everything else.
func (p *Plan) nodeRoutes(n *scenarios.Node) []packetsim.Route {
	routes := p.throughNodes(n.Name)
	for _, network := range p.cluster.Underlay {
		if own := nodeAddress(n, network.Addr().Is6()); own.IsValid() && !network.Contains(own) {
			routes = append(routes, packetsim.Route{Dst: network, Dev: Underlay})
		}
	}
	for _, v6 := range []bool{false, true} {
		if via := p.routerFor(nodeAddress(n, v6)); via.IsValid() {
			routes = append(routes, packetsim.Route{Dst: anywhere(v6), Via: via, Dev: Underlay})
		}
	}
	return routes
}

// routerFor is the router's address in the underlay network of an address.
func (p *Plan) routerFor(a netip.Addr) netip.Addr {
	for i, network := range p.cluster.Underlay {
		if a.IsValid() && network.Contains(a) {
			return p.cluster.Router[i]
		}
	}
	return netip.Addr{}
}

// throughNodes are routes to what is behind or on the nodes, but for one of them.
func (p *Plan) throughNodes(except string) []packetsim.Route {
	var routes []packetsim.Route
	add := func(n *scenarios.Node, dst netip.Prefix) {
		if via := nodeAddress(n, dst.Addr().Is6()); via.IsValid() && n.Name != except {
			routes = append(routes, packetsim.Route{Dst: dst, Via: via, Dev: Underlay})
		}
	}
	for i := range p.cluster.Nodes {
		n := &p.cluster.Nodes[i]
		for _, cidr := range n.PodCIDRs {
			add(n, cidr.Masked())
		}
		for _, a := range n.ExtraAddresses {
			add(n, single(a))
		}
	}
	for i := range p.cluster.Pods {
		pod := &p.cluster.Pods[i]
		n := p.cluster.Node(pod.Node)
		for _, a := range pod.Addresses {
			if !hasPodCIDR(n, a) {
				add(n, single(a))
			}
		}
	}
	return routes
}

func hasPodCIDR(n *scenarios.Node, a netip.Addr) bool {
	for _, cidr := range n.PodCIDRs {
		if cidr.Contains(a) {
			return true
		}
	}
	return false
}

// tableVia is the router's table for what nobody has.
const tableVia packetsim.RouteTable = 100

// routerRules send what machines outside ask for and nobody has to tableVia.
// What nodes and pods send there has no route: it would only come back to them.
func (p *Plan) routerRules() []packetsim.PolicyRule {
	var rules []packetsim.PolicyRule
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		rules = append(rules,
			packetsim.PolicyRule{Family: family, Table: packetsim.TableLocal},
			packetsim.PolicyRule{Family: family, Priority: 1, Table: packetsim.TableMain})
	}
	for i := range p.cluster.Outside {
		if p.isNeighbour(&p.cluster.Outside[i]) {
			continue
		}
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			rules = append(rules, packetsim.PolicyRule{Family: family, Priority: 2, In: machineDevice(i), Table: tableVia})
		}
	}
	return rules
}

// routerRoutes are the router's routes; what nobody has goes to the node via.
func (p *Plan) routerRoutes(via string) []packetsim.Route {
	routes := p.throughNodes("")
	for i := range p.cluster.Outside {
		m := &p.cluster.Outside[i]
		for _, a := range m.Addresses {
			if !p.isNeighbour(m) {
				routes = append(routes, packetsim.Route{Dst: single(a), Dev: machineDevice(i)})
			}
		}
	}
	if n := p.cluster.Node(via); n != nil {
		for _, a := range n.Addresses {
			routes = append(routes, packetsim.Route{Dst: anywhere(a.Is6()), Via: a, Dev: Underlay, Table: tableVia})
		}
	}
	return routes
}

// neighbourRoutes lead by the nodes to what is theirs, by the router to the
// machines behind it, and by the node via to what nobody has.
func (p *Plan) neighbourRoutes(via string) []packetsim.Route {
	routes := p.throughNodes("")
	for i := range p.cluster.Outside {
		m := &p.cluster.Outside[i]
		for _, a := range m.Addresses {
			if gateway := p.routerOf(a.Is6()); gateway.IsValid() && !p.isNeighbour(m) {
				routes = append(routes, packetsim.Route{Dst: single(a), Via: gateway, Dev: Underlay})
			}
		}
	}
	if n := p.cluster.Node(via); n != nil {
		for _, a := range n.Addresses {
			routes = append(routes, packetsim.Route{Dst: anywhere(a.Is6()), Via: a, Dev: Underlay})
		}
	}
	return routes
}

// steeredRoutes lead what nobody has to the node that is chosen for each packet.
func (p *Plan) steeredRoutes(table packetsim.RouteTable) []packetsim.Route {
	return []packetsim.Route{
		{Dst: anywhere(false), Dev: Underlay, Table: table, Steered: true},
		{Dst: anywhere(true), Dev: Underlay, Table: table, Steered: true},
	}
}

// routerOf is the router's first address of a family; invalid if it has none.
func (p *Plan) routerOf(v6 bool) netip.Addr {
	for _, a := range p.cluster.Router {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

// unique keeps the first route to each destination: a machine of several
// addresses needs its default route once.
func unique(routes []packetsim.Route) []packetsim.Route {
	var out []packetsim.Route
	seen := map[netip.Prefix]bool{}
	for _, r := range routes {
		if !seen[r.Dst] {
			seen[r.Dst] = true
			out = append(out, r)
		}
	}
	return out
}
