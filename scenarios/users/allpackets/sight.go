package allpackets

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// sight is some of the packets of a node that every node has some of.
type sight struct {
	// from says which packets they are, and lacks what a node does not have that has none of them.
	from, lacks string
	// pods, own: the packets of pods, of the node itself; otherwise those from outside.
	pods, own bool
	// toNode: those to the node's own address; otherwise those to all addresses that nodes do not have.
	toNode bool
}

var sights = []*sight{
	{from: "from outside", lacks: "no default route"},
	{from: "from outside to the node's own address", lacks: "no default route", toNode: true},
	{from: "of pods", lacks: "no pods that are known", pods: true},
	{from: "of pods to their node's own address", lacks: "no pods that are known", pods: true, toNode: true},
	{from: "of the node itself", lacks: "no address", own: true},
}

// mostPods is how many pods of a node are looked at.
const mostPods = 8

// cluster is what is known of the nodes for a family.
type cluster struct {
	family  netfilter.Family
	nodes   []clusterNode
	stays   staying
	objects []manifest.Object
	// own are the addresses and ranges that some nodes have and not all of them: their own, and those that they send nowhere. shared are
	// those that all of them have.
	own, shared []netip.Prefix
	// inside are the sources that some nodes reach by another device than the outside, and the ranges of pods.
	inside []netip.Prefix
	// pods are those whose packets are looked at, on all nodes.
	pods map[netip.Addr]bool
	// first is what was seen first: all else is put beside it.
	first *forall.Fates
	// unlike are notes about pods of a node that are treated differently from most of its pods.
	unlike []string
}

// clusterNode is a node of it.
type clusterNode struct {
	name    string
	host    *packetsim.Host
	outside string // the device of the default route; empty: there is none
	address netip.Addr
	pods    []podAt
}

// podAt is a pod's address and the device by which its packets come.
type podAt struct {
	address netip.Addr
	device  string
}

// far are addresses that no cluster has (RFC 5737, RFC 3849): the way there is the one to the outside.
func far(family netfilter.Family) netip.Addr {
	if family == netfilter.IPv6 {
		return netip.MustParseAddr("2001:db8::10")
	}
	return netip.MustParseAddr("198.51.100.10")
}

func newCluster(nodes []Side, objects []manifest.Object, family netfilter.Family) *cluster {
	c := &cluster{family: family, objects: objects, pods: map[netip.Addr]bool{}, stays: stayingOf(objects, family)}
	has := map[netip.Prefix]int{}
	inside := map[netip.Prefix]bool{}
	for i := range nodes {
		n := clusterNode{name: nodes[i].Name, host: nodes[i].Host}
		n.outside, _ = n.host.WayTo(far(family)) // empty if there is no way
		if address, err := n.host.SourceFor(far(family)); err == nil && n.host.IsLocal(address) {
			n.address = address
		}
		config := n.host.Config()
		for _, p := range ownOf(&config, family) {
			has[p]++
		}
		for _, r := range config.Routes {
			if p := r.Dst.Masked(); isOf(p, family) && p.Bits() > 0 && !leadsBy(&r, n.outside) {
				inside[p] = true
			}
		}
		n.pods = c.podsOf(&n, &config)
		for _, pod := range n.pods {
			c.pods[pod.address] = true
		}
		c.nodes = append(c.nodes, n)
	}
	for _, p := range podRanges(objects, family) {
		inside[p] = true
	}
	for p, count := range has {
		if inside[p] = true; count < len(nodes) {
			c.own = append(c.own, p)
		} else {
			c.shared = append(c.shared, p)
		}
	}
	for p := range inside {
		c.inside = append(c.inside, p)
	}
	slices.SortFunc(c.own, comparePrefixes)
	slices.SortFunc(c.shared, comparePrefixes)
	slices.SortFunc(c.inside, comparePrefixes)
	return c
}

// podRanges are the ranges of pods that the nodes have.
func podRanges(objects []manifest.Object, family netfilter.Family) (out []netip.Prefix) {
	for _, node := range manifest.Of[*corev1.Node](objects) {
		for _, text := range append(slices.Clone(node.Spec.PodCIDRs), node.Spec.PodCIDR) {
			if p, err := netip.ParsePrefix(text); err == nil && isOf(p, family) {
				out = append(out, p.Masked())
			}
		}
	}
	return out
}

func comparePrefixes(a, b netip.Prefix) int {
	if order := a.Addr().Compare(b.Addr()); order != 0 {
		return order
	}
	return a.Bits() - b.Bits()
}

func isOf(p netip.Prefix, family netfilter.Family) bool {
	return p.IsValid() && p.Addr().Is6() == (family == netfilter.IPv6)
}

// ownOf are the addresses of a host, each once, and the ranges that it keeps to itself or sends nowhere.
func ownOf(config *packetsim.HostConfig, family netfilter.Family) (out []netip.Prefix) {
	add := func(p netip.Prefix) {
		if isOf(p, family) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for i := range config.Devices {
		for _, a := range config.Devices[i].Addresses {
			add(netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen()))
		}
	}
	for _, r := range config.Routes {
		if r.Type != "" && r.Type != packetsim.RouteUnicast {
			add(r.Dst.Masked())
		}
	}
	return out
}

// leadsBy says whether a route leads by a device alone.
func leadsBy(r *packetsim.Route, device string) bool {
	if r.Type != "" && r.Type != packetsim.RouteUnicast {
		return false
	}
	if len(r.NextHops) == 0 {
		return r.Dev == device
	}
	return !slices.ContainsFunc(r.NextHops, func(h packetsim.NextHop) bool { return h.Dev != device })
}

