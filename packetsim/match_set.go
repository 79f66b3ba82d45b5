package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoTargetMAC = errors.New("not supported: a set asks for the link-layer address that the packet came to, which is not known: " +
	"the frame was a multicast, or stayed in a bridge, or the device has no MAC address")

// setPacket is the packet as the sets see it that a rule names.
func (mt *matcher) setPacket(s *skb, named ...*ipset.Ref) *ipset.Packet {
	p := &ipset.Packet{Src: s.Src, Dst: s.Dst, Proto: uint8(s.Proto), SrcPort: s.SrcPort, DstPort: s.DstPort, Length: uint64(s.Size())}
	if s.Proto.IsICMP() {
		p.SrcPort = uint16(s.ICMPType)<<8 | uint16(s.ICMPCode)
		p.DstPort = p.SrcPort
	}
	if s.in != nil {
		p.In = s.in.Name
	}
	if s.out != nil {
		p.Out = s.out.Name
	}
	for _, r := range named {
		if r.Set != "" && hasFrame(s) && mt.memory.sets.now().NeedsMAC(r) {
			mt.setMAC(p, s, r)
		}
	}
	return p
}

// hasFrame says that the packet came in an Ethernet frame with addresses, which it has on its whole way through the host.
func hasFrame(s *skb) bool {
	return s.bridged.seen || s.came != nil && s.came.Name != loopbackName && !s.looped
}

// macSide is the part of an element of bitmap:ip,mac that has the MAC address: its side says which one of the frame is meant.
const macSide = 1

// setMAC finds out the MAC address of the frame that a set asks for (bitmap_ipmac_kadt in net/netfilter/ipset/ip_set_bitmap_ipmac.c).
func (mt *matcher) setMAC(p *ipset.Packet, s *skb, r *ipset.Ref) {
	if r.SrcSides&(1<<macSide) != 0 {
		if s.MAC == (inet.MAC{}) {
			mt.fail(errNoMAC)
		}
		p.SrcMAC = s.MAC
		return
	}
	if s.LinkType == inet.LinkBroadcast {
		p.DstMAC = inet.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		return
	}
	if s.came == nil || s.LinkType == inet.LinkMulticast {
		mt.fail(errNoTargetMAC)
		return
	}
	mac, err := inet.ParseMAC(s.came.MAC)
	if err != nil {
		mt.fail(errNoTargetMAC)
	}
	p.DstMAC = mac
}

// matchSet is -m set (net/netfilter/xt_set.c).
func (mt *matcher) matchSet(s *skb, m *match.Set) bool {
	return mt.memory.sets.now().Match(&m.Query, mt.setPacket(s, &m.Ref))
}
