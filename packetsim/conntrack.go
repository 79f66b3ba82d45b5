package packetsim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Tuple is one direction of a connection.
type Tuple struct {
	Proto            Proto
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	// ICMPType, ICMPCode and ICMPID stand for the ports in a tuple of ICMP queries.
	ICMPType, ICMPCode uint8
	ICMPID             uint16
}

// answer is the tuple of a packet that answers one with this tuple. An ICMP query that has no answer has
// no inverse; ok says so.
func (t Tuple) answer() (inverse Tuple, ok bool) {
	t.Src, t.Dst, t.SrcPort, t.DstPort = t.Dst, t.Src, t.DstPort, t.SrcPort
	if t.Proto.isICMP() {
		t.ICMPType, ok = icmpAnswer(t.Proto, t.ICMPType)
		return t, ok
	}
	return t, true
}

// inverse is answer for a tuple that is known to have one.
func (t Tuple) inverse() Tuple {
	inverse, _ := t.answer()
	return inverse
}

// tupleOf is the tuple that conntrack reads from a packet.
func tupleOf(p *Packet) Tuple {
	t := Tuple{Proto: p.Proto, Src: p.Src, Dst: p.Dst}
	switch {
	case p.Proto.HasPorts():
		t.SrcPort, t.DstPort = p.SrcPort, p.DstPort
	case p.Proto.isICMP():
		t.ICMPType, t.ICMPCode, t.ICMPID = p.ICMPType, p.ICMPCode, p.ICMPID
	}
	return t
}

// sourcePart is what NAT may change to tell two connections apart: the source port, or the identifier of an ICMP query.
func (t *Tuple) sourcePart() *uint16 {
	switch {
	case t.Proto.HasPorts():
		return &t.SrcPort
	case t.Proto.isICMP():
		return &t.ICMPID
	}
	return nil
}

// ConntrackEntry is one tracked connection, as "conntrack -L" lists it.
type ConntrackEntry struct {
	Original, Reply Tuple
	// State is the protocol's state by the name that conntrack prints; only TCP and SCTP have one.
	State string
	// Timeout is the number of seconds that the entry still lives.
	Timeout uint32
	// Replied: a packet of the reply direction was seen (conntrack prints [UNREPLIED] without it).
	Replied, Assured bool
	Mark             uint32
	// Zone is the conntrack zone of each direction.
	Zone Zone
}

// direction is a side of a connection, and the index of its tuple.
type direction uint8

const (
	original direction = iota
	reply
)

// conn is a tracked connection. What packets change of it is its state, which the journal saves as a whole.
type conn struct {
	tuples [2]Tuple
	zone   Zone
	connState
}

// connState is the part of a connection that changes after it is confirmed.
type connState struct {
	confirmed bool
	seenReply bool
	assured   bool
	mark      uint32
	expires   time.Time

	srcNAT, dstNAT   bool // the source or destination is translated
	srcDone, dstDone bool // the nat hooks have decided, even if for nothing
	chosenPort       bool // the kernel chooses the source port: it cannot be foretold
	masqueradeDev    string

	tcp         tcpTrack
	sctp        sctpTrack
	streamAfter time.Time // UDP: from then on a replied flow is a stream
}

// conntrack is the table of confirmed connections: each twice in byTuple, and once in bySource if the nat hooks have seen it.
type conntrack struct {
	byTuple  map[tupleKey]*conn
	bySource map[sourceKey][]*conn // the latest last
	sweepAt  int                   // the number of connections from which expired ones are looked for
}

// tupleKey is what the table knows a packet by. The direction is in it since the zone of each direction is its own.
type tupleKey struct {
	Tuple
	zone uint16
	dir  direction
}

// sourceKey is the source of a connection's first packet.
type sourceKey struct {
	src   netip.Addr
	port  uint16 // or the identifier of an ICMP query
	proto Proto
	zone  uint16
}

func (c *conn) key(dir direction) tupleKey { return tupleKey{c.tuples[dir], c.zone.id(dir), dir} }

