package packetsim

import (
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// translateAt is what the nat hooks do (nf_nat_inet_fn in net/netfilter/nf_nat_core.c): the rules decide once for each
// connection and side, later packets are translated by the connection's tuples.
func (w *walk) translateAt(s *skb, side conntrack.Side, chains []entry) bool {
	if s.conn == nil {
		return true
	}
	if s.relation == isRelated && s.IsICMPError() {
		if !s.sumHolds() {
			w.drop(ReasonErrorChecksum)
			return false
		}
		if s.Proto == inet.ICMP && s.ICMPType == inet.ICMPRedirect && (s.conn.SrcNAT || s.conn.DstNAT) {
			w.drop(ReasonTranslatedRedirect)
			return false
		}
		return w.natWrite(s, side, (*skb).translateError)
	}
	if s.relation != isEstablished && !s.conn.Bound(side) {
		w.table.targets.bypassed = false
		for i := 0; i < len(chains) && !s.conn.Bound(side); i++ {
			if !chains[i].run(w, s) {
				return false
			}
			if w.table.targets.bypassed { // the packet goes on behind the nat hook, which has neither bound nor translated it
				return true
			}
		}
		if !s.conn.Bound(side) {
			w.h.conns.BindNothing(s.conn, side, w.chance)
		}
	} else if s.hook == postRouting && s.dir == conntrack.Original && s.conn.MasqueradeDev != "" && s.conn.MasqueradeDev != s.out.Name {
		w.h.conns.Remove(s.conn)
		w.drop(ReasonMasqueradeMoved)
		return false
	}
	return w.natWrite(s, side, (*skb).translate)
}

// natWrite translates the packet. With another destination a packet that came in loses the route that it had, and one
// of the host's is routed again if its connection's destination is translated.
func (w *walk) natWrite(s *skb, side conntrack.Side, write func(*skb, conntrack.Side)) bool {
	before := s.Dst
	write(s, side)
	if w.tells() {
		w.notice(s, translationOf(s.dir, side))
	}
	if s.hook == preRouting && s.Dst != before {
		s.routed = false
	}
	if c := s.conn; s.hook == output && c.Tuples[s.dir].Dst != c.Tuples[1-s.dir].Src {
		return w.reroute(s)
	}
	return true
}

// translationOf is what NAT does on a side to packets of a direction.
func translationOf(dir conntrack.Direction, side conntrack.Side) Translation {
	switch {
	case dir == conntrack.Original && side == conntrack.Destination:
		return TranslationDNAT
	case dir == conntrack.Original:
		return TranslationSNAT
	case side == conntrack.Destination:
		return TranslationUnSNAT
	}
	return TranslationUnDNAT
}

// translate writes the side of the header (nf_nat_packet).
func (s *skb) translate(side conntrack.Side) {
	if !s.conn.Translates(s.dir, side) {
		return
	}
	answer := &s.conn.Tuples[1-s.dir]
	if side == conntrack.Source {
		s.Src, s.SrcPort = answer.Dst, answer.DstPort
	} else {
		s.Dst, s.DstPort = answer.Src, answer.SrcPort
	}
	translateICMPID(&s.Packet, answer.ICMPID)
}

// translateICMPID writes the id of a translated query. That of ICMPv6 is left alone but for echoes (icmpv6_manip_pkt in
// net/netfilter/nf_nat_proto.c), although conntrack has the new one.
func translateICMPID(p *inet.Packet, id uint16) {
	if p.Proto != inet.ICMPv6 || p.ICMPType == inet.ICMPv6Echo || p.ICMPType == inet.ICMPv6EchoReply {
		p.ICMPID = id
	}
}

// translateError translates an ICMP error about a translated connection: its own address on that side, and in
// the quoted packet the other side (nf_nat_icmp_reply_translation).
func (s *skb) translateError(side conntrack.Side) {
	if !s.conn.Translates(s.dir, side) {
		return
	}
	other := s.conn.Tuples[1-s.dir]
	inner := *s.Inner
	if side == conntrack.Source {
		s.Src = other.Dst
		inner.Dst, inner.DstPort = other.Dst, other.DstPort
	} else {
		s.Dst = other.Src
		inner.Src, inner.SrcPort = other.Src, other.SrcPort
	}
	translateICMPID(&inner, other.ICMPID)
	s.Inner = &inner
	s.mendSum()
}
