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
}

// direction is a side of a connection, and the index of its tuple.
type direction uint8

const (
	original direction = iota
	reply
)

// conn is a tracked connection.
type conn struct {
	tuples    [2]Tuple
	confirmed bool
	seenReply bool
	assured   bool
	mark      uint32
	expires   time.Time

	srcNAT, dstNAT   bool // the source or destination is translated
	srcDone, dstDone bool // the nat hooks have decided, even if for nothing
	chosenPort       bool // the kernel chooses the source port: it cannot be foretold
	masqueradeDev    string

	tcp         tcpState
	closeInit   bool    // a FIN began the orderly end
	lastKind    tcpKind // of the last packet that was not invalid
	lastDir     direction
	sctp        sctpState
	streamAfter time.Time // UDP: from then on a replied flow is a stream
}

// conntrack is the table of confirmed connections.
type conntrack struct {
	byTuple map[Tuple]*conn
}

// find returns the connection that has the tuple and its direction. An expired one is taken out.
func (h *Host) find(t Tuple) (*conn, direction) {
	c := h.tracked.byTuple[t]
	if c == nil {
		return nil, original
	}
	if !h.clock.Now().Before(c.expires) {
		h.remove(c)
		return nil, original
	}
	if c.tuples[original] == t {
		return c, original
	}
	return c, reply
}

// insert confirms a connection. It is false if either tuple is taken.
func (h *Host) insert(c *conn) bool {
	for _, t := range c.tuples {
		if taken, _ := h.find(t); taken != nil {
			return false
		}
	}
	c.confirmed = true
	table := h.tracked.byTuple
	table[c.tuples[reply]] = c
	table[c.tuples[original]] = c
	h.onRollback(func() {
		c.confirmed = false
		delete(table, c.tuples[reply])
		delete(table, c.tuples[original])
	})
	return true
}

// remove takes a connection out of the table.
func (h *Host) remove(c *conn) {
	table := h.tracked.byTuple
	if table[c.tuples[original]] != c {
		return
	}
	delete(table, c.tuples[reply])
	delete(table, c.tuples[original])
	h.onRollback(func() {
		table[c.tuples[reply]] = c
		table[c.tuples[original]] = c
	})
}

// change notes a connection's state before it is written.
func (h *Host) change(c *conn) {
	if c.confirmed {
		before := *c
		h.onRollback(func() { *c = before })
	}
}

// Conntrack lists the connections that have not expired, sorted by their tuples.
func (h *Host) Conntrack() []ConntrackEntry {
	now := h.clock.Now()
	var entries []ConntrackEntry
	for t, c := range h.tracked.byTuple {
		if t != c.tuples[original] || !now.Before(c.expires) {
			continue
		}
		entries = append(entries, ConntrackEntry{
			Original: c.tuples[original], Reply: c.tuples[reply], State: c.stateName(),
			Timeout: uint32(c.expires.Sub(now) / time.Second), Replied: c.seenReply, Assured: c.assured, Mark: c.mark,
		})
	}
	slices.SortFunc(entries, func(a, b ConntrackEntry) int { return a.Original.compare(b.Original) })
	return entries
}

func (t Tuple) compare(u Tuple) int {
	return cmp.Or(cmp.Compare(t.Proto, u.Proto), t.Src.Compare(u.Src), t.Dst.Compare(u.Dst), cmp.Compare(t.SrcPort, u.SrcPort),
		cmp.Compare(t.DstPort, u.DstPort), cmp.Compare(t.ICMPType, u.ICMPType), cmp.Compare(t.ICMPCode, u.ICMPCode),
		cmp.Compare(t.ICMPID, u.ICMPID))
}

// DeleteConntrack removes the entries for which drop is true, as "conntrack -D" does, and says how many they were.
func (h *Host) DeleteConntrack(drop func(ConntrackEntry) bool) int {
	removed := 0
	for _, entry := range h.Conntrack() {
		if drop(entry) {
			h.checkpoint()
			h.remove(h.tracked.byTuple[entry.Original])
			h.keep()
			removed++
		}
	}
	return removed
}

// loadConntrack fills the table. Whether a connection is translated shows in its tuples, as it does in "conntrack -L".
func (h *Host) loadConntrack(entries []ConntrackEntry) error {
	h.tracked.byTuple = make(map[Tuple]*conn, 2*len(entries))
	h.checkpoint()
	defer h.keep()
	for i, e := range entries {
		inverse, ok := e.Reply.answer()
		if !ok || e.Original.Proto != e.Reply.Proto {
			return fmt.Errorf("conntrack entry %d: the reply tuple does not answer the original one", i)
		}
		c := &conn{
			tuples:    [2]Tuple{e.Original, e.Reply},
			seenReply: e.Replied, assured: e.Assured, mark: e.Mark,
			expires: h.clock.Now().Add(time.Duration(e.Timeout) * time.Second),
			srcDone: true, dstDone: true,
		}
		c.srcNAT = inverse.Src != e.Original.Src || inverse.SrcPort != e.Original.SrcPort || inverse.ICMPID != e.Original.ICMPID
		c.dstNAT = inverse.Dst != e.Original.Dst || inverse.DstPort != e.Original.DstPort
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
		return tcpStateInfo[c.tcp].name
	case SCTP:
		return sctpStateInfo[c.sctp].name
	}
	return ""
}

func (c *conn) setStateName(name string) error {
	switch c.tuples[original].Proto {
	case TCP:
		for state, info := range tcpStateInfo {
			if info.name == name {
				c.tcp, c.closeInit = tcpState(state), tcpState(state) >= tcpFinWait && tcpState(state) <= tcpTimeWait
				return nil
			}
		}
	case SCTP:
		for state, info := range sctpStateInfo {
			if info.name == name {
				c.sctp = sctpState(state)
				return nil
			}
		}
	default:
		return nil
	}
	return fmt.Errorf("unknown state %q of %s", name, c.tuples[original].Proto)
}
