package packetsim

import (
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// natSide is the side of a connection that NAT decides at a hook: the destination in PREROUTING and OUTPUT, the source in INPUT and
// POSTROUTING.
type natSide uint8

const (
	natDst natSide = iota
	natSrc
)

// natRange is what a side of a connection is bound to.
type natRange struct {
	netfilter.NATRange
	basePort uint16 // 0: none
}

// random says whether the port is chosen even if the connection's own is free.
func (r *natRange) random() bool { return r.Random || r.RandomFully }

// ranged says whether ports are given.
func (r *natRange) ranged() bool { return r.HasPorts || r.MinPort != 0 || r.MaxPort != 0 }

// hasPort says whether the side's port (or a query's identifier) is in the range.
func (r *natRange) hasPort(t *Tuple, side natSide) bool {
	port := t.natPart(side)
	return port == nil || r.MinPort <= *port && *port <= r.MaxPort
}

// hasSource says whether a connection may keep the source.
func (r *natRange) hasSource(t *Tuple) bool {
	if r.MinAddr.IsValid() && (t.Src.Less(r.MinAddr) || r.MaxAddr.Less(t.Src)) {
		return false
	}
	return !r.ranged() || r.hasPort(t, natSrc)
}

// natPart is what NAT may change of the side, beside the address.
func (t *Tuple) natPart(side natSide) *uint16 {
	if side == natDst && t.Proto.HasPorts() {
		return &t.DstPort
	}
	return t.sourcePart() // the identifier of an ICMP query is of both sides
}

// natBinder finds the translations of new connections.
type natBinder struct {
	conns  *tracker
	chance Chance
}

// bind decides a side of a new connection (nf_nat_setup_info in net/netfilter/nf_nat_core.c). If no free tuple is
// found the connection clashes with another one when it is confirmed.
func (b *natBinder) bind(c *conn, side natSide, to *natRange) {
	if c.confirmed {
		return
	}
	now := c.tuples[reply].inverse()
	want := b.uniqueTuple(c, now, side, to)
	if want != now {
		c.tuples[reply] = want.inverse()
	}
	if side == natSrc {
		c.srcNAT, c.srcDone = c.srcNAT || want != now, true
	} else {
		c.dstNAT, c.dstDone = c.dstNAT || want != now, true
	}
}

// bindNothing is the binding of a connection that no rule translates. Its source port still changes if the
// tuple is in use (nf_nat_alloc_null_binding).
func (b *natBinder) bindNothing(c *conn, side natSide) {
	now := c.tuples[reply].inverse()
	addr := now.Src
	if side == natDst {
		addr = now.Dst
	}
	b.bind(c, side, &natRange{NATRange: netfilter.NATRange{MinAddr: addr, MaxAddr: addr}})
}

// uniqueTuple is the tuple that the connection gets (get_unique_tuple): its own if that is free and in the range, the one that
// another connection of this source has, or an address and a port of the range.
func (b *natBinder) uniqueTuple(c *conn, now Tuple, side natSide, to *natRange) Tuple {
	if side == natSrc && !to.random() {
		if to.hasSource(&now) {
			if other := b.takenBy(&now, c); other == nil || other.reverseOf(c) {
				return now
			}
		} else if as, ok := b.sourceInUse(c, now, to); ok && !b.taken(&as, c) {
			return as
		}
	}
	want := now
	to.chooseAddr(&want, side, c.zone)
	if !to.random() {
		switch {
		case !to.ranged():
			if !b.taken(&want, c) {
				return want
			}
		case to.basePort == 0 && to.hasPort(&want, side) && (to.MinPort == to.MaxPort || !b.taken(&want, c)):
			return want
		}
	}
	b.choosePort(c, &want, side, to)
	return want
}

// sourceInUse is the tuple with the translated source of an earlier connection of the same source, if the range has
// it (find_appropriate_src).
func (b *natBinder) sourceInUse(c *conn, now Tuple, to *natRange) (Tuple, bool) {
	source := sourceOf(&now, c.zone)
	for earlier := b.conns.tracked.latest(&source); earlier != nil; earlier = earlier.before(&source) {
		as := earlier.tuples[reply].inverse()
		as.Dst, as.DstPort = now.Dst, now.DstPort
		as.ICMPType, as.ICMPCode = now.ICMPType, now.ICMPCode
		if to.hasSource(&as) {
			return as, true
		}
	}
	return Tuple{}, false
}

// takenBy is another connection that has the answer to the tuple (nf_conntrack_tuple_taken), or nil.
func (b *natBinder) takenBy(t *Tuple, c *conn) *conn {
	answer := t.inverse()
	if other, _ := b.conns.findBy(&answer, answer.hash(), c.zone, reply); other != c {
		return other
	}
	return nil
}

func (b *natBinder) taken(t *Tuple, c *conn) bool { return b.takenBy(t, c) != nil }

// reverseOf says whether an untranslated UDP connection is the same as the other one in the opposite direction. They cannot both be in the
// table, but the kernel leaves that to the confirmation and looks for no other port (nf_nat_used_tuple_new). It happens among zones.
func (c *conn) reverseOf(other *conn) bool {
	return c.tuples[original].Proto == inet.UDP && !c.srcNAT && !c.dstNAT &&
		c.tuples[original] == other.tuples[reply] && c.tuples[reply] == other.tuples[original]
}

// takenFor is taken for the last tries. A TCP connection that is over gives its tuple to a SYN with a later number
// (nf_nat_used_tuple_harder).
func (b *natBinder) takenFor(t *Tuple, c *conn) bool {
	answer := t.inverse()
	other, dir := b.conns.find(&answer, c.zone)
	switch {
	case other == nil || other == c:
		return false
	case t.Proto != inet.TCP || c.tcp.state != tcpSynSent || dir == original:
		return true
	case other.tcp.state < tcpTimeWait || !other.srcNAT || other.tcp.numberless || c.tcp.numberless:
		return true
	case !seqAfter(c.tcp.sides[original].end, other.tcp.sides[original].end):
		return true
	}
	b.conns.remove(other)
	return false
}

// bound says whether the side is decided.
func (c *conn) bound(side natSide) bool {
	if side == natSrc {
		return c.srcDone
	}
	return c.dstDone
}

// translates says whether packets of the direction are changed on the side: replies are changed the other way round.
func (c *conn) translates(dir direction, side natSide) bool {
	if (side == natSrc) == (dir == original) {
		return c.srcNAT
	}
	return c.dstNAT
}