func (c *conn) source() sourceKey { return sourceOf(&c.tuples[original], c.zone) }

func sourceOf(t *Tuple, z Zone) sourceKey {
	key := sourceKey{src: t.Src, proto: t.Proto, zone: z.Original}
	if part := t.sourcePart(); part != nil {
		key.port = *part
	}
	return key
}

// size is the number of connections, expired ones that nobody has looked for included.
func (t *conntrack) size() int { return len(t.byTuple) / 2 }

// find returns the connection that has the tuple in the zone, and its direction. An expired one is taken out.
func (h *Host) find(t Tuple, z Zone) (*conn, direction) {
	for _, dir := range [...]direction{reply, original} {
		c := h.tracked.byTuple[tupleKey{t, z.id(dir), dir}]
		if c == nil {
			continue
		}
		if h.clock.Now().Before(c.expires) {
			return c, dir
		}
		h.remove(c)
	}
	return nil, original
}

// leastSweep is the size of the table below which expired connections are left until somebody asks for them.
const leastSweep = 1024

// insert confirms a connection. It is false if either tuple is taken.
func (h *Host) insert(c *conn) bool {
	for _, t := range c.tuples {
		if taken, _ := h.find(t, c.zone); taken != nil {
			return false
		}
	}
	t := &h.tracked
	if t.size() >= max(t.sweepAt, leastSweep) {
		h.sweep()
		t.sweepAt = 2 * t.size()
	}
	c.confirmed = true
	t.link(c, -1)
	h.onRollback(func() {
		c.confirmed = false
		h.tracked.unlink(c)
	})
	return true
}

// remove takes a connection out of the table.
func (h *Host) remove(c *conn) {
	if h.tracked.byTuple[c.key(original)] != c {
		return
	}
	at := h.tracked.unlink(c)
	h.onRollback(func() { h.tracked.link(c, at) })
}

// link enters the connection, with the place at among those of its source; -1 is the last.
func (t *conntrack) link(c *conn, at int) {
	t.byTuple[c.key(original)], t.byTuple[c.key(reply)] = c, c
	if !c.srcDone {
		return
	}
	key := c.source()
	if at < 0 {
		at = len(t.bySource[key])
	}
	t.bySource[key] = slices.Insert(t.bySource[key], at, c)
}

// unlink undoes link and gives the place that the connection had.
func (t *conntrack) unlink(c *conn) (at int) {
	delete(t.byTuple, c.key(original))
	delete(t.byTuple, c.key(reply))
	key := c.source()
	list := t.bySource[key]
	at = slices.Index(list, c)
	switch {
	case at < 0:
	case len(list) == 1:
		delete(t.bySource, key)
	default:
		t.bySource[key] = slices.Delete(list, at, at+1)
	}
	return at
}

// sweep takes the expired connections out.
func (h *Host) sweep() {
	now := h.clock.Now()
	for key, c := range h.tracked.byTuple {
		if key.dir == original && !now.Before(c.expires) {
			h.remove(c)
		}
	}
}

// change notes a connection's state before it is written.
func (h *Host) change(c *conn) {
	if c.confirmed {
		h.journal.saveConn(c)
	}
}

// Conntrack lists the connections that have not expired, sorted by their tuples and zones.
func (h *Host) Conntrack() []ConntrackEntry {
	now := h.clock.Now()
	var entries []ConntrackEntry
	for key, c := range h.tracked.byTuple {
		if key.dir == original && now.Before(c.expires) {
			entries = append(entries, c.entry(now))
		}
	}
	slices.SortFunc(entries, func(a, b ConntrackEntry) int {
		return cmp.Or(a.Original.compare(b.Original), cmp.Compare(a.Zone.Original, b.Zone.Original), cmp.Compare(a.Zone.Reply, b.Zone.Reply))
	})
	return entries
}

