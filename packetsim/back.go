package packetsim

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Back is the reply to the first packet of a connection, as far as it passes the host that the packet passed. Whoever got the packet is
// taken to answer.
type Back struct {
	// Packet is the reply as it comes to the host, in the PACKET syntax; empty if it does not come. A port that the kernel chose for the
	// packet is one of those that it may choose.
	Packet string `json:"packet,omitempty"`
	// Outcome is what the host does with it; nil if it does not come.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Heard says that the reply leaves the host as the sender of the packet awaits it: from the address that it called, to its own.
	Heard bool `json:"heard"`
	// Elsewhere says that it does not come, as far as is known: who answers has another way to the sender.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Why says why it is not heard, or why that is not known.
	Why string `json:"why,omitempty"`
	// Assumed is what was taken for granted of who answers; empty if nothing that matters was.
	Assumed string `json:"assumed,omitempty"`
	// Input is Packet as data.
	Input inet.Input `json:"-"`
}

// answered has the likely server answer the packet whose walk has just ended, and walks the answer. The connection is still known.
func (h *Host) answered(in *inet.Input, o *Outcome, told text, hooks *familyHooks) {
	if o.Verdict != Accept || !beginsConnection(in, o) {
		return
	}
	given := h.given
	h.given = StateFound
	defer func() { h.given = given }()
	back := h.backOf(in, o)
	o.Back = back
	if back.Packet = back.Input.Full(); back.Why != "" {
		back.Packet = ""
		return
	}
	back.Outcome = &Outcome{}
	if err := h.step(&back.Input, likely{}, told&^guess, hooks, back.Outcome); err != nil {
		back.Outcome, back.Why = nil, "how it is answered is not known: "+err.Error()
		return
	}
	back.judge(in)
}

// beginsConnection says whether a packet is a first one, which its server answers.
func beginsConnection(in *inet.Input, o *Outcome) bool {
	for i := range o.Events {
		if e := &o.Events[i]; e.Kind == EventConntrack && e.State != "NEW" && e.State != "UNTRACKED" {
			return false
		}
	}
	switch {
	case in.Proto == inet.TCP:
		return in.TCPFlags == inet.SYN
	case in.Proto.IsICMP():
		return in.ICMPType == in.Proto.EchoRequestType()
	}
	return in.Proto.HasPorts() && !in.Dst.IsMulticast()
}

// backOf is the answer with the place where it comes to the host, or why it does not come.
func (h *Host) backOf(in *inet.Input, o *Outcome) *Back {
	asked := &o.Packet
	if asked.Carried != nil {
		asked = asked.Carried
	}
	answer := asked.Answer()
	if answer.Proto == inet.TCP {
		answer.TCPFlags = inet.SYN | inet.ACK
	}
	b := &Back{Input: inet.Input{Packet: answer}}
	switch out := h.byName[o.Out]; {
	case o.To == ToLocal:
		b.Input.Local = true
	case o.Packet.Carried != nil:
		outer := o.Packet.Answer()
		outer.SrcPort, outer.DstPort, outer.Carried, outer.VNI = o.Packet.SrcPort, o.Packet.DstPort, &answer, o.Packet.VNI
		b.Input = inet.Input{Packet: outer, In: o.Out}
		b.elsewhere(h, &answer)
	case out.Kind == "bridge":
		h.backByBridge(b, in, o, out)
	default:
		b.Input.In = o.Out
		if o.NextHop != asked.Dst || h.isUplink(o.Out) {
			b.elsewhere(h, &answer)
		}
	}
	return b
}

