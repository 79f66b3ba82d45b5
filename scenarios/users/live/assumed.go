package live

import (
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
type byRouter map[netip.Addr][]netip.Addr

func (b byRouter) add(router, pod netip.Addr) {
	if i, known := slices.BinarySearchFunc(b[router], pod, netip.Addr.Compare); !known {
		b[router] = slices.Insert(b[router], i, pod)
	}
}

// texts are what is taken for granted, as parts of a sentence behind "if".
func (b byRouter) texts() []string {
	var out []string
	for _, router := range slices.SortedFunc(maps.Keys(b), netip.Addr.Compare) {
		pods := b[router]
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
		for i := range e.topology.Pods {
			pod := &e.topology.Pods[i]
			if pod.Node == node.Hostname || e.topology.Node(pod.Node) == nil {
				continue
			}
			for _, a := range pod.Addresses {
				if via := gatewayTo(node.NodeSnapshot, a); slices.Contains(e.topology.Router, via) {
					out.add(via, a)
				}
			}
		}
	}
	return out
}

// gatewayTo is the gateway of a node's main table to an address; not valid if there is none.
func gatewayTo(taken *snapshot.NodeSnapshot, a netip.Addr) netip.Addr {
	best := -1
	var via netip.Addr
	for i := range taken.Routes {
		if r := &taken.Routes[i]; r.Table == packetsim.TableMain && r.Dst.Contains(a) && r.Dst.Bits() > best {
			best, via = r.Dst.Bits(), r.Via
		}
	}
	return via
}
