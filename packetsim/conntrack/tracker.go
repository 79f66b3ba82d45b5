package conntrack

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/packetsim/inet"
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

// Answer is the tuple of a packet that answers one with this tuple. An ICMP query that has no answer has
// no inverse; ok says so.
func (t Tuple) Answer() (inverse Tuple, ok bool) {
	t.Src, t.Dst, t.SrcPort, t.DstPort = t.Dst, t.Src, t.DstPort, t.SrcPort
	if t.Proto.IsICMP() {
		t.ICMPType, ok = ICMPAnswer(t.Proto, t.ICMPType)
		return t, ok
	}
	return t, true
}

// Inverse is answer for a tuple that is known to have one.
func (t *Tuple) Inverse() Tuple {
	inverse := Tuple{Proto: t.Proto, Src: t.Dst, Dst: t.Src, SrcPort: t.DstPort, DstPort: t.SrcPort,
		ICMPType: t.ICMPType, ICMPCode: t.ICMPCode, ICMPID: t.ICMPID}
	if t.Proto.IsICMP() {
		inverse.ICMPType, _ = ICMPAnswer(t.Proto, t.ICMPType)
	}
	return inverse
}

// TupleOf is the tuple that conntrack reads from a packet.
func TupleOf(p *inet.Packet) Tuple {
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

// Entry is one tracked connection, as "conntrack -L" lists it.
type Entry struct {
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

// Direction is a side of a connection, and the index of its tuple.
type Direction uint8

// The directions of a connection.
const (
	Original Direction = iota
	Reply
)

// Conn is a tracked connection. What packets change of it is its state, which the journal saves as a whole.
type Conn struct {
	Tuples   [2]Tuple
	Zone     Zone
	Helper   string    // that -j CT has given it
	Template *Template // of a rule, which is no connection
	Given    bool      // the host was made with it, so that not all of it is known
	connState
	// The connection's places in the table.
	byTuple  [2]tupleLink
	bySource sourceLink
	listed   bool // it is in the table
}

// connState is the part of a connection that changes after it is confirmed.
type connState struct {
	Confirmed bool
	SeenReply bool
	Assured   bool
	Mark      uint32
	Expires   time.Time

	SrcNAT, DstNAT   bool // the source or destination is translated
	srcDone, dstDone bool // the nat hooks have decided, even if for nothing
	ChosenPort       bool // the kernel chooses the source port: it cannot be foretold
	MasqueradeDev    string

	tcp         tcpTrack
	sctp        sctpTrack
	Counters    *Counters // nil if the connection counts nothing
	Labels      *Labels   // nil: none
	streamAfter time.Time // UDP: from then on a replied flow is a stream
}

// sourceKey is the source of a connection's first packet.
type sourceKey struct {
	src   netip.Addr
	port  uint16 // or the identifier of an ICMP query
	proto inet.Proto
	zone  uint16
}

// IsOver says whether it is one of TCP that nobody sends on any more.
func (c *Conn) IsOver() bool {
	return c.Tuples[Original].Proto == inet.TCP && (c.tcp.state == tcpTimeWait || c.tcp.state == tcpClose)
}

func (c *Conn) source() sourceKey { return sourceOf(&c.Tuples[Original], c.Zone) }

func sourceOf(t *Tuple, z Zone) sourceKey {
	key := sourceKey{src: t.Src, proto: t.Proto, zone: z.Original}
	if part := t.sourcePart(); part != nil {
		key.port = *part
	}
	return key
}

// Tracker is the host's conntrack: its entries, and how packets change them.
type Tracker struct {
	conf      settings
	accounted func() bool // a rule makes new connections count their packets
	clock     clock.PassiveClock
	tracked   table
	journal   journal
	scratch   scratchConns
	refreshed bool // the packet that conntrack looks at has made its connection's time longer
}

// NewTracker is empty. accounted says whether a rule makes new connections count their packets.
func NewTracker(clock clock.PassiveClock, accounted func() bool) Tracker {
	return Tracker{clock: clock, accounted: accounted}
}

// Size is the number of connections, expired ones that nobody has looked for included.
func (k *Tracker) Size() int { return k.tracked.size() }

// All goes through the connections, expired ones included. Each may be taken out meanwhile.
func (k *Tracker) All() iter.Seq[*Conn] { return k.tracked.all() }

// Find returns the connection that a packet with the tuple belongs to in the zone, and its direction: the packet may be of either
// (resolve_normal_ct).
func (k *Tracker) Find(t *Tuple, z Zone) (*Conn, Direction) {
	if k.tracked.size() == 0 {
		return nil, Original
	}
	hash := t.hash()
	c, dir := k.findBy(t, hash, z, Original)
	if c == nil && z.Original != z.Reply {
		c, dir = k.findBy(t, hash, z, Reply)
	}
	return c, dir
}

// findBy returns the connection that has the tuple where the kernel's hash of the tuple and the direction's zone leads. In a zone of one
// direction the tuples of the other are elsewhere. An expired connection is taken out. The tuple's hash of this package is at hand.
func (k *Tracker) findBy(t *Tuple, hash uint32, z Zone, by Direction) (*Conn, Direction) {
	for {
		c, dir := k.tracked.get(t, hash, z, by)
		if c == nil || k.clock.Now().Before(c.Expires) {
			return c, dir
		}
		k.Remove(c)
	}
}

// LeastSweep is the size of the table below which expired connections are left until somebody asks for them.
const LeastSweep = 1024

// Insert confirms a connection. It is false if either tuple is taken.
func (k *Tracker) Insert(c *Conn) bool {
	for dir := range c.Tuples {
		hash := c.Tuples[dir].hash()
		c.byTuple[dir].hash = hash
		if taken, _ := k.findBy(&c.Tuples[dir], hash, c.Zone, Direction(dir)); taken != nil {
			return false
		}
	}
	t := &k.tracked
	if t.size() >= max(t.sweepAt, LeastSweep) {
		k.sweep()
		t.sweepAt = 2 * t.size()
	}
	c.Confirmed = true
	t.enter(c)
	k.journal.noteConn(c, undoEntry)
	return true
}

// Ongoing is a connection that was answered and that NAT leaves alone. It is in no table.
func (k *Tracker) Ongoing(first Tuple, z Zone) *Conn {
	c := k.scratch.newConn()
	c.Tuples, c.Zone = [2]Tuple{first, first.Inverse()}, z
	c.connState = connState{Confirmed: true, SeenReply: true, Assured: true, srcDone: true, dstDone: true,
		Expires: k.clock.Now().Add(ongoingTime)}
	if first.Proto == inet.TCP {
		c.tcp.state = tcpEstablished
	}
	return c
}

// ongoingTime is the timeout of a TCP connection that is established (nf_conntrack_tcp_timeout_established).
const ongoingTime = 432000 * time.Second

// Remove takes a connection out of the table.
func (k *Tracker) Remove(c *Conn) {
	if c.listed {
		k.tracked.unlink(c)
		k.journal.noteConn(c, undoRemoval)
	}
}

// sweep takes the expired connections out.
func (k *Tracker) sweep() {
	now := k.clock.Now()
	for c := range k.tracked.all() {
		if !now.Before(c.Expires) {
			k.Remove(c)
		}
	}
}

// Change notes a connection's state before it is written.
func (k *Tracker) Change(c *Conn) {
	if c.Confirmed {
		k.journal.saveConn(c)
	}
}

// Entries lists the connections that have not expired, sorted by their tuples and zones.
func (k *Tracker) Entries() []Entry {
	now := k.clock.Now()
	var entries []Entry
	for c := range k.tracked.all() {
		if now.Before(c.Expires) {
			entries = append(entries, c.entry(now))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Original.Compare(b.Original), cmp.Compare(a.Zone.Original, b.Zone.Original), cmp.Compare(a.Zone.Reply, b.Zone.Reply))
	})
	return entries
}

func (c *Conn) entry(now time.Time) Entry {
	e := Entry{
		Original: c.Tuples[Original], Reply: c.Tuples[Reply], State: c.stateName(),
		Timeout: uint32(c.Expires.Sub(now) / time.Second), Replied: c.SeenReply, Assured: c.Assured, Mark: c.Mark, Zone: c.Zone,
		Helper: c.Helper, Counted: c.Counters != nil,
	}
	if e.Counted {
		for dir, n := range c.Counters {
			e.Packets[dir], e.Bytes[dir] = n.Packets, n.Bytes
		}
	}
	return e
}

// EntryOf is a connection as events tell it: without a source port that the kernel chooses.
func (k *Tracker) EntryOf(c *Conn) *Entry {
	e := c.entry(k.clock.Now())
	if c.ChosenPort {
		e.Reply.DstPort = 0
	}
	return &e
}

// Compare orders tuples: by protocol, addresses, and what is left.
func (t Tuple) Compare(u Tuple) int {
	return cmp.Or(cmp.Compare(t.Proto, u.Proto), t.Src.Compare(u.Src), t.Dst.Compare(u.Dst), cmp.Compare(t.SrcPort, u.SrcPort),
		cmp.Compare(t.DstPort, u.DstPort), cmp.Compare(t.ICMPType, u.ICMPType), cmp.Compare(t.ICMPCode, u.ICMPCode),
		cmp.Compare(t.ICMPID, u.ICMPID))
}

// Delete removes the connections for which drop is true, and says how many they were.
func (k *Tracker) Delete(drop func(Entry) bool) int {
	now := k.clock.Now()
	var doomed []*Conn
	for c := range k.tracked.all() {
		if now.Before(c.Expires) && drop(c.entry(now)) {
			doomed = append(doomed, c)
		}
	}
	for _, c := range doomed {
		k.Remove(c)
	}
	return len(doomed)
}

// Load fills the table. Whether a connection is translated shows in its tuples, as it does in "conntrack -L".
func (k *Tracker) Load(entries []Entry) error {
	for i, e := range entries {
		if _, ok := e.Reply.Answer(); !ok || e.Original.Proto != e.Reply.Proto {
			return fmt.Errorf("conntrack entry %d: the reply tuple does not answer the original one", i)
		}
		if !e.Zone.Valid() {
			return fmt.Errorf("conntrack entry %d: the zones %d and %d differ: want one zone, or 0 for one direction", i, e.Zone.Original,
				e.Zone.Reply)
		}
		c := &Conn{Tuples: [2]Tuple{e.Original, e.Reply}, Zone: e.Zone, Helper: e.Helper, Given: true, connState: connState{
			SeenReply: e.Replied, Assured: e.Assured, Mark: e.Mark,
			Expires: k.clock.Now().Add(time.Duration(e.Timeout) * time.Second),
			srcDone: true, dstDone: true,
			tcp: tcpTrack{kind: tcpNoFlag, numberless: true}, sctp: sctpTrack{tagless: true},
		}}
		c.SrcNAT, c.DstNAT = e.translated()
		if e.Counted {
			c.Counters = &Counters{{e.Packets[Original], e.Bytes[Original]}, {e.Packets[Reply], e.Bytes[Reply]}}
		}
		if err := c.setStateName(e.State); err != nil {
			return fmt.Errorf("conntrack entry %d: %w", i, err)
		}
		if !k.Insert(c) {
			return fmt.Errorf("conntrack entry %d: a tuple of it is in another entry", i)
		}
	}
	return nil
}

func (c *Conn) stateName() string {
	switch c.Tuples[Original].Proto {
	case inet.TCP:
		return tcpStateInfo[c.tcp.state].name
	case inet.SCTP:
		return sctpStateInfo[c.sctp.state].name
	}
	return ""
}

func (c *Conn) setStateName(name string) error {
	switch c.Tuples[Original].Proto {
	case inet.TCP:
		for state, info := range tcpStateInfo {
			if info.name == name {
				c.tcp.state = tcpState(state)
				c.tcp.sides[Original].closeInit = c.tcp.state >= tcpFinWait && c.tcp.state <= tcpTimeWait
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
	return fmt.Errorf("unknown state %q of %s", name, c.Tuples[Original].Proto)
}

// Counters count the packets of a connection in each direction. They are not written to: the next packet has others.
type Counters [2]counter

type counter struct{ Packets, Bytes uint64 }

// accounts says whether new connections count their packets: by net.netfilter.nf_conntrack_acct, which the kernel sets
// itself when it is given a rule with -m connbytes.
func (k *Tracker) accounts() bool { return k.conf.accounts || k.accounted() }

// count counts a packet of a connection that has counters (nf_ct_acct_update).
func (k *Tracker) count(c *Conn, dir Direction, size int) {
	counters := *c.Counters
	counters[dir].Packets++
	counters[dir].Bytes += uint64(size)
	k.Change(c)
	c.Counters = &counters
}

// Labels are the labels of a connection, one bit each.
type Labels [2]uint64
