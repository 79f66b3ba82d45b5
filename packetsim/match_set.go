package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ipset"
)

// setPacket is the packet as sets see it.
func setPacket(s *skb) *ipset.Packet {
	p := &ipset.Packet{Src: s.Src, Dst: s.Dst, Proto: uint8(s.Proto), SrcPort: s.SrcPort, DstPort: s.DstPort, Length: uint64(s.Size())}
	if s.Proto.IsICMP() {
		p.SrcPort = uint16(s.ICMPType)<<8 | uint16(s.ICMPCode)
		p.DstPort = p.SrcPort
	}
	return p
}

// matchSet is -m set (net/netfilter/xt_set.c).
func (w *walk) matchSet(s *skb, m *fakeipt.MatchSet) bool {
	return w.h.memory.sets.now().Match(&m.Query, setPacket(s))
}

// targetSet is -j SET. Rules after it see the set as it is then.
func (w *walk) targetSet(s *skb, t *fakeipt.TargetSet) fate {
	w.h.memory.sets.now().Apply(&t.Change, setPacket(s))
	return goOn
}
