package packetsim

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"k8s.io/utils/clock"
)

// Tuple is one direction of a connection.
type Tuple struct {
	Proto   inet.Proto `json:"proto"`
	Src     netip.Addr `json:"src"`
	Dst     netip.Addr `json:"dst"`
	SrcPort uint16     `json:"sport,omitempty"`
	DstPort uint16     `json:"dport,omitempty"`
	// ICMPType, ICMPCode and ICMPID stand for the ports in a tuple of ICMP queries.
	ICMPType uint8  `json:"icmpType,omitempty"`
	ICMPCode uint8  `json:"icmpCode,omitempty"`
	ICMPID   uint16 `json:"icmpID,omitempty"`
}

// answer is the tuple of a packet that answers one with this tuple. An ICMP query that has no answer has
// no inverse; ok says so.
func (t Tuple) answer() (inverse Tuple, ok bool) {
	t.Src, t.Dst, t.SrcPort, t.DstPort = t.Dst, t.Src, t.DstPort, t.SrcPort
	if t.Proto.IsICMP() {
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
func tupleOf(p *inet.Packet) Tuple {
	t := Tuple{Proto: p.Proto, Src: p.Src, Dst: p.Dst}
	switch {
	case p.Proto.HasPorts():
		t.SrcPort, t.DstPort = p.SrcPort, p.DstPort
	case p.Proto.IsICMP():
		t.ICMPType, t.ICMPCode, t.ICMPID = p.ICMPType, p.ICMPCode, p.ICMPID
	}
	return t
}

// sourcePart is what NAT may change to tell two connections apart: the source port, or the identifier of an ICMP query.
func (t *Tuple) sourcePart() *uint16 {
	switch {
	case t.Proto.HasPorts():
		return &t.SrcPort
	case t.Proto.IsICMP():
		return &t.ICMPID
	}
	return nil
}

// ConntrackEntry is one tracked connection, as "conntrack -L" lists it.
type ConntrackEntry struct {
	Original Tuple `json:"original"`
	Reply    Tuple `json:"reply"`
	// State is the protocol's state by the name that conntrack prints; only TCP and SCTP have one.
	State string `json:"state,omitempty"`
	// Timeout is the number of seconds that the entry still lives.
	Timeout uint32 `json:"timeout"`
	// Replied: a packet of the reply direction was seen (conntrack prints [UNREPLIED] without it).
	Replied bool   `json:"replied,omitempty"`
	Assured bool   `json:"assured,omitempty"`
	Mark    uint32 `json:"mark,omitempty"`
	// Zone is the conntrack zone of each direction.
	Zone Zone `json:"zone,omitzero"`
	// Helper looks at what the packets carry; "" for most connections.
	Helper string `json:"helper,omitempty"`
	// Counted says that the kernel counts the connection's packets, with their bytes: of the original direction and of the reply.
	Counted bool      `json:"counted,omitempty"`
	Packets [2]uint64 `json:"packets,omitzero"`
	Bytes   [2]uint64 `json:"bytes,omitzero"`
}

// direction is a side of a connection, and the index of its tuple.
type direction uint8

const (
	original direction = iota
	reply
)

// conn is a tracked connection. What packets change of it is its state, which the journal saves as a whole.
type conn struct {
	tuples   [2]Tuple
	zone     Zone
	helper   string    // that -j CT has given it
	template *template // of a rule, which is no connection
	given    bool      // the host was made with it, so that not all of it is known
	connState
	// The connection's places in the table.
	byTuple  [2]tupleLink
	bySource sourceLink
	listed   bool // it is in the table
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
	counters    *connCounters // nil if the connection counts nothing
	labels      *connLabels   // nil: none
	streamAfter time.Time     // UDP: from then on a replied flow is a stream
}

// sourceKey is the source of a connection's first packet.
type sourceKey struct {
	src   netip.Addr
	port  uint16 // or the identifier of an ICMP query
	proto inet.Proto
	zone  uint16
}

// isOver says whether it is one of TCP that nobody sends on any more.
func (c *conn) isOver() bool {
	return c.tuples[original].Proto == inet.TCP && (c.tcp.state == tcpTimeWait || c.tcp.state == tcpClose)
}

func (c *conn) source() sourceKey { return sourceOf(&c.tuples[original], c.zone) }

func sourceOf(t *Tuple, z Zone) sourceKey {
	key := sourceKey{src: t.Src, proto: t.Proto, zone: z.Original}
	if part := t.sourcePart(); part != nil {
		key.port = *part
	}
	return key
}

// tracker is the host's conntrack: its entries, and how packets change them.
type tracker struct {
	conf      settings
	accounted func() bool // a rule makes new connections count their packets
	clock     clock.PassiveClock
	tracked   conntrack
	journal   journal
	scratch   scratchConns
	refreshed bool // the packet that conntrack looks at has made its connection's time longer
}

// newTracker is empty. accounted says whether a rule makes new connections count their packets.
func newTracker(clock clock.PassiveClock, accounted func() bool) tracker {
	return tracker{clock: clock, accounted: accounted}
}

// size is the number of connections, expired ones that nobody has looked for included.
func (h *tracker) size() int { return h.tracked.size() }

// all goes through the connections, expired ones included. Each may be taken out meanwhile.
func (h *tracker) all() iter.Seq[*conn] { return h.tracked.all() }

// find returns the connection that a packet with the tuple belongs to in the zone, and its direction: the packet may be of either
// (resolve_normal_ct).
func (h *tracker) find(t *Tuple, z Zone) (*conn, direction) {
	hash := t.hash()
	c, dir := h.findBy(t, hash, z, original)
	if c == nil && z.Original != z.Reply {
		c, dir = h.findBy(t, hash, z, reply)
	}
	return c, dir
}

// findBy returns the connection that has the tuple where the kernel's hash of the tuple and the direction's zone leads. In a zone of one
// direction the tuples of the other are elsewhere. An expired connection is taken out. The tuple's hash of this package is at hand.
func (h *tracker) findBy(t *Tuple, hash uint32, z Zone, by direction) (*conn, direction) {
	for {
		c, dir := h.tracked.get(t, hash, z, by)
		if c == nil || h.clock.Now().Before(c.expires) {
			return c, dir
		}
		h.remove(c)
	}
}

// leastSweep is the size of the table below which expired connections are left until somebody asks for them.
const leastSweep = 1024

// insert confirms a connection. It is false if either tuple is taken.
func (h *tracker) insert(c *conn) bool {
	for dir := range c.tuples {
		hash := c.tuples[dir].hash()
		c.byTuple[dir].hash = hash
		if taken, _ := h.findBy(&c.tuples[dir], hash, c.zone, direction(dir)); taken != nil {
			return false
		}
	}
	t := &h.tracked
	if t.size() >= max(t.sweepAt, leastSweep) {
		h.sweep()
		t.sweepAt = 2 * t.size()
	}
	c.confirmed = true
	t.enter(c)
	h.journal.noteConn(c, undoEntry)
	return true
}

// remove takes a connection out of the table.
func (h *tracker) remove(c *conn) {
	if c.listed {
		h.tracked.unlink(c)
		h.journal.noteConn(c, undoRemoval)
	}
}

// sweep takes the expired connections out.
func (h *tracker) sweep() {
	now := h.clock.Now()
	for c := range h.tracked.all() {
		if !now.Before(c.expires) {
			h.remove(c)
		}
	}
}

// change notes a connection's state before it is written.
func (h *tracker) change(c *conn) {
	if c.confirmed {
		h.journal.saveConn(c)
	}
}

// entries lists the connections that have not expired, sorted by their tuples and zones.
func (h *tracker) entries() []ConntrackEntry {
	now := h.clock.Now()
	var entries []ConntrackEntry
	for c := range h.tracked.all() {
		if now.Before(c.expires) {
			entries = append(entries, c.entry(now))
		}
	}
	slices.SortFunc(entries, func(a, b ConntrackEntry) int {
		return cmp.Or(a.Original.compare(b.Original), cmp.Compare(a.Zone.Original, b.Zone.Original), cmp.Compare(a.Zone.Reply, b.Zone.Reply))
	})
	return entries
}

func (c *conn) entry(now time.Time) ConntrackEntry {
	e := ConntrackEntry{
		Original: c.tuples[original], Reply: c.tuples[reply], State: c.stateName(),
		Timeout: uint32(c.expires.Sub(now) / time.Second), Replied: c.seenReply, Assured: c.assured, Mark: c.mark, Zone: c.zone,
		Helper: c.helper, Counted: c.counters != nil,
	}
	if e.Counted {
		for dir, n := range c.counters {
			e.Packets[dir], e.Bytes[dir] = n.packets, n.bytes
		}
	}
	return e
}

// entryOf is a connection as events tell it: without a source port that the kernel chooses.
func (h *tracker) entryOf(c *conn) *ConntrackEntry {
	e := c.entry(h.clock.Now())
	if c.chosenPort {
		e.Reply.DstPort = 0
	}
	return &e
}

func (t Tuple) compare(u Tuple) int {
	return cmp.Or(cmp.Compare(t.Proto, u.Proto), t.Src.Compare(u.Src), t.Dst.Compare(u.Dst), cmp.Compare(t.SrcPort, u.SrcPort),
		cmp.Compare(t.DstPort, u.DstPort), cmp.Compare(t.ICMPType, u.ICMPType), cmp.Compare(t.ICMPCode, u.ICMPCode),
		cmp.Compare(t.ICMPID, u.ICMPID))
}

// delete removes the connections for which drop is true, and says how many they were.
func (h *tracker) delete(drop func(ConntrackEntry) bool) int {
	now := h.clock.Now()
	var doomed []*conn
	for c := range h.tracked.all() {
		if now.Before(c.expires) && drop(c.entry(now)) {
			doomed = append(doomed, c)
		}
	}
	for _, c := range doomed {
		h.remove(c)
	}
	return len(doomed)
}

// load fills the table. Whether a connection is translated shows in its tuples, as it does in "conntrack -L".
func (h *tracker) load(entries []ConntrackEntry) error {
	for i, e := range entries {
		if _, ok := e.Reply.answer(); !ok || e.Original.Proto != e.Reply.Proto {
			return fmt.Errorf("conntrack entry %d: the reply tuple does not answer the original one", i)
		}
		if !e.Zone.Valid() {
			return fmt.Errorf("conntrack entry %d: the zones %d and %d differ: want one zone, or 0 for one direction", i, e.Zone.Original,
				e.Zone.Reply)
		}
		c := &conn{tuples: [2]Tuple{e.Original, e.Reply}, zone: e.Zone, helper: e.Helper, given: true, connState: connState{
			seenReply: e.Replied, assured: e.Assured, mark: e.Mark,
			expires: h.clock.Now().Add(time.Duration(e.Timeout) * time.Second),
			srcDone: true, dstDone: true,
			tcp: tcpTrack{kind: tcpNoFlag, numberless: true}, sctp: sctpTrack{tagless: true},
		}}
		c.srcNAT, c.dstNAT = e.translated()
		if e.Counted {
			c.counters = &connCounters{{e.Packets[original], e.Bytes[original]}, {e.Packets[reply], e.Bytes[reply]}}
		}
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
	case inet.TCP:
		return tcpStateInfo[c.tcp.state].name
	case inet.SCTP:
		return sctpStateInfo[c.sctp.state].name
	}
	return ""
}

func (c *conn) setStateName(name string) error {
	switch c.tuples[original].Proto {
	case inet.TCP:
		for state, info := range tcpStateInfo {
			if info.name == name {
				c.tcp.state = tcpState(state)
				c.tcp.sides[original].closeInit = c.tcp.state >= tcpFinWait && c.tcp.state <= tcpTimeWait
				return nil
			}
		}
	case inet.SCTP:
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

// connCounters count the packets of a connection in each direction. They are not written to: the next packet has others.
type connCounters [2]counter

type counter struct{ packets, bytes uint64 }

// accounts says whether new connections count their packets: by net.netfilter.nf_conntrack_acct, which the kernel sets
// itself when it is given a rule with -m connbytes.
func (h *tracker) accounts() bool { return h.conf.accounts || h.accounted() }

// count counts a packet of a connection that has counters (nf_ct_acct_update).
func (h *tracker) count(c *conn, dir direction, size int) {
	counters := *c.counters
	counters[dir].packets++
	counters[dir].bytes += uint64(size)
	h.change(c)
	c.counters = &counters
}

// connLabels are the labels of a connection, one bit each.
type connLabels [2]uint64