// backByBridge is the way of an answer from behind a bridge: directly to a neighbour there, else by the bridge's address.
func (h *Host) backByBridge(b *Back, in *inet.Input, o *Outcome, bridge *device) {
	b.Input.In = o.Port
	if o.Port == "" {
		b.Input.In = h.freePort(bridge, in.In)
	}
	if b.Input.In == "" {
		b.Why = fmt.Sprintf("which port of %s leads to %s is not known, so its answer is not followed", bridge.Name, b.Input.Src)
		return
	}
	for i := range bridge.Addresses {
		own := bridge.Addresses[i].Prefix
		if !own.Contains(b.Input.Src) {
			continue
		}
		b.Input.NextHop = own.Addr()
		if own.Contains(b.Input.Dst) {
			b.Input.NextHop = b.Input.Dst
			if own.Addr() != b.Input.Dst && !h.conf.bridgeCalls[familyIndex(&b.Input.Packet)] {
				b.Assumed = fmt.Sprintf("%s is taken to have %s on its link, as %s has, and so to answer %s directly",
					b.Input.Src, own.Masked(), bridge.Name, b.Input.Dst)
			}
		}
		return
	}
}

// freePort is a port of a bridge with nobody behind it, not that by which a packet came; empty if there is none.
func (h *routing) freePort(bridge *device, came string) string {
	for _, dev := range h.devices {
		if dev.Master == bridge.Name && len(dev.Neighbours) == 0 && dev.Name != came {
			return dev.Name
		}
	}
	return ""
}

// isUplink says whether the host sends what it has no other route for by a device, or the device is a tunnel. Machines behind such a device
// have routes of their own; for those behind another device the host is the gateway.
func (h *Host) isUplink(device string) bool {
	switch h.byName[device].Kind {
	case "ipip", "ip6tnl", "sit", "gre", "ip6gre", "wireguard", "geneve":
		return true
	}
	return slices.ContainsFunc(h.routes, func(r route) bool {
		return r.Dst.Bits() == 0 && r.Type == RouteUnicast &&
			(r.Dev == device || slices.ContainsFunc(r.NextHops, func(hop NextHop) bool { return hop.Dev == device }))
	})
}

// elsewhere notes that an answer of a machine behind an uplink does not come back by the host: it does if it is for the host, or for
// somebody for whom the host is the gateway.
func (b *Back) elsewhere(h *Host, answer *inet.Packet) {
	if h.isGatewayTo(answer.Dst) {
		return
	}
	b.Elsewhere = true
	b.Why = fmt.Sprintf("%s answers %s by its own routes, which as far as is known do not pass %s", answer.Src, answer.Dst, h.name)
}

// isGatewayTo says whether machines behind an uplink send what is for an address to the host: it is the host's, or of somebody for whom
// the host is the gateway.
func (h *Host) isGatewayTo(dst netip.Addr) bool {
	if h.fib(dst).isLocal(dst) {
		return true
	}
	to, _, err := h.routeOutput(&flow{dst: dst, in: loopbackName}, true)
	return err == nil && to.out != nil && !h.isUplink(to.out.Name)
}

// judge says whether the sender of a packet takes the answer for one.
func (b *Back) judge(in *inet.Input) {
	o := b.Outcome
	final := o.Packet
	if final.Carried != nil {
		final = *final.Carried
	}
	called, comes := netip.AddrPortFrom(in.Dst, in.DstPort), netip.AddrPortFrom(final.Src, final.SrcPort)
	switch {
	case o.Verdict != Accept:
		b.Why = "the answer of " + b.Input.Src.String() + ": " + o.Summary()
	case comes != called:
		b.Why = fmt.Sprintf("the answer comes from %s, and %s was called", portText(comes), portText(called))
	case in.Src.IsValid() && !(in.Local && in.Src.IsUnspecified()) &&
		netip.AddrPortFrom(final.Dst, final.DstPort) != netip.AddrPortFrom(in.Src, in.SrcPort):
		b.Why = fmt.Sprintf("the answer goes to %s, and %s called", portText(netip.AddrPortFrom(final.Dst, final.DstPort)),
			portText(netip.AddrPortFrom(in.Src, in.SrcPort)))
	default:
		b.Heard = true
	}
}

// portText is an address with its port, if it has one.
func portText(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

// likely is a chance that takes the likelier way.
type likely struct{}

// Draw is true if that is at least as likely as not.
func (likely) Draw(k uint32) bool { return k >= certain/2 }
