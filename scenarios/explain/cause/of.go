package cause

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// World is what is known of the hosts beside what a connection tells.
type World struct {
	// Node is the snapshot of a node, by its name; nil for a host that is no node, and for a node without a snapshot.
	Node func(host string) *snapshot.NodeSnapshot
	// All are the snapshots of all nodes, among which a device that is down is looked for.
	All []*snapshot.NodeSnapshot
}

func (w World) node(host string) *snapshot.NodeSnapshot {
	if w.Node == nil {
		return nil
	}
	return w.Node(host)
}

// Of is what stopped a connection, of which the hops are told; false if it was made.
//
// The first thing that went wrong counts: a rule of somebody else that sent the packet elsewhere comes before what happened to it there,
// and the first packet before the reply.
func Of(c *network.Connection, w World) (Cause, bool) {
	if c.Made {
		return Cause{}, false
	}
	if found, ok := Taken(c); ok {
		return found, true
	}
	switch {
	case len(c.Forward.Hops) == 0:
		return Cause{Code: NoSource, What: c.Why, Says: "The client has no address to send from: " + c.Why + "."}, true
	case c.Forward.End != network.EndDelivered:
		found := w.orDown(&c.Forward, ofJourney(&c.Forward, w, thePacket))
		if hop := translator(&c.Forward); hop != nil && isOfWay(found.Code) && isRemembered(hop) {
			return stale(hop), true
		}
		return found, true
	case c.Refused && c.RefusedBy.IsValid() && c.Back != nil && c.Third == nil:
		return nobodyListens(c), true
	case c.Back != nil && c.Back.End != network.EndDelivered:
		return w.orDown(c.Back, w.ofReply(c, ofJourney(c.Back, w, theReply))), true
	case c.Third != nil && c.Third.End != network.EndDelivered:
		return ofJourney(c.Third, w, thePacket), true
	}
	return w.orDown(c.Back, w.untranslated(c)), true
}

// Taken is a rule of others that translated the destination of a connection, whatever became of it then; false if there is none.
func Taken(c *network.Connection) (Cause, bool) {
	for i := range c.Forward.Hops {
		hop := &c.Forward.Hops[i]
		if found, ok := foreignNAT(hop.Host, hop.Input, &hop.Outcome); ok {
			return found, true
		}
	}
	return Cause{}, false
}

// TakenAt is Taken for what became of a packet in one host.
func TakenAt(host string, in inet.Input, outcomes []packetsim.Outcome) (Cause, bool) {
	for i := range outcomes {
		if found, ok := foreignNAT(host, in, &outcomes[i]); ok {
			return found, true
		}
	}
	return Cause{}, false
}

// Bypassed is a rule of others that ended the way of a connection's first packet through the table nat before kube-proxy's rules there,
// though the packet is for a service; false if there is none.
func Bypassed(c *network.Connection) (Cause, bool) {
	for i := range c.Forward.Hops {
		hop := &c.Forward.Hops[i]
		for k := range hop.Outcome.Steps {
			s := &hop.Outcome.Steps[k]
			if s.Rule == nil || s.Table != "nat" || s.Family != "" || servedByNFT(&hop.Outcome) ||
				s.Hook != "PREROUTING" && s.Hook != "OUTPUT" || writerOf(s).IsKubernetes() ||
				s.Rule.Fact.Verdict != netfilter.Accept && (s.Rule.Fact.Verdict != netfilter.Return || s.Chain != s.Hook) {
				continue
			}
			at := setting{host: hop.Host, in: hop.Input, outcome: &hop.Outcome, about: thePacket}
			found := at.cause(ForeignNAT, at.command(s), "%s of %s keeps the packet from kube-proxy's rules", at.ruleOf(s), hop.Host)
			found.Owner, found.Remedy = string(writerOf(s)), at.without(s)
			return found, true
		}
	}
	return Cause{}, false
}

// servedByNFT says whether a packet came to kube-proxy's rules of nftables: a verdict in a table of others keeps none from them.
func servedByNFT(o *packetsim.Outcome) bool {
	return slices.ContainsFunc(o.Steps, func(s packetsim.Step) bool {
		return s.Family != "" && provenance.TableWriter(s.Table, s.Chain) == provenance.KubeProxy
	})
}

