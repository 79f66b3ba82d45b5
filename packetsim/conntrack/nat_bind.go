package conntrack

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Side is the side of a connection that NAT decides at a hook: the destination in PREROUTING and OUTPUT, the source in INPUT and
// POSTROUTING.
type Side uint8

// The sides of a connection.
const (
	Destination Side = iota
	Source
)

// Range is what a side of a connection is bound to.
type Range struct {
	netfilter.NATRange
	BasePort uint16 // 0: none
}

// random says whether the port is chosen even if the connection's own is free.
func (r *Range) random() bool { return r.Random || r.RandomFully }

// ranged says whether ports are given.
func (r *Range) ranged() bool { return r.HasPorts || r.MinPort != 0 || r.MaxPort != 0 }

// hasPort says whether the side's port (or a query's identifier) is in the range.
func (r *Range) hasPort(t *Tuple, side Side) bool {
	port := t.natPart(side)
	return port == nil || r.MinPort <= *port && *port <= r.MaxPort
}

// hasSource says whether a connection may keep the source.
func (r *Range) hasSource(t *Tuple) bool {
	if r.MinAddr.IsValid() && (t.Src.Less(r.MinAddr) || r.MaxAddr.Less(t.Src)) {
		return false
	}
	return !r.ranged() || r.hasPort(t, Source)
}

// natPart is what NAT may change of the side, beside the address.
func (t *Tuple) natPart(side Side) *uint16 {
	if side == Destination && t.Proto.HasPorts() {
		return &t.DstPort
	}
	return t.sourcePart() // the identifier of an ICMP query is of both sides
}

// natBinder finds the translations of new connections.
type natBinder struct {
	conns  *Tracker
	chance Chance
}

// Bind decides a side of a new connection.
func (k *Tracker) Bind(c *Conn, side Side, to *Range, chance Chance) {
	b := natBinder{k, chance}
	b.bind(c, side, to)
}

// BindTo is Bind of the destination to one address, or its own if addr is not set, and one port.
func (k *Tracker) BindTo(c *Conn, addr netip.Addr, port uint16, chance Chance) {
	reply := &c.Tuples[Reply]
	if !reply.Proto.HasPorts() {
		k.Bind(c, Destination, &Range{NATRange: netfilter.NATRange{MinAddr: addr, MaxAddr: addr, MinPort: port, MaxPort: port, HasPorts: true}},
			chance)
		return
	}
	if c.Confirmed {
		return
	}
	if !addr.IsValid() {
		addr = reply.Src
	}
	moves := reply.SrcPort != port
	if reply.Src != addr || moves {
		c.DstNAT, reply.Src, reply.SrcPort = true, addr, port
	}
	if c.dstDone = true; moves && k.tracked.size() > 0 {
		(&natBinder{k, chance}).answeredFor(reply, c) // which may end one that is over, and is the only port to be had in any case
	}
}

// BindFrom is Bind of the source to one address and any port, which is chosen at random.
func (k *Tracker) BindFrom(c *Conn, addr netip.Addr, chance Chance) {
	to := Range{NATRange: netfilter.NATRange{MinAddr: addr, MaxAddr: addr, RandomFully: true}}
	b, reply := natBinder{k, chance}, &c.Tuples[Reply]
	if !reply.Proto.HasPorts() || k.tracked.size() > 0 {
		b.bind(c, Source, &to)
		return
	}
	if c.Confirmed {
		return
	}
	own, port := reply.Dst, reply.DstPort
	reply.Dst = addr
	offset, drawn := b.drawSourceOffset()
	if !drawn {
		want := reply.Inverse()
		offset = b.sourceOffset(&want)
	}
	low, size := sourceSpan(port)
	reply.DstPort = uint16(low + uint32(offset)%size) // which is free, as there are no others
	c.SrcNAT, c.srcDone, c.ChosenPort = c.SrcNAT || addr != own || reply.DstPort != port, true, true
}

// BindNothing is the binding of a connection that no rule translates. Its source port still changes if the
// tuple is in use (nf_nat_alloc_null_binding).
func (k *Tracker) BindNothing(c *Conn, side Side, chance Chance) {
	b := natBinder{k, chance}
	if b.answered(&c.Tuples[Reply], c) == nil {
		c.done(side)
		return
	}
	now := c.Tuples[Reply].Inverse()
	addr := now.Src
	if side == Destination {
		addr = now.Dst
	}
	b.bind(c, side, &Range{NATRange: netfilter.NATRange{MinAddr: addr, MaxAddr: addr}})
}

// done notes that the side of a new connection is decided.
func (c *Conn) done(side Side) {
	switch {
	case c.Confirmed:
	case side == Source:
		c.srcDone = true
	default:
		c.dstDone = true
	}
}

