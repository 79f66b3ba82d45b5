package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// setPacket is the packet as sets see it.
func setPacket(s *packet) *fakeipt.SetPacket {
	p := &fakeipt.SetPacket{Src: s.Src, Dst: s.Dst, Proto: uint8(s.Proto), SrcPort: s.SrcPort, DstPort: s.DstPort, Length: uint64(s.size())}
	if s.Proto.isICMP() {
		p.SrcPort = uint16(s.ICMPType)<<8 | uint16(s.ICMPCode)
		p.DstPort = p.SrcPort
	}
	return p
}

// setChange is what -j SET did to a set for the packet that is walked.
type setChange struct {
	set   string
	sides setSides
	added bool
}

// setSides are the parts of a packet that a rule looks up.
type setSides struct {
	dim   uint8
	proto Proto
	addrs [6]netip.Addr
	ports [6]uint16
}

func sidesOf(s *packet, r fakeipt.SetRef) setSides {
	sides := setSides{dim: r.Dim, proto: s.Proto}
	for i := range min(int(r.Dim), len(sides.addrs)) {
		if r.SrcSides&(1<<i) != 0 {
			sides.addrs[i], sides.ports[i] = s.Src, s.SrcPort
		} else {
			sides.addrs[i], sides.ports[i] = s.Dst, s.DstPort
		}
	}
	return sides
}

// matchSet is -m set (net/netfilter/xt_set.c). What it counts is written when the walk is kept.
func (w *walk) matchSet(s *packet, m *fakeipt.MatchSet) bool {
	sets, p := w.h.netfilter.Sets(), setPacket(s)
	w.h.journal.pending = append(w.h.journal.pending, pendingCount{sets: func() { sets.Count(m, p) }})
	for i := len(w.setChanges) - 1; i >= 0; i-- {
		if c := &w.setChanges[i]; c.set == m.Set && c.sides == sidesOf(s, m.SetRef) {
			return c.added != m.Invert
		}
	}
	return sets.Match(m, p)
}

// targetSet is -j SET. The sets themselves change when the walk is kept; until then the walk remembers what it did.
func (w *walk) targetSet(s *packet, t *fakeipt.TargetSet) fate {
	sets, p := w.h.netfilter.Sets(), setPacket(s)
	w.h.journal.pending = append(w.h.journal.pending, pendingCount{sets: func() { sets.Apply(t, p) }})
	if t.Add.Set != "" {
		w.setChanges = append(w.setChanges, setChange{t.Add.Set, sidesOf(s, t.Add), true})
	}
	if t.Del.Set != "" {
		w.setChanges = append(w.setChanges, setChange{t.Del.Set, sidesOf(s, t.Del), false})
	}
	return goOn
}
