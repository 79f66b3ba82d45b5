package story_test

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/gen/rapidgen"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// drawn is a node of a generated cluster.
type drawn struct {
	host *packetsim.Host
	book *names.Book

	calls     []inet.Packet // to the ports of services
	addresses []netip.Addr
	ports     []uint16
	devices   []string
	sent      []walked // what went through the node, and left its connections there
}

type walked struct {
	in  inet.Input
	out packetsim.Outcome
}

// drawCluster draws a cluster, and a node of it after its proxier's first sync, to whose rules somebody may have added others.
func drawCluster(t *rapid.T) *drawn {
	resolved, err := scenarios.Resolve(rapidgen.Scenario(gen.Options{Steps: 1}).Draw(t, "cluster"))
	must(t, err)
	world, err := sim.NewWorld(t.Context(),
		resolved.With(rapid.SampledFrom([]netfilter.Dialect{netfilter.Legacy, netfilter.NFT}).Draw(t, "tool")),
		sim.Options{Direct: true})
	must(t, err)
	plan := world.Plan()
	c := &drawn{book: names.New(resolved.Objects), ports: []uint16{1, 53, 80, 8080, 40000}}
	node := rapid.SampledFrom(resolved.Nodes).Draw(t, "node").Name
	must(t, world.Sync(t.Context(), []string{node}))
	for i := range plan.Hosts {
		for _, d := range plan.Hosts[i].Devices {
			for _, a := range d.Addresses {
				c.addresses = append(c.addresses, a.Prefix.Addr())
			}
			if plan.Hosts[i].Name == node {
				c.devices = append(c.devices, d.Name)
			}
		}
	}
	c.host = world.Host(node)
	for _, o := range resolved.Objects {
		if s, ok := o.Object.(*corev1.Service); ok {
			c.addService(s)
		}
	}
	for _, special := range []string{"224.0.0.251", "255.255.255.255", "127.0.0.1", "192.0.2.77", "ff02::1", "::1", "2001:db8::77"} {
		c.addresses = append(c.addresses, netip.MustParseAddr(special))
	}
	c.disturb(t)
	return c
}

func (c *drawn) addService(s *corev1.Service) {
	texts := append(slices.Clone(s.Spec.ClusterIPs), s.Spec.ExternalIPs...)
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		texts = append(texts, ingress.IP)
	}
	protocols := map[corev1.Protocol]inet.Proto{"TCP": inet.TCP, "UDP": inet.UDP, "SCTP": inet.SCTP}
	for _, p := range s.Spec.Ports {
		c.ports = append(c.ports, uint16(p.Port), uint16(p.NodePort))
	}
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		c.addresses = append(c.addresses, a)
		for _, p := range s.Spec.Ports {
			c.calls = append(c.calls, inet.Packet{Dst: a, DstPort: uint16(p.Port), Proto: protocols[p.Protocol]})
		}
	}
}

// disturb adds rules of others, to those of the proxier's backend or to the other one.
func (c *drawn) disturb(t *rapid.T) {
	kernel := fakekernel.Of(c.host.Netfilter())
	dialect := kernel.Dialect()
	if rapid.Bool().Draw(t, "beside") {
		dialect = dialect.Other()
		kernel.Add(dialect)
		host := c.host.Config()
		h, err := packetsim.NewHost(host)
		must(t, err)
		c.host = h
	}
	for _, rule := range []string{
		"-t raw -I PREROUTING -j CT --notrack", "-t filter -I FORWARD -j DROP", "-t filter -I INPUT -j REJECT",
		"-t filter -I FORWARD -m statistic --mode random --probability 0.25 -j DROP", "-t nat -A POSTROUTING -j MASQUERADE",
		"-t filter -I OUTPUT -p tcp -j REJECT --reject-with tcp-reset", "-t mangle -I PREROUTING -j MARK --set-mark 7",
		"-t filter -I FORWARD -m statistic --mode random --probability 0.5 -j REJECT",
	} {
		if !rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(0, 9).Draw(t, "n") == 9 }).Draw(t, rule) {
			continue
		}
		for _, tool := range []string{"iptables", "ip6tables"} {
			out, err := kernel.Exec().Command(tool+"-"+string(dialect), strings.Fields(rule)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s %s: %v: %s", tool, rule, err, out)
			}
		}
	}
}