// bind decides a side of a new connection (nf_nat_setup_info in net/netfilter/nf_nat_core.c). If no free tuple is
// found the connection clashes with another one when it is confirmed.
func (b *natBinder) bind(c *Conn, side Side, to *Range) {
	if c.Confirmed {
		return
	}
	now := c.Tuples[Reply].Inverse()
	want := b.uniqueTuple(c, now, side, to)
	if want != now {
		c.Tuples[Reply] = want.Inverse()
	}
	if side == Source {
		c.SrcNAT, c.srcDone = c.SrcNAT || want != now, true
	} else {
		c.DstNAT, c.dstDone = c.DstNAT || want != now, true
	}
}

// uniqueTuple is the tuple that the connection gets (get_unique_tuple): its own if that is free and in the range, the one that
// another connection of this source has, or an address and a port of the range.
func (b *natBinder) uniqueTuple(c *Conn, now Tuple, side Side, to *Range) Tuple {
	if side == Source && !to.random() {
		if to.hasSource(&now) {
			if other := b.takenBy(&now, c); other == nil || other.reverseOf(c) {
				return now
			}
		} else if as, ok := b.sourceInUse(c, now, to); ok && !b.taken(&as, c) {
			return as
		}
	}
	want := now
	to.chooseAddr(&want, side, c.Zone)
	if !to.random() {
		switch {
		case !to.ranged():
			if !b.taken(&want, c) {
				return want
			}
		case to.BasePort == 0 && to.hasPort(&want, side) && (to.MinPort == to.MaxPort || !b.taken(&want, c)):
			return want
		}
	}
	b.choosePort(c, &want, side, to)
	return want
}

// sourceInUse is the tuple with the translated source of an earlier connection of the same source, if the range has
// it (find_appropriate_src).
func (b *natBinder) sourceInUse(c *Conn, now Tuple, to *Range) (Tuple, bool) {
	source := sourceOf(&now, c.Zone)
	for earlier := b.conns.tracked.latest(&source); earlier != nil; earlier = earlier.before(&source) {
		as := earlier.Tuples[Reply].Inverse()
		as.Dst, as.DstPort = now.Dst, now.DstPort
		as.ICMPType, as.ICMPCode = now.ICMPType, now.ICMPCode
		if to.hasSource(&as) {
			return as, true
		}
	}
	return Tuple{}, false
}

// takenBy is another connection that has the answer to the tuple (nf_conntrack_tuple_taken), or nil.
func (b *natBinder) takenBy(t *Tuple, c *Conn) *Conn {
	if b.conns.tracked.size() == 0 {
		return nil
	}
	answer := t.Inverse()
	return b.answered(&answer, c)
}

// answered is another connection that has the tuple of the answers, or nil.
func (b *natBinder) answered(answer *Tuple, c *Conn) *Conn {
	if b.conns.tracked.size() == 0 {
		return nil
	}
	if other, _ := b.conns.findBy(answer, answer.hash(), c.Zone, Reply); other != c {
		return other
	}
	return nil
}

func (b *natBinder) taken(t *Tuple, c *Conn) bool { return b.takenBy(t, c) != nil }

// reverseOf says whether an untranslated UDP connection is the same as the other one in the opposite direction. They cannot both be in the
// table, but the kernel leaves that to the confirmation and looks for no other port (nf_nat_used_tuple_new). It happens among zones.
func (c *Conn) reverseOf(other *Conn) bool {
	return c.Tuples[Original].Proto == inet.UDP && !c.SrcNAT && !c.DstNAT &&
		c.Tuples[Original] == other.Tuples[Reply] && c.Tuples[Reply] == other.Tuples[Original]
}

// takenFor is taken for the last tries. A TCP connection that is over gives its tuple to a SYN with a later number
// (nf_nat_used_tuple_harder).
func (b *natBinder) takenFor(t *Tuple, c *Conn) bool {
	answer := t.Inverse()
	return b.answeredFor(&answer, c)
}

// answeredFor is takenFor for the tuple of the answers.
func (b *natBinder) answeredFor(answer *Tuple, c *Conn) bool {
	other, dir := b.conns.Find(answer, c.Zone)
	switch {
	case other == nil || other == c:
		return false
	case answer.Proto != inet.TCP || c.tcp.state != tcpSynSent || dir == Original:
		return true
	case other.tcp.state < tcpTimeWait || !other.SrcNAT || other.tcp.numberless || c.tcp.numberless:
		return true
	case !seqAfter(c.tcp.sides[Original].end, other.tcp.sides[Original].end):
		return true
	}
	b.conns.Remove(other)
	return false
}

// Bound says whether the side is decided.
func (c *Conn) Bound(side Side) bool {
	if side == Source {
		return c.srcDone
	}
	return c.dstDone
}

// Translates says whether packets of the direction are changed on the side: replies are changed the other way round.
func (c *Conn) Translates(dir Direction, side Side) bool {
	if (side == Source) == (dir == Original) {
		return c.SrcNAT
	}
	return c.DstNAT
}