// podsOf are pods of a node: those of the objects, or without any those that have a route of their own.
func (c *cluster) podsOf(n *clusterNode, config *packetsim.HostConfig) (out []podAt) {
	add := func(a netip.Addr) {
		device, err := n.host.WayTo(a)
		if err == nil && device != n.outside && device != "lo" && !n.host.IsLocal(a) && a.Is6() == (c.family == netfilter.IPv6) {
			out = append(out, podAt{a, device})
		}
	}
	for _, pod := range manifest.Of[*corev1.Pod](c.objects) {
		gone := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName != n.host.Name() || pod.Spec.HostNetwork || gone {
			continue
		}
		for _, ip := range pod.Status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				add(a)
			}
		}
	}
	if len(c.objects) == 0 {
		for _, r := range config.Routes {
			if r.Dst.IsSingleIP() && (r.Type == "" || r.Type == packetsim.RouteUnicast) && !r.Via.IsValid() && isOf(r.Dst, c.family) {
				add(r.Dst.Addr())
			}
		}
	}
	slices.SortFunc(out, func(a, b podAt) int { return a.address.Compare(b.address) })
	out = slices.Compact(out)
	return out[:min(len(out), mostPods)]
}

// seen is what a node does with the packets of a sight: nothing if it has none, several if as many of its pods fare in different ways.
func (c *cluster) seen(s *sight, i int, fates *forall.Fates) []*seen {
	n := &c.nodes[i]
	view := forall.View{Fate: c.lookedAt(n, s)}
	if s.toNode {
		view.Dst, view.Without = n.address, slices.Clone(c.stays.ports)
	} else {
		view.Without = c.stays.without(c.shared)
		for _, p := range c.own {
			view.Without = append(view.Without, forall.Packets{Dst: p})
		}
	}
	switch {
	case !n.address.IsValid():
		return nil
	case s.pods:
		return c.seenOfPods(s, n, view, fates)
	case s.own:
		view.Src = n.address
	case n.outside == "":
		return nil
	default:
		view.In = n.outside
		for _, p := range c.inside {
			view.Without = append(view.Without, forall.Packets{Src: p})
		}
	}
	return []*seen{c.look(fates, view)}
}

// look is the fates seen by a view, beside all that was seen before.
func (c *cluster) look(fates *forall.Fates, view forall.View) *seen {
	view.Against = c.first
	out := &seen{fates.Seen(view), view}
	if c.first == nil {
		c.first = out.fates
	}
	return out
}

// seenOfPods is what a node does with the packets of most of its pods.
func (c *cluster) seenOfPods(s *sight, n *clusterNode, view forall.View, fates *forall.Fates) (most []*seen) {
	var all []*seen
	for _, pod := range n.pods {
		view.In, view.Src = pod.device, pod.address
		all = append(all, c.look(fates, view))
	}
	classes := alike(all)
	for _, class := range classes {
		if len(class) == len(classes[0]) {
			most = append(most, all[class[0]])
		}
	}
	if len(classes) > 1 {
		c.unlike = append(c.unlike, fmt.Sprintf("packets %s of %d of %d pods of %s that are treated differently from others there (IPv%d)",
			s.from, len(all)-len(classes[0]), len(all), n.name, c.family))
	}
	return most
}

// lookedAt is how a fate on a node is looked at: without its device, with one address for all that are the node's own, as forwarded without
// a choice of source where the end is on some node, and without the ports that programs of the node have chosen.
func (c *cluster) lookedAt(n *clusterNode, s *sight) func(forall.Fate) forall.Fate {
	mine := netip.IPv4Unspecified()
	if c.family == netfilter.IPv6 {
		mine = netip.IPv6Unspecified()
	}
	return func(f forall.Fate) forall.Fate {
		if f.Unmodelled != "" {
			return f
		}
		if f.Out = ""; f.Dst.IsLoopback() {
			f.DstPort = 0
		}
		onNode := f.Dst.IsValid() && slices.ContainsFunc(c.own, func(p netip.Prefix) bool { return p.Contains(f.Dst) })
		switch {
		case onNode && f.Verdict == packetsim.Accept:
			f.To, f.Src, f.Mark = packetsim.ToForward, netip.Addr{}, 0
		case s.pods && f.Dst.IsValid() && c.pods[f.Dst]:
			f.Src, f.Mark = netip.Addr{}, 0 // one that reaches itself is masqueraded
		case s.own && n.host.IsLocal(f.Src):
			f.Src = netip.Addr{} // as it was, whichever of them it is
		case f.Src.IsValid() && n.host.IsLocal(f.Src):
			f.Src = mine
		}
		return f
	}
}

// leftOut is what was left out.
func (c *cluster) leftOut() []string {
	out := []string{
		"devices", "which of a node's own addresses is a source", "whether what a node serves itself, or a pod sends to pods looked at, is " +
			"masqueraded", "ports of programs at loopback addresses",
	}
	if len(c.own) > 0 {
		out = append(out, fmt.Sprintf("destinations that not all nodes have or send nowhere (IPv%d)", c.family))
	}
	if len(c.inside) > 0 {
		out = append(out, fmt.Sprintf("sources inside the cluster from outside (IPv%d)", c.family))
	}
	if len(c.stays.services) > 0 {
		out = append(out, "services whose traffic stays on a node or in a zone: "+strings.Join(c.stays.services, ", "))
	}
	return append(out, c.unlike...)
}