// OfOutcome is what stopped a packet in one host; false if the host let it go on. The snapshot is the host's; it may be nil.
func OfOutcome(host string, in inet.Input, o *packetsim.Outcome, node *snapshot.NodeSnapshot) (Cause, bool) {
	if o.Verdict == packetsim.Accept {
		return Cause{}, false
	}
	if found, ok := foreignNAT(host, in, o); ok {
		return found, true
	}
	return stopped(host, in, o, node, thePacket), true
}

// who is what a sentence is about.
type who string

const (
	thePacket who = "the packet"
	theReply  who = "the reply"
)

// ofJourney is what ended a journey that was not delivered.
func ofJourney(j *network.Journey, w World, about who) Cause {
	last := &j.Hops[len(j.Hops)-1]
	switch j.End {
	case network.EndLooped:
		return loop(last, about)
	case network.EndLost:
		if j.Lost != nil && j.Lost.Wire == "" {
			return beyond(last, about, j.Lost)
		}
		return astray(last, about)
	}
	// The kernel calls its own address as a source a martian. A packet that comes back to who has sent it or passed it on goes round, unless
	// its destination was translated to its own sender.
	if before := hostsOf(j)[:len(j.Hops)-1]; last.Outcome.Reason == packetsim.ReasonMartianSource && slices.Contains(before, last.Host) {
		if last.Input.Src == last.Input.Dst {
			return backToItself(last, about)
		}
		return loop(last, about)
	}
	return stopped(last.Host, last.Input, &last.Outcome, w.node(last.Host), about)
}

// stopped is what ended a packet's way in a host: the kernel for a reason of its own, or the last rule or policy that the packet met.
func stopped(host string, in inet.Input, o *packetsim.Outcome, node *snapshot.NodeSnapshot, about who) Cause {
	at := setting{host: host, in: in, outcome: o, node: node, about: about}
	if o.Reason != "" {
		return at.reason()
	}
	if len(o.Steps) == 0 {
		return at.cause(Unexplained, string(o.Verdict), "%s ends at %s without a rule", about, host)
	}
	return at.rule(&o.Steps[len(o.Steps)-1])
}

// foreignNAT is a rule that translates the packet's destination and is neither kube-proxy's nor the kubelet's.
func foreignNAT(host string, in inet.Input, o *packetsim.Outcome) (Cause, bool) {
	for i := range o.Steps {
		s := &o.Steps[i]
		if s.Rule == nil || !translatesDestination(&s.Rule.Fact) || writerOf(s).IsKubernetes() {
			continue
		}
		at := setting{host: host, in: in, outcome: o, about: thePacket}
		c := at.cause(ForeignNAT, at.command(s), "%s of %s translates the destination before kube-proxy's rules can", at.ruleOf(s), host)
		c.Owner, c.Remedy = string(writerOf(s)), at.without(s)
		return c, true
	}
	return Cause{}, false
}

func translatesDestination(f *netfilter.Fact) bool {
	return f.Translation.Kind == netfilter.DNAT || f.Translation.Kind == netfilter.Redirect
}

// nobodyListens is the server's own refusal.
func nobodyListens(c *network.Connection) Cause {
	last := &c.Forward.Hops[len(c.Forward.Hops)-1]
	at := setting{host: c.Server, in: last.Input, outcome: &last.Outcome, about: thePacket}
	return at.cause(NobodyListens, c.Asked.String(), "nothing listens at %s on %s, which refuses the connection", c.Asked, c.Server)
}

// ofReply is the cause of a reply that was stopped. One that conntrack does not know was stopped since it came to a node that has not
// seen the first packet, or does not come to the one that translated it.
func (w World) ofReply(c *network.Connection, stopped Cause) Cause {
	past := false
	if node := translator(&c.Forward); node != nil {
		past = !slices.Contains(hostsOf(c.Back), node.Host)
	}
	if stopped.Code != Liberal || !past && slices.Contains(hostsOf(&c.Forward), stopped.Host) {
		return stopped
	}
	return w.elsewhere(c)
}

// untranslated is the cause of a reply that came to the client from an address which the client did not call: the node that translated the
// destination did not translate the reply back.
func (w World) untranslated(c *network.Connection) Cause {
	node := translator(&c.Forward)
	if node == nil {
		last := &c.Forward.Hops[len(c.Forward.Hops)-1]
		at := setting{host: last.Host, in: last.Input, outcome: &last.Outcome, about: theReply}
		return at.cause(Unexplained, c.Why, "%s", c.Why)
	}
	for i := range c.Back.Hops {
		hop := &c.Back.Hops[i]
		if hop.Host != node.Host {
			continue
		}
		if hop.Outcome.Passed == 0 {
			return w.bridged(hop)
		}
	}
	return w.elsewhere(c)
}

