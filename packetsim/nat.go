package packetsim

import (
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// natStage is what the nat hooks do (nf_nat_inet_fn in net/netfilter/nf_nat_core.c): the rules decide once for each
// connection and side, later packets are translated by the connection's tuples.
func (w *walk) natStage(s *packet, st stage, rules *fakeipt.Ruleset) bool {
	table := rules.Table("nat")
	if table == nil || s.conn == nil {
		return true
	}
	if s.relation == isRelated && s.isICMPError() {
		return w.natWrite(s, st, w.translateError)
	}
	if s.relation != isEstablished && !s.conn.bound(st) {
		if !w.runTable(table, s) {
			return false
		}
		if !s.conn.bound(st) && !w.bindNothing(s, st) {
			return false
		}
	} else if s.hook == postRouting && s.dir == original && s.conn.masqueradeDev != "" && s.conn.masqueradeDev != s.out.Name {
		w.h.remove(s.conn)
		w.drop("masqueraded connection leaves by another device")
		return false
	}
	return w.natWrite(s, st, w.translate)
}

// natWrite translates the packet. With another destination a packet that came in loses the route that it had, and one
// of the host's is routed again if its connection's destination is translated.
func (w *walk) natWrite(s *packet, st stage, write func(*packet, stage)) bool {
	before := s.Dst
	write(s, st)
	if s.hook == preRouting && s.Dst != before {
		s.routed = false
	}
	if c := s.conn; s.hook == output && c.tuples[s.dir].Dst != c.tuples[1-s.dir].Src {
		return w.reroute(s)
	}
	return true
}

// bound says whether the side that the stage decides is decided.
func (c *conn) bound(st stage) bool {
	if st == natSrc {
		return c.srcDone
	}
	return c.dstDone
}

// translate writes the side of the header that the stage is for (nf_nat_packet).
func (w *walk) translate(s *packet, st stage) {
	if !s.conn.translates(s.dir, st) {
		return
	}
	target := s.conn.tuples[1-s.dir].inverse()
	if st == natSrc {
		s.Src, s.SrcPort = target.Src, target.SrcPort
	} else {
		s.Dst, s.DstPort = target.Dst, target.DstPort
	}
	s.ICMPID = target.ICMPID
}

// translates says whether packets of the direction are changed by the stage: replies are changed the other way round.
func (c *conn) translates(dir direction, st stage) bool {
	if (st == natSrc) == (dir == original) {
		return c.srcNAT
	}
	return c.dstNAT
}

// translateError translates an ICMP error about a translated connection: its own address on the stage's side, and in
// the quoted packet the other side (nf_nat_icmp_reply_translation).
func (w *walk) translateError(s *packet, st stage) {
	if !s.conn.translates(s.dir, st) {
		return
	}
	other := s.conn.tuples[1-s.dir]
	inner := *s.Inner
	if st == natSrc {
		s.Src = other.Dst
		inner.Dst, inner.DstPort = other.Dst, other.DstPort
	} else {
		s.Dst = other.Src
		inner.Src, inner.SrcPort = other.Src, other.SrcPort
	}
	inner.ICMPID = other.ICMPID
	s.Inner = &inner
}

func (w *walk) unsupported(what string) fate {
	w.fail(fmt.Errorf("not supported: %s", what))
	return stopped
}

// bindDst decides the destination of a new connection (nf_nat_setup_info for NF_NAT_MANIP_DST).
func (w *walk) bindDst(s *packet, to fakeipt.NATRange) fate {
	if fate, done := w.checkRange(s, to); done {
		return fate
	}
	if to.MinPort != to.MaxPort {
		return w.unsupported("DNAT to a range of ports")
	}
	c := s.conn
	now := c.tuples[reply].inverse()
	want := now
	if to.MinAddr.IsValid() {
		want.Dst = to.MinAddr
	}
	if to.MinPort != 0 && want.Proto.HasPorts() {
		want.DstPort = to.MinPort
	}
	if want != now {
		c.tuples[reply] = want.inverse()
		c.dstNAT = true
	}
	c.dstDone = true
	return accepted
}

// checkRange handles what both kinds of NAT do not decide: done says that fate is the answer.
func (w *walk) checkRange(s *packet, to fakeipt.NATRange) (fate, bool) {
	switch {
	case s.conn == nil:
		return stopped, true
	case s.conn.confirmed:
		return accepted, true
	case to.MinAddr != to.MaxAddr:
		return w.unsupported("NAT to a range of addresses"), true
	}
	return goOn, false
}

// bindSrc decides the source of a new connection (nf_nat_setup_info for NF_NAT_MANIP_SRC).
func (w *walk) bindSrc(s *packet, to fakeipt.NATRange) fate {
	if fate, done := w.checkRange(s, to); done {
		return fate
	}
	c := s.conn
	now := c.tuples[reply].inverse()
	want := now
	if to.MinAddr.IsValid() {
		want.Src = to.MinAddr
	}
	if !w.choosePort(c, &want, to) {
		w.drop("no free source port")
		return stopped
	}
	if want != now {
		c.tuples[reply] = want.inverse()
		c.srcNAT = true
	}
	c.srcDone = true
	return accepted
}

// bindNothing is the binding of a connection that no rule translates. Its source port still changes if the
// tuple is in use (nf_nat_alloc_null_binding).
func (w *walk) bindNothing(s *packet, st stage) bool {
	if st == natSrc {
		return w.bindSrc(s, fakeipt.NATRange{}) == accepted
	}
	s.conn.dstDone = true
	return true
}

// choosePort makes the source part of the tuple unique and puts it into the range (get_unique_tuple).
func (w *walk) choosePort(c *conn, want *Tuple, to fakeipt.NATRange) bool {
	port := sourcePart(want)
	if port == nil {
		return !w.taken(want, c)
	}
	random := to.Random || to.RandomFully
	ranged := to.MinPort != 0 || to.MaxPort != 0
	inRange := !ranged || (to.MinPort <= *port && *port <= to.MaxPort)
	if !random && inRange && (to.MinPort == to.MaxPort && ranged || !w.taken(want, c)) {
		return true
	}
	low, high := portRange(*port, want.Proto, to)
	c.chosenPort = low != high
	return w.probe(c, want, port, low, high)
}

// sourcePart is what NAT may change to tell two connections apart: the source port, or the identifier of an ICMP query.
func sourcePart(t *Tuple) *uint16 {
	switch {
	case t.Proto.HasPorts():
		return &t.SrcPort
	case t.Proto.isICMP():
		return &t.ICMPID
	}
	return nil
}

// portRange is where the kernel looks for a port (nf_nat_l4proto_unique_tuple): a low port stays a low one.
func portRange(port uint16, proto Proto, to fakeipt.NATRange) (low, high uint16) {
	switch {
	case to.MinPort != 0 || to.MaxPort != 0:
		return to.MinPort, to.MaxPort
	case proto.isICMP():
		return 0, 65535
	case port < 512:
		return 1, 511
	case port < 1024:
		return 600, 1023
	}
	return 1024, 65535
}

// probe finds a free port from a place that the tuple alone decides: the kernel's choice is random, and a walk has to repeat.
func (w *walk) probe(c *conn, want *Tuple, port *uint16, low, high uint16) bool {
	size := uint32(high) - uint32(low) + 1
	start := hashTuple(want)
	for i := range size {
		*port = uint16(uint32(low) + (start+i)%size)
		if !w.taken(want, c) {
			return true
		}
	}
	return false
}

// hashTuple is FNV-1a over a tuple.
func hashTuple(t *Tuple) uint32 {
	hash := uint32(2166136261)
	add := func(b byte) { hash = (hash ^ uint32(b)) * 16777619 }
	for _, addr := range []netip.Addr{t.Src, t.Dst} {
		for _, b := range addr.As16() {
			add(b)
		}
	}
	for _, n := range []uint16{uint16(t.Proto), t.SrcPort, t.DstPort, t.ICMPID} {
		add(byte(n >> 8))
		add(byte(n))
	}
	return hash
}

// taken says whether another connection has the answer to the tuple.
func (w *walk) taken(t *Tuple, c *conn) bool {
	other, _ := w.h.find(t.inverse())
	return other != nil && other != c
}
