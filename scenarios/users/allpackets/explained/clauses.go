package explained

import (
	"math"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// The numbers of packets to destinations that clauses are about.
const (
	toOthers  = iota
	toService // at a cluster IP, an external IP or a load balancer's address
	toLoopbackNodePort
	toLoopbackHealthCheck
	toNodePort // at an address of the node
	toUnusedPort
	toUnassigned
	toClusterIP // of a protocol without ports
)

// differing is packets that are treated differently, by modes.
type differing struct {
	*forall.Apart
	// iptables and nftables are what becomes of them in either mode, bare what does without a kube-proxy.
	iptables, nftables, bare forall.Distribution
	// promised is what the objects promise before the change, and alone what mode nftables does with no rules of others; nil: not asked.
	promised, alone forall.Distribution
}

// clauses are those by which the modes differ, as predicates on packets.
type clauses struct {
	// nftables is the side in mode nftables; -1: both are in one mode, and no clause counts.
	nftables int
	// firstOnly says that mode nftables serves node ports at the first addresses of the Node alone.
	firstOnly bool
	numbered  []forall.Numbered
	// remote are the endpoints that are known to be on other nodes.
	remote map[netip.Addr]bool
}

// predicates say of each clause which packets are treated differently by it.
var predicates = []struct {
	clause string
	covers func(*clauses, *differing) bool
}{
	{"no-node-port-at-loopback", func(_ *clauses, d *differing) bool {
		return d.Number == toLoopbackNodePort && same(d.nftables, d.bare)
	}},
	{"node-port-at-primary-addresses", func(c *clauses, d *differing) bool {
		return c.firstOnly && d.Number == toNodePort && same(d.nftables, d.bare)
	}},
	{"unserved-node-port-blocked", func(_ *clauses, d *differing) bool {
		return d.Number == toNodePort && (all(d.iptables, packetsim.Drop) || all(d.iptables, packetsim.Reject)) && same(d.nftables, d.bare)
	}},
	{"unused-port-rejected", func(_ *clauses, d *differing) bool {
		return d.Number == toUnusedPort && same(d.iptables, d.bare) && all(d.nftables, packetsim.Reject)
	}},
	{"unassigned-cluster-ip-dropped", func(_ *clauses, d *differing) bool {
		return d.Number == toUnassigned && same(d.iptables, d.bare) && all(d.nftables, packetsim.Drop)
	}},
	{"ping-of-cluster-ip", func(_ *clauses, d *differing) bool {
		return d.Number == toClusterIP && same(d.iptables, d.bare) &&
			(all(d.nftables, packetsim.Reject) || same(with(d.nftables, withoutSource), with(d.bare, withoutSource)))
	}},
	{"invalid-packet-passes", func(_ *clauses, d *differing) bool {
		return d.Space.Class == forall.Invalid && all(d.iptables, packetsim.Drop) && same(d.nftables, d.bare)
	}},
	{"node-to-external-without-endpoint", func(_ *clauses, d *differing) bool {
		return d.Number == toService && slices.Equal(d.Space.In, []string{""}) && same(d.iptables, d.bare) && all(d.nftables, packetsim.Reject)
	}},
	{"health-check-port-open", func(_ *clauses, d *differing) bool {
		return d.Number == toLoopbackHealthCheck && all(d.nftables, packetsim.Drop) && untouched(d.iptables)
	}},
	{"loopback-routed", func(_ *clauses, d *differing) bool {
		if !isLoopback(d.Space.Dst) && !isLoopback(d.Space.Src) {
			return false
		}
		if all(d.iptables, packetsim.Drop) {
			return same(d.nftables, d.bare) // the guard
		}
		known := d.Space.Class == forall.Established || d.Space.Class == forall.Replying || d.Space.Class == forall.Related
		passes := untouched(d.iptables) && (isLoopback(d.Space.Src) || known)
		toService := d.Number == toService || d.Number == toNodePort || d.Number == toLoopbackNodePort
		return all(d.nftables, packetsim.Drop) && (toService || passes)
	}},
	{"hairpin-of-another-node", (*clauses).hairpin},
	{"unknown-client", func(_ *clauses, d *differing) bool { // no client has a link-local address
		toService := d.Number == toService || d.Number == toNodePort
		return toService && d.Space.Src.First.IsLinkLocalUnicast() && d.Space.Src.Last.IsLinkLocalUnicast()
	}},
	{"firewall-decides", func(_ *clauses, d *differing) bool {
		return d.alone != nil && same(with(d.alone, withoutSource), with(d.iptables, withoutSource)) && fewerPass(d.nftables, d.iptables)
	}},
}

// isLoopback says whether addresses are all loopback ones of IPv4.
func isLoopback(a forall.Addrs) bool {
	return a.First.Is4() && a.First.IsLoopback() && a.Last.IsLoopback()
}

// hairpin says whether packets of an endpoint on another node come back to it, and keep their source in mode nftables alone.
func (c *clauses) hairpin(d *differing) bool {
	src := d.Space.Src.First
	if src != d.Space.Src.Last || !c.remote[src] {
		return false
	}
	return same(d.nftables, with(d.iptables, func(f forall.Fate) forall.Fate {
		if f.Dst == src {
			f.Src = netip.Addr{}
		}
		return f
	}))
}

// judge says what is said of packets.
func (c *clauses) judge(d *differing) verdict {
	if clause := c.covering(d); clause != "" {
		return verdict{clause: clause}
	}
	if d.promised == nil || same(d.promised, d.Here) {
		return verdict{}
	}
	promised := *d
	promised.Apart = &forall.Apart{Space: d.Space, Here: d.promised, There: d.There, Number: d.Number}
	c.byModes(&promised)
	return verdict{wrongBefore: same(d.promised, d.There) || c.covering(&promised) != ""}
}

// covering is the clause by which packets are treated differently; empty: there is none.
func (c *clauses) covering(d *differing) string {
	if c.nftables < 0 {
		return ""
	}
	for _, p := range predicates {
		if p.covers(c, d) {
			return p.clause
		}
	}
	return ""
}

// differing is packets with what is known of them by modes.
func (c *clauses) differing(found *forall.Apart) *differing {
	d := &differing{Apart: found}
	if len(found.Others) > 0 {
		d.bare = found.Others[0]
	}
	if len(found.Others) > 1 {
		d.promised, d.alone = found.Others[1], found.Others[2]
	}
	c.byModes(d)
	return d
}

func (c *clauses) byModes(d *differing) {
	if d.iptables, d.nftables = d.Here, d.There; c.nftables == 0 {
		d.iptables, d.nftables = d.There, d.Here
	}
}

// tolerance is what a draw of iptables that counts as 1/n may be off by.
const tolerance = 1e-6

// same says whether packets have the same fates with the same chances.
func same(a, b forall.Distribution) bool {
	return slices.EqualFunc(a, b, func(x, y forall.Share) bool {
		return x.Fate == y.Fate && math.Abs(x.Probability-y.Probability) < tolerance
	})
}

// all says whether all packets have a verdict.
func all(d forall.Distribution, v packetsim.Verdict) bool {
	return !slices.ContainsFunc(d, func(s forall.Share) bool { return s.Fate.Unmodelled != "" || s.Fate.Verdict != v })
}

// untouched says whether all packets pass as they were sent.
func untouched(d forall.Distribution) bool {
	return !slices.ContainsFunc(d, func(s forall.Share) bool {
		return s.Fate != forall.Fate{Verdict: packetsim.Accept, To: s.Fate.To, Out: s.Fate.Out}
	})
}

// with is the fates as they are looked at, those together that are alike then, in the order in which they first come.
func with(d forall.Distribution, look func(forall.Fate) forall.Fate) (out forall.Distribution) {
	for _, s := range d {
		fate := look(s.Fate)
		at := slices.IndexFunc(out, func(o forall.Share) bool { return o.Fate == fate })
		if at < 0 {
			at, out = len(out), append(out, forall.Share{Fate: fate})
		}
		out[at].Probability += s.Probability
	}
	return out
}

func withoutSource(f forall.Fate) forall.Fate {
	f.Src = netip.Addr{}
	return f
}

// fewerPass says whether packets pass as in other fates, or are stopped.
func fewerPass(d, than forall.Distribution) bool {
	than = with(than, withoutSource)
	for _, s := range with(d, withoutSource) {
		if s.Fate.Verdict != packetsim.Accept {
			continue
		}
		at := slices.IndexFunc(than, func(o forall.Share) bool { return o.Fate == s.Fate })
		if at < 0 || s.Probability > than[at].Probability+tolerance {
			return false
		}
	}
	return true
}

// clausesOf are the clauses that count for a node.
func clausesOf(n *Node) *clauses {
	c := &clauses{nftables: -1, firstOnly: n.FirstOnly, remote: map[netip.Addr]bool{}}
	if n.Modes[0] == n.Modes[1] || n.Modes[0] == "" {
		return c
	}
	c.nftables = slices.Index(n.Modes[:], oracle.NFTables)
	for _, r := range n.Ranges {
		c.number(addressesOf(r), toUnassigned, nil, nil)
	}
	c.services(n.Objects)
	c.nodePorts(n)
	for _, slice := range manifest.Of[*discoveryv1.EndpointSlice](n.Objects) {
		for i := range slice.Endpoints {
			if e := &slice.Endpoints[i]; e.NodeName != nil && *e.NodeName != n.Name {
				for _, text := range e.Addresses {
					for _, a := range addressOf(text) {
						c.remote[a.First] = true
					}
				}
			}
		}
	}
	return c
}

func (c *clauses) number(to forall.Addrs, number int, protos []uint8, ports []uint16) {
	c.numbered = append(c.numbered, forall.Numbered{Dst: to, Protos: protos, Ports: ports, Number: number})
}

// services numbers packets to the addresses of services.
func (c *clauses) services(objects []manifest.Object) {
	services := manifest.Of[*corev1.Service](objects)
	for _, s := range services {
		for _, a := range clusterIPsOf(s) {
			c.number(a, toClusterIP, nil, nil)
			c.number(a, toUnusedPort, []uint8{uint8(inet.TCP), uint8(inet.UDP), uint8(inet.SCTP)}, nil)
		}
	}
	for _, s := range services { // the address of one may be another one's too
		addresses := clusterIPsOf(s)
		for _, text := range s.Spec.ExternalIPs {
			addresses = append(addresses, addressOf(text)...)
		}
		for i := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, addressOf(s.Status.LoadBalancer.Ingress[i].IP)...)
		}
		for _, a := range addresses {
			for i := range s.Spec.Ports {
				c.number(a, toService, []uint8{protoOf(s.Spec.Ports[i].Protocol)}, []uint16{uint16(s.Spec.Ports[i].Port)})
			}
		}
	}
}