// bridged is a reply that passed the node's bridge from port to port, where neither conntrack nor rules see it.
func (w World) bridged(hop *network.Hop) Cause {
	key := "net.bridge.bridge-nf-call-iptables"
	if hop.Input.Dst.Is6() {
		key = "net.bridge.bridge-nf-call-ip6tables"
	}
	at := setting{host: hop.Host, in: hop.Input, outcome: &hop.Outcome, node: w.node(hop.Host), about: theReply}
	value, known := at.sysctl(key)
	if !known {
		value = "unset (the module br_netfilter is not loaded)"
	}
	c := at.cause(BridgeCalls, key+" = "+value,
		"client and endpoint are behind one bridge of %s, and the reply passes it without coming to conntrack: it keeps the endpoint's address",
		hop.Host)
	c.Remedy = "modprobe br_netfilter && sysctl -w " + key + "=1"
	return c
}

// elsewhere is a reply that does not come by the node that translated the destination.
func (w World) elsewhere(c *network.Connection) Cause {
	node := translator(&c.Forward)
	if node == nil {
		node = &c.Forward.Hops[0]
	}
	at := setting{host: node.Host, in: node.Input, outcome: &node.Outcome, about: theReply}
	found := at.cause(ReplyElsewhere, "the way back from "+c.Server,
		"the reply of %s does not come back by %s, which translated the destination", c.Server, node.Host)
	found.Remedy = "route the way back through " + node.Host + ", or masquerade on the way there"
	return found
}

// translator is the hop that changed the packet's destination; nil if none did.
func translator(j *network.Journey) *network.Hop {
	for i := range j.Hops {
		hop := &j.Hops[i]
		before := netip.AddrPortFrom(hop.Input.Dst, hop.Input.DstPort)
		if netip.AddrPortFrom(hop.Outcome.Packet.Dst, hop.Outcome.Packet.DstPort) != before {
			return hop
		}
	}
	return nil
}

func hostsOf(j *network.Journey) []string {
	var out []string
	for i := range j.Hops {
		out = append(out, j.Hops[i].Host)
	}
	return out
}

// orDown is the cause of a packet that did not find its way, or a device that is down and by which the way would lead: the kernel takes
// the routes by it away.
func (w World) orDown(j *network.Journey, found Cause) Cause {
	if !isOfWay(found.Code) && found.Code != ReplyElsewhere || len(j.Hops) == 0 {
		return found
	}
	passed := hostsOf(j)
	last := &j.Hops[len(j.Hops)-1]
	to := []netip.Addr{last.Outcome.Packet.Dst, last.Outcome.NextHop}
	for _, node := range w.All {
		for i := range node.Devices {
			d := &node.Devices[i]
			if d.Up || !leadsTo(d, to) && !(isNetwork(d) && slices.Contains(passed, node.Hostname)) {
				continue
			}
			at := setting{host: node.Hostname, in: last.Input, outcome: &last.Outcome, about: thePacket}
			c := at.cause(DeviceDown, "device "+d.Name, "device %s of %s is down, and with it the routes by it", d.Name, node.Hostname)
			c.Remedy = restored(d.Name)
			return c
		}
	}
	return found
}

// restored is the remedy of a device that was down, and with it the routes by it.
func restored(device string) string {
	return "restart what makes " + device + " and its routes (the network plugin's pod, or the node's network service): ip link set " +
		device + " up alone brings no route back"
}

// leadsTo says whether one of the addresses is a device's own or in one of its networks.
func leadsTo(d *snapshot.Device, to []netip.Addr) bool {
	return slices.ContainsFunc(d.Addresses, func(a snapshot.Address) bool {
		return slices.ContainsFunc(to, func(t netip.Addr) bool { return t.IsValid() && a.Prefix.Contains(t) })
	})
}

// isNetwork says whether a device is one that network plugins make for the packets of all pods.
func isNetwork(d *snapshot.Device) bool {
	return slices.Contains([]string{"bridge", "vxlan", "ipip", "sit", "wireguard", "geneve"}, d.Kind)
}

// isOfWay says whether a cause is one that a packet meets which goes where nobody is.
func isOfWay(code Code) bool {
	return slices.Contains([]Code{NoRoute, RouteRefuses, Astray, Loop, NoNeighbour, Martian}, code)
}

