package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// VXLAN is a tunnel that carries Ethernet frames in UDP.
type VXLAN struct {
	ID uint32
	// Port is the destination port; 0 is Linux's 8472.
	Port uint16
	// Local is the source of what is sent; unset: as for an unbound socket.
	Local netip.Addr
	// Remotes are the machines that the neighbours on the tunnel are behind: what its forwarding database and the neighbour table know
	// together.
	Remotes map[netip.Addr]netip.Addr
}

const vxlanPort = 8472

func (v *VXLAN) port() uint16 {
	if v.Port == 0 {
		return vxlanPort
	}
	return v.Port
}

// vxlanHeaders is the size of what a tunnel puts before a packet, beside the IP header: UDP, VXLAN, Ethernet.
const vxlanHeaders = 8 + 8 + 14

// maxTunnels is how often a packet may be put into another one.
const maxTunnels = 8

// encapsulate puts the packet into a UDP packet, which then is walked out like one of the host's own: the mark stays, the connection
// does not (vxlan_xmit_one in drivers/net/vxlan/vxlan_core.c, skb_scrub_packet). The route is looked up without the mark.
func (w *walk) encapsulate(s *skb) {
	v := s.path.out.VXLAN
	remote, known := v.Remotes[s.path.nextHop]
	if !known {
		w.dropSaying(ReasonNoRemote, "no remote of "+s.path.out.Name+" is known for "+s.path.nextHop.String())
		return
	}
	inner := s.Packet
	inner.Mark, inner.Socket = 0, nil
	outer := inet.Packet{Proto: inet.UDP, Src: v.Local, Dst: remote, SrcPort: tunnelPort(&inner), DstPort: v.port(), Mark: s.Mark,
		TTL: uint8(w.h.conf.defaultTTL), Carried: &inner, VNI: v.ID, Socket: &inet.Socket{None: true}}
	if s.local {
		outer.Socket = s.Socket
	}
	outer.Length = outer.Size() - 8 + vxlanHeaders + inner.Size()
	way, src, err := w.h.routeOutput(&flow{dst: remote, src: v.Local, in: loopbackName, chance: w.chance}, false)
	if w.tells() {
		outer.Src = src
		w.tellTunnel(EventEncapsulate, s, &skb{Packet: outer})
		w.tellRoute(way, err, Routing{})
	}
	if err != nil {
		w.refuse(err)
		w.outcome.Why = "tunnel: " + err.Error()
		return
	}
	if w.tunnels++; w.tunnels > maxTunnels {
		w.dropSaying(ReasonTunnelsLoop, "tunnel "+way.out.Name+" leads into itself")
		return
	}
	outer.Src = src
	*s = skb{Packet: outer, local: true, path: way, routed: true}
	w.sendRouted(s)
}

// tunnelPort is the source port of the outer packet, which a hash of the inner one chooses from the local ports (udp_flow_src_port).
func tunnelPort(inner *inet.Packet) uint16 {
	const low, high = 32768, 60999
	tuple := conntrack.TupleOf(inner)
	return low + uint16(conntrack.HashTuple(&tuple)%(high-low))
}

// vxlanOf is the tunnel that takes the packet, nil if it is for no tunnel.
func (h *routing) vxlanOf(p *inet.Packet) *device {
	if p.Carried == nil || p.Proto != inet.UDP {
		return nil
	}
	for _, dev := range h.devices {
		if dev.VXLAN != nil && dev.Up && dev.VXLAN.port() == p.DstPort && dev.VXLAN.ID == p.VNI {
			return dev
		}
	}
	return nil
}

// decapsulate takes the carried packet in by the tunnel. The mark stays (vxlan_rcv).
func (w *walk) decapsulate(s *skb, dev *device) {
	inner := *s.Carried
	inner.Mark = s.Mark
	if w.tells() {
		w.tellTunnel(EventDecapsulate, s, &skb{Packet: inner})
	}
	*s = skb{Packet: inner, in: dev}
	w.receive(s)
}