func clusterIPsOf(s *corev1.Service) (out []forall.Addrs) {
	for _, text := range slices.Compact(append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...)) {
		out = append(out, addressOf(text)...)
	}
	return out
}

// addressOf is the address that a text is; nothing if it is none, as of a headless service.
func addressOf(text string) []forall.Addrs {
	a, is := netip.AddrFromSlice(netutils.ParseIPSloppy(text)) // the API has taken addresses with leading zeros
	if !is {
		return nil
	}
	a = a.Unmap()
	return []forall.Addrs{{First: a, Last: a}}
}

// nodePorts numbers packets to node ports, at loopback addresses and at the node's own.
func (c *clauses) nodePorts(n *Node) {
	ports := map[uint8][]uint16{}
	var checks []uint16
	for _, s := range manifest.Of[*corev1.Service](n.Objects) {
		if port := s.Spec.HealthCheckNodePort; port != 0 {
			checks = append(checks, uint16(port))
		}
		for i := range s.Spec.Ports {
			if p := &s.Spec.Ports[i]; p.NodePort != 0 {
				ports[protoOf(p.Protocol)] = append(ports[protoOf(p.Protocol)], uint16(p.NodePort))
			}
		}
	}
	number := func(to forall.Addrs, as int) {
		for _, proto := range []inet.Proto{inet.TCP, inet.UDP, inet.SCTP} {
			if len(ports[uint8(proto)]) > 0 {
				c.number(to, as, []uint8{uint8(proto)}, ports[uint8(proto)])
			}
		}
	}
	for _, side := range n.Sides {
		for _, device := range side.Host.Config().Devices {
			for i := range device.Addresses {
				if a := device.Addresses[i].Prefix.Addr(); !a.IsLoopback() {
					number(forall.Addrs{First: a, Last: a}, toNodePort)
				}
			}
		}
	}
	for _, loopback := range []string{"127.0.0.0/8", "::1/128"} {
		number(addressesOf(netip.MustParsePrefix(loopback)), toLoopbackNodePort)
	}
	if len(checks) > 0 {
		c.number(addressesOf(netip.MustParsePrefix("127.0.0.0/8")), toLoopbackHealthCheck, []uint8{uint8(inet.TCP)}, checks)
	}
}

func protoOf(p corev1.Protocol) uint8 {
	switch p {
	case corev1.ProtocolUDP:
		return uint8(inet.UDP)
	case corev1.ProtocolSCTP:
		return uint8(inet.SCTP)
	}
	return uint8(inet.TCP)
}

// addressesOf are the addresses of a prefix.
func addressesOf(p netip.Prefix) forall.Addrs {
	last := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(last); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(last)
	return forall.Addrs{First: p.Masked().Addr(), Last: a}
}