func (c *conn) entry(now time.Time) ConntrackEntry {
	return ConntrackEntry{
		Original: c.tuples[original], Reply: c.tuples[reply], State: c.stateName(),
		Timeout: uint32(c.expires.Sub(now) / time.Second), Replied: c.seenReply, Assured: c.assured, Mark: c.mark, Zone: c.zone,
	}
}

func (t Tuple) compare(u Tuple) int {
	return cmp.Or(cmp.Compare(t.Proto, u.Proto), t.Src.Compare(u.Src), t.Dst.Compare(u.Dst), cmp.Compare(t.SrcPort, u.SrcPort),
		cmp.Compare(t.DstPort, u.DstPort), cmp.Compare(t.ICMPType, u.ICMPType), cmp.Compare(t.ICMPCode, u.ICMPCode),
		cmp.Compare(t.ICMPID, u.ICMPID))
}

// DeleteConntrack removes the entries for which drop is true, as "conntrack -D" does, and says how many they were.
// ConntrackFilter.Matches is such a function.
func (h *Host) DeleteConntrack(drop func(ConntrackEntry) bool) int {
	now := h.clock.Now()
	var doomed []*conn
	for key, c := range h.tracked.byTuple {
		if key.dir == original && now.Before(c.expires) && drop(c.entry(now)) {
			doomed = append(doomed, c)
		}
	}
	h.checkpoint()
	for _, c := range doomed {
		h.remove(c)
	}
	h.keep()
	return len(doomed)
}

// loadConntrack fills the table. Whether a connection is translated shows in its tuples, as it does in "conntrack -L".
func (h *Host) loadConntrack(entries []ConntrackEntry) error {
	h.tracked = conntrack{byTuple: make(map[tupleKey]*conn, 2*len(entries)), bySource: map[sourceKey][]*conn{}}
	h.checkpoint()
	defer h.keep()
	for i, e := range entries {
		if _, ok := e.Reply.answer(); !ok || e.Original.Proto != e.Reply.Proto {
			return fmt.Errorf("conntrack entry %d: the reply tuple does not answer the original one", i)
		}
		if !e.Zone.valid() {
			return fmt.Errorf("conntrack entry %d: the zones %d and %d differ: want one zone, or 0 for one direction", i, e.Zone.Original, e.Zone.Reply)
		}
		c := &conn{tuples: [2]Tuple{e.Original, e.Reply}, zone: e.Zone, connState: connState{
			seenReply: e.Replied, assured: e.Assured, mark: e.Mark,
			expires: h.clock.Now().Add(time.Duration(e.Timeout) * time.Second),
			srcDone: true, dstDone: true,
			tcp: tcpTrack{kind: tcpNoFlag, numberless: true}, sctp: sctpTrack{tagless: true},
		}}
		c.srcNAT, c.dstNAT = e.translated()
		if err := c.setStateName(e.State); err != nil {
			return fmt.Errorf("conntrack entry %d: %w", i, err)
		}
		if !h.insert(c) {
			return fmt.Errorf("conntrack entry %d: a tuple of it is in another entry", i)
		}
	}
	return nil
}

func (c *conn) stateName() string {
	switch c.tuples[original].Proto {
	case TCP:
		return tcpStateInfo[c.tcp.state].name
	case SCTP:
		return sctpStateInfo[c.sctp.state].name
	}
	return ""
}

func (c *conn) setStateName(name string) error {
	switch c.tuples[original].Proto {
	case TCP:
		for state, info := range tcpStateInfo {
			if info.name == name {
				c.tcp.state = tcpState(state)
				c.tcp.sides[original].closeInit = c.tcp.state >= tcpFinWait && c.tcp.state <= tcpTimeWait
				return nil
			}
		}
	case SCTP:
		for state, info := range sctpStateInfo {
			if info.name == name {
				c.sctp.state = sctpState(state)
				return nil
			}
		}
	default:
		return nil
	}
	return fmt.Errorf("unknown state %q of %s", name, c.tuples[original].Proto)
}
