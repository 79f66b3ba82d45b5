package live

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

// byRouter are the pods whose packets nodes give to a router between them, by the router's address. The router is taken to know where each
// node's pods are, as the routers of clouds do: no snapshot says so.
type byRouter map[netip.Addr]map[netip.Addr]bool

func (b byRouter) add(router, pod netip.Addr) {
	if b[router] == nil {
		b[router] = map[netip.Addr]bool{}
	}
	b[router][pod] = true
}

// texts are what is taken for granted, as parts of a sentence behind "if".
func (b byRouter) texts() []string {
	var out []string
	for _, router := range slices.SortedFunc(maps.Keys(b), netip.Addr.Compare) {
		pods := slices.SortedFunc(maps.Keys(b[router]), netip.Addr.Compare)
		var names []string
		for _, pod := range pods[:min(len(pods), toldNames-1)] {
			names = append(names, pod.String())
		}
		if more := len(pods) - len(names); more > 0 {
			names = append(names, plural(more, "more pod"))
		}
		last := len(names) - 1
		text := strings.Join(names[:last], ", ")
		if last > 0 {
			text += " and "
		}
		out = append(out, fmt.Sprintf("the router %s knows the way to %s", router, text+names[last]))
	}
	return out
}

// routed adds the pods to which a packet's way led by the router.
func (e *exam) routed(into byRouter, j *network.Journey) {
	for i := 1; j != nil && i < len(j.Hops); i++ {
		hop, before := &j.Hops[i], &j.Hops[i-1]
		to := hop.Outcome.Packet.Dst
		if hop.Host == scenarios.RouterName && e.nodes[before.Host] != nil && e.podAt[to] != nil && !e.isNodes(to) {
			into.add(before.Outcome.NextHop, to)
		}
	}
}

// assumedRoutes are the pods of other nodes that the nodes with a snapshot give to a router.
func (e *exam) assumedRoutes() byRouter {
	out := byRouter{}
	for _, node := range e.nodes {
		gateways := gatewaysOf(node.NodeSnapshot)
		for i := range e.topology.Pods {
			pod := &e.topology.Pods[i]
			if pod.Node == node.Hostname || e.topology.Node(pod.Node) == nil {
				continue
			}
			for _, a := range pod.Addresses {
				if via := gateways.to(a); slices.Contains(e.topology.Router, via) {
					out.add(via, a)
				}
			}
		}
	}
	return out
}

// gateways are those of the routes of a node's main table. A large node has a route for each of its pods, so a map finds them.
type gateways struct {
	via     map[netip.Prefix]netip.Addr // not valid for a route that needs no gateway
	lengths []int                       // of these prefixes, the longest first
}

// gatewaysOf reads the main table. Of two routes to the same destination the first counts.
func gatewaysOf(taken *snapshot.NodeSnapshot) *gateways {
	g := &gateways{via: map[netip.Prefix]netip.Addr{}}
	for i := range taken.Routes {
		r := &taken.Routes[i]
		to := r.Dst.Masked()
		if _, known := g.via[to]; known || r.Table != packetsim.TableMain || !to.IsValid() {
			continue
		}
		g.via[to] = r.Via
		if !slices.Contains(g.lengths, to.Bits()) {
			g.lengths = append(g.lengths, to.Bits())
		}
	}
	slices.SortFunc(g.lengths, func(a, b int) int { return cmp.Compare(b, a) })
	return g
}

// to is the gateway to an address; not valid if there is none.
func (g *gateways) to(a netip.Addr) netip.Addr {
	via, _ := g.find(a)
	return via
}

// leadTo says whether there is a route to an address.
func (g *gateways) leadTo(a netip.Addr) bool {
	_, known := g.find(a)
	return known
}

func (g *gateways) find(a netip.Addr) (via netip.Addr, known bool) {
	for _, bits := range g.lengths {
		to, err := a.Prefix(bits)
		if err != nil {
			continue // longer than addresses of this family
		}
		if via, known := g.via[to]; known {
			return via, true
		}
	}
	return netip.Addr{}, false
}