// isRemembered says whether a host translated the destination by an entry of conntrack: no rule that the packet met did.
func isRemembered(hop *network.Hop) bool {
	return !slices.ContainsFunc(hop.Outcome.Steps, func(s packetsim.Step) bool {
		return s.Rule != nil && translatesDestination(&s.Rule.Fact)
	})
}

// stale is an entry of conntrack that sends packets to who is there no more.
func stale(hop *network.Hop) Cause {
	in, to := &hop.Input, &hop.Outcome.Packet
	at := setting{host: hop.Host, in: *in, outcome: &hop.Outcome, about: thePacket}
	c := at.cause(ConntrackStale,
		fmt.Sprintf("the conntrack entry of %s from %s", netip.AddrPortFrom(in.Dst, in.DstPort), netip.AddrPortFrom(in.Src, in.SrcPort)),
		"conntrack of %s remembers the connection, and sends its packets to %s, which takes none", hop.Host,
		netip.AddrPortFrom(to.Dst, to.DstPort))
	c.Remedy = fmt.Sprintf("conntrack -D -p %s --orig-dst %s --reply-src %s", in.Proto, in.Dst, to.Dst)
	return c
}

func loop(last *network.Hop, about who) Cause {
	at := setting{host: last.Host, in: last.Input, outcome: &last.Outcome, about: about}
	c := at.cause(Loop, at.routeTo(last.Outcome.Packet.Dst), "%s goes round between hosts until its TTL has run out", about)
	c.Remedy = "ip route get " + last.Outcome.Packet.Dst.String()
	return c
}

// backToItself is the end of a packet whose destination was translated to its own sender, and whose source stayed.
func backToItself(last *network.Hop, about who) Cause {
	at := setting{host: last.Host, in: last.Input, outcome: &last.Outcome, about: about}
	return at.cause(Martian, last.Input.Src.String()+" > "+last.Input.Dst.String()+" in "+last.Input.In,
		"%s comes back to %s, which sent it and takes nothing from its own address: no rule masquerades it on the way", about, last.Host)
}

// beyond is the end of what is known: a host sends the packet by a device, and no snapshot shows what is behind it.
func beyond(last *network.Hop, about who, at *network.Loss) Cause {
	s := setting{host: last.Host, in: last.Input, outcome: &last.Outcome, about: about}
	return s.cause(NoSnapshot, "what is behind "+at.Device+" of "+at.Host, "%s sends %s to %s out of %s, and no snapshot shows who is there",
		at.Host, about,
		at.NextHop, at.Device)
}

func astray(last *network.Hop, about who) Cause {
	o := &last.Outcome
	at := setting{host: last.Host, in: last.Input, outcome: o, about: about}
	to := o.Packet.Dst.String()
	if o.NextHop.IsValid() && o.NextHop != o.Packet.Dst {
		to += " by " + o.NextHop.String()
	}
	c := at.cause(Astray, at.routeTo(o.Packet.Dst)+" dev "+o.Out, "%s sends %s to %s out of %s, and no host there has the address",
		last.Host, about, to, o.Out)
	c.Remedy = "ip route get " + o.Packet.Dst.String()
	return c
}

// OfOutcomes are what stopped a packet in one host, or the reply to it where that was walked as well, of all ways that it can take: each
// once.
func OfOutcomes(host string, in inet.Input, outcomes []packetsim.Outcome, node *snapshot.NodeSnapshot) []Cause {
	var out []Cause
	add := func(found Cause, ok bool) {
		if ok && !slices.ContainsFunc(out, func(c Cause) bool { return c.Key() == found.Key() }) {
			out = append(out, found)
		}
	}
	for i := range outcomes {
		o := &outcomes[i]
		add(OfOutcome(host, in, o, node))
		if back := o.Back; back != nil && back.Outcome != nil && !back.Heard && back.Outcome.Verdict != packetsim.Accept {
			add(stopped(host, back.Input, back.Outcome, node, theReply), true)
		}
		if back := o.Back; back != nil && back.Outcome != nil && !back.Heard && back.Outcome.Verdict == packetsim.Accept &&
			back.Outcome.Passed == 0 {
			world := World{Node: func(string) *snapshot.NodeSnapshot { return node }}
			add(world.bridged(&network.Hop{Host: host, Input: back.Input, Outcome: *back.Outcome}), true)
		}
	}
	return out
}
