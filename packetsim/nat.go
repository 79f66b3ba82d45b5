package packetsim

import "github.com/chainwalk/chainwalk/packetsim/inet"

// translateAt is what the nat hooks do (nf_nat_inet_fn in net/netfilter/nf_nat_core.c): the rules decide once for each
// connection and side, later packets are translated by the connection's tuples.
func (w *walk) translateAt(s *skb, side natSide, chains []entry) bool {
	if s.conn == nil {
		return true
	}
	if s.relation == isRelated && s.IsICMPError() {
		if !s.sumHolds() {
			w.drop("wrong checksum of an error about a connection")
			return false
		}
		if s.Proto == inet.ICMP && s.ICMPType == inet.ICMPRedirect && (s.conn.srcNAT || s.conn.dstNAT) {
			w.drop("redirect of a translated connection")
			return false
		}
		return w.natWrite(s, side, (*skb).translateError)
	}
	if s.relation != isEstablished && !s.conn.bound(side) {
		w.table.targets.bypassed = false
		for i := 0; i < len(chains) && !s.conn.bound(side); i++ {
			if !chains[i].run(w, s) {
				return false
			}
			if w.table.targets.bypassed { // the packet goes on behind the nat hook, which has neither bound nor translated it
				return true
			}
		}
		if !s.conn.bound(side) {
			b := natBinder{&w.h.conns, w.chance}
			b.bindNothing(s.conn, side)
		}
	} else if s.hook == postRouting && s.dir == original && s.conn.masqueradeDev != "" && s.conn.masqueradeDev != s.out.Name {
		w.h.conns.remove(s.conn)
		w.drop("masqueraded connection leaves by another device")
		return false
	}
	return w.natWrite(s, side, (*skb).translate)
}

// natWrite translates the packet. With another destination a packet that came in loses the route that it had, and one
// of the host's is routed again if its connection's destination is translated.
func (w *walk) natWrite(s *skb, side natSide, write func(*skb, natSide)) bool {
	before := s.Dst
	write(s, side)
	if w.tells() {
		w.notice(s, translationOf(s.dir, side))
	}
	if s.hook == preRouting && s.Dst != before {
		s.routed = false
	}
	if c := s.conn; s.hook == output && c.tuples[s.dir].Dst != c.tuples[1-s.dir].Src {
		return w.reroute(s)
	}
	return true
}

// translationOf is what NAT does on a side to packets of a direction.
func translationOf(dir direction, side natSide) Translation {
	switch {
	case dir == original && side == natDst:
		return TranslationDNAT
	case dir == original:
		return TranslationSNAT
	case side == natDst:
		return TranslationUnSNAT
	}
	return TranslationUnDNAT
}

// translate writes the side of the header (nf_nat_packet).
func (s *skb) translate(side natSide) {
	if !s.conn.translates(s.dir, side) {
		return
	}
	answer := &s.conn.tuples[1-s.dir]
	if side == natSrc {
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
func (s *skb) translateError(side natSide) {
	if !s.conn.translates(s.dir, side) {
		return
	}
	other := s.conn.tuples[1-s.dir]
	inner := *s.Inner
	if side == natSrc {
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