// drawInput draws a packet: one to an address of the cluster, or one that belongs to a connection which the node knows.
func (c *drawn) drawInput(t *rapid.T) inet.Input {
	if len(c.sent) > 0 && rapid.Bool().Draw(t, "follows") {
		return c.drawFollower(t)
	}
	var in inet.Input
	in.Src = rapid.SampledFrom(c.addresses).Draw(t, "source")
	in.Dst = rapid.SampledFrom(slices.DeleteFunc(slices.Clone(c.addresses), func(a netip.Addr) bool { return a.Is4() != in.Src.Is4() })).
		Draw(t, "destination")
	in.Proto = rapid.SampledFrom([]inet.Proto{inet.TCP, inet.UDP, inet.SCTP, inet.ICMP}).Draw(t, "protocol")
	switch {
	case in.Proto == inet.ICMP && in.Src.Is4():
		in.ICMPType, in.ICMPID = 8, 5
	case in.Proto == inet.ICMP:
		in.Proto, in.ICMPType, in.ICMPID = inet.ICMPv6, 128, 5
	default:
		in.SrcPort, in.DstPort = 40000, rapid.SampledFrom(c.ports).Draw(t, "port")
	}
	if own := c.callsOf(in.Src); len(own) > 0 && rapid.Bool().Draw(t, "calls") {
		called := rapid.SampledFrom(own).Draw(t, "service")
		in.Proto, in.Dst, in.SrcPort, in.DstPort, in.ICMPType, in.ICMPID = called.Proto, called.Dst, 40000, called.DstPort, 0, 0
	}
	if in.Proto == inet.TCP {
		in.TCPFlags = rapid.SampledFrom([]inet.TCPFlags{inet.SYN, inet.ACK, inet.RST, inet.SYN | inet.FIN}).Draw(t, "flags")
	}
	in.TTL = rapid.SampledFrom([]uint8{0, 1, 64}).Draw(t, "ttl")
	if c.host.IsLocal(in.Src) {
		in.Local = true
	} else {
		in.In = rapid.SampledFrom(c.devices).Draw(t, "device")
	}
	return in
}

// callsOf are those to services of an address's family.
func (c *drawn) callsOf(from netip.Addr) []inet.Packet {
	return slices.DeleteFunc(slices.Clone(c.calls), func(p inet.Packet) bool { return p.Dst.Is4() != from.Is4() })
}

// drawFollower draws a packet of a connection, a reply of it or an error about it.
func (c *drawn) drawFollower(t *rapid.T) inet.Input {
	first := rapid.SampledFrom(c.sent).Draw(t, "of")
	in := first.in
	if in.Proto == inet.TCP {
		in.TCPFlags = rapid.SampledFrom([]inet.TCPFlags{inet.ACK, inet.SYN, inet.RST}).Draw(t, "flags")
	}
	kind := rapid.SampledFrom([]string{"again", "anew", "reply", "error"}).Draw(t, "kind")
	p := first.out.Packet
	if kind == "anew" && in.SrcPort != 0 {
		in.SrcPort, in.TCPFlags = 40001, first.in.TCPFlags
		return in
	}
	if kind == "again" || !p.Dst.IsValid() || !p.Src.IsValid() {
		return in
	}
	back := inet.Input{Packet: inet.Packet{Proto: p.Proto, Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort,
		TCPFlags: in.TCPFlags, ICMPType: p.ICMPType, ICMPID: p.ICMPID}}
	switch {
	case p.Proto == inet.ICMP:
		back.ICMPType = 0
	case p.Proto == inet.ICMPv6:
		back.ICMPType = 129
	}
	if kind == "error" && !p.Proto.IsICMP() {
		quoted := p
		back = inet.Input{Packet: inet.Packet{Proto: inet.ICMP, ICMPType: 3, ICMPCode: 3, Src: p.Dst, Dst: p.Src, Inner: &quoted}}
		if p.Src.Is6() {
			back.Proto, back.ICMPType, back.ICMPCode = inet.ICMPv6, 1, 4
		}
	}
	if back.In = first.out.Out; back.In == "" || !slices.Contains(c.devices, back.In) {
		back.In, back.Local = "", true
	}
	return back
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}
