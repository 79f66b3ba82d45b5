package conntrack

import (
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// tcpState is a state of conntrack's TCP machine (net/netfilter/nf_conntrack_proto_tcp.c).
type tcpState uint8

const (
	tcpNone tcpState = iota
	tcpSynSent
	tcpSynRecv
	tcpEstablished
	tcpFinWait
	tcpCloseWait
	tcpLastAck
	tcpTimeWait
	tcpClose
	tcpSynSent2
	tcpStates

	tcpIgnore  = tcpStates     // the packet passes and changes nothing
	tcpInvalid = tcpStates + 1 // the packet belongs to no connection
)

// tcpStateInfo is each state's name in "conntrack -L", its sysctl and the sysctl's default in seconds.
var tcpStateInfo = [tcpStates]struct {
	name, sysctl string
	timeout      int
}{
	tcpNone:        {"NONE", "syn_sent", 120},
	tcpSynSent:     {"SYN_SENT", "syn_sent", 120},
	tcpSynRecv:     {"SYN_RECV", "syn_recv", 60},
	tcpEstablished: {"ESTABLISHED", "established", 432000},
	tcpFinWait:     {"FIN_WAIT", "fin_wait", 120},
	tcpCloseWait:   {"CLOSE_WAIT", "close_wait", 60},
	tcpLastAck:     {"LAST_ACK", "last_ack", 30},
	tcpTimeWait:    {"TIME_WAIT", "time_wait", 120},
	tcpClose:       {"CLOSE", "close", 10},
	tcpSynSent2:    {"SYN_SENT2", "syn_sent2", 120},
}

// tcpKind is what a segment is to the state machine.
type tcpKind uint8

const (
	tcpSyn tcpKind = iota
	tcpSynAck
	tcpFin
	tcpAck
	tcpRst
	tcpNoFlag
)

func kindOf(flags inet.TCPFlags) tcpKind {
	switch {
	case flags&inet.RST != 0:
		return tcpRst
	case flags&(inet.SYN|inet.ACK) == inet.SYN|inet.ACK:
		return tcpSynAck
	case flags&inet.SYN != 0:
		return tcpSyn
	case flags&inet.FIN != 0:
		return tcpFin
	case flags&inet.ACK != 0:
		return tcpAck
	}
	return tcpNoFlag
}

// validFlags are the combinations of FIN, SYN, RST, ACK and URG that a segment may have; PSH, ECE and CWR do not matter.
func validFlags(flags inet.TCPFlags) bool {
	switch flags &^ (inet.PSH | inet.ECE | inet.CWR) {
	case inet.SYN, inet.SYN | inet.URG, inet.SYN | inet.ACK, inet.RST, inet.RST | inet.ACK, inet.FIN | inet.ACK,
		inet.FIN | inet.ACK | inet.URG, inet.ACK, inet.ACK | inet.URG:
		return true
	}
	return false
}

// tcpMachine is the state after a segment, by direction, kind and the state before it.
var tcpMachine = func() (machine [2][6][tcpStates]tcpState) {
	const (
		ss, sr, es, fw, cw = tcpSynSent, tcpSynRecv, tcpEstablished, tcpFinWait, tcpCloseWait
		la, tw, cl, s2     = tcpLastAck, tcpTimeWait, tcpClose, tcpSynSent2
		ig, iv             = tcpIgnore, tcpInvalid
	)
	type row = [tcpStates]tcpState
	// the columns:        no  ss  sr  es  fw  cw  la  tw  cl  s2
	machine[Original] = [6]row{
		tcpSyn:    {ss, ss, ig, ig, ig, ig, ig, ss, ss, s2},
		tcpSynAck: {iv, iv, sr, iv, iv, iv, iv, iv, iv, sr},
		tcpFin:    {iv, iv, fw, fw, la, la, la, tw, cl, iv},
		tcpAck:    {es, iv, es, es, cw, cw, tw, tw, cl, iv},
		tcpRst:    {iv, cl, cl, cl, cl, cl, cl, cl, cl, cl},
		tcpNoFlag: {iv, iv, iv, iv, iv, iv, iv, iv, iv, iv},
	}
	machine[Reply] = [6]row{
		tcpSyn:    {iv, s2, iv, iv, iv, iv, iv, ss, iv, s2},
		tcpSynAck: {iv, sr, ig, ig, ig, ig, ig, ig, ig, sr},
		tcpFin:    {iv, iv, fw, fw, la, la, la, tw, cl, iv},
		tcpAck:    {iv, ig, sr, es, cw, cw, tw, tw, cl, ig},
		tcpRst:    {iv, cl, cl, cl, cl, cl, cl, cl, cl, cl},
		tcpNoFlag: {iv, iv, iv, iv, iv, iv, iv, iv, iv, iv},
	}
	return machine
}()

// tcpTrack is what conntrack remembers of a TCP connection.
type tcpTrack struct {
	state tcpState
	sides [2]tcpSide
	// numberless: a segment was tracked without its numbers, so that the windows are not known any more.
	numberless bool

	// The last segment that was not invalid. It has the numbers of the last ACK, or of an ignored segment.
	kind                     tcpKind
	dir                      Direction
	seq, ack, end            uint32
	window                   uint16
	repeats                  int
	scale                    uint8
	scaled, sackOK           bool // the options of an ignored SYN
	simultaneous, challenged bool
}

// segment is a TCP segment as the tracker reads it.
type segment struct {
	inet.TCPNumbers
	flags inet.TCPFlags
	kind  tcpKind
	end   uint32 // the sequence number after the segment
	known bool   // the numbers are given
	bad   bool   // it is said to be out of the window
}

func segmentOf(p *inet.Packet) segment {
	g := segment{flags: p.TCPFlags, kind: kindOf(p.TCPFlags), bad: p.OutOfWindow}
	if p.Numbers == nil {
		return g
	}
	g.TCPNumbers, g.known = *p.Numbers, true
	g.end = p.Numbers.End(p.TCPFlags)
	return g
}

// trackTCP advances a connection by a segment (nf_conntrack_tcp_packet).
func (k *Tracker) trackTCP(c *Conn, dir Direction, p *inet.Packet) Verdict {
	if !validFlags(p.TCPFlags) {
		return Invalid
	}
	g := segmentOf(p)
	if !c.Confirmed && !c.tcp.begin(&g, k.conf.tcpLoose) {
		return Invalid
	}
	before := c.tcp.state
	next := tcpMachine[dir][g.kind][before]
	switch {
	case next == tcpInvalid:
		return Invalid
	case next == tcpSynSent && before >= tcpTimeWait && c.tcp.ended(dir):
		k.Remove(c) // the port is used again after the connection's end
		return Again
	case next == tcpSynSent && before >= tcpTimeWait:
		next = tcpIgnore
	}
	k.Change(c)
	c.tcp.numberless = c.tcp.numberless || !g.known
	if next == tcpIgnore {
		if !c.tcp.answersIgnored(dir, &g) {
			c.tcp.ignore(dir, &g, before)
			return Accept
		}
		before, next = tcpSynSent, tcpSynRecv // it answers a SYN that was ignored: the ends know better
		c.tcp.resynchronise(dir)
	}
	return k.judgeTCP(c, dir, &g, before, next)
}

// judgeTCP decides about a segment that the state machine lets pass.
func (k *Tracker) judgeTCP(c *Conn, dir Direction, g *segment, before, next tcpState) Verdict {
	t := &c.tcp
	inWindow := false
	switch next {
	case tcpTimeWait:
		if before == tcpLastAck && g.kind == tcpAck && t.dir != dir && t.kind == tcpSyn && t.challenged {
			t.challenged = false // it answers the ignored SYN, not the last FIN
			return Accept
		}
	case tcpSynSent2:
		t.simultaneous = true
	case tcpSynRecv:
		if dir == Reply && g.kind == tcpAck && t.simultaneous {
			next = tcpEstablished
		}
	case tcpClose:
		if g.kind == tcpRst {
			var valid bool
			if next, inWindow, valid = k.judgeReset(c, dir, g); !valid {
				return Invalid
			}
		}
	}
	if !inWindow {
		switch k.checkWindow(c, dir, g) {
		case windowIgnore:
			return Accept
		case windowInvalid:
			k.shortenTCP(c, dir, g.kind)
			return Invalid
		}
	}
	t.kind, t.dir, t.state = g.kind, dir, next
	if next == tcpFinWait && before != next {
		t.sides[dir].closeInit = true
	}
	return k.refreshTCP(c, g.kind, before)
}

// begin starts the state of a new connection (tcp_new).
func (t *tcpTrack) begin(g *segment, loose bool) bool {
	next := tcpMachine[Original][g.kind][tcpNone]
	if next == tcpInvalid || next != tcpSynSent && !loose {
		return false
	}
	side := tcpSide{end: g.end, maxEnd: g.end, maxWindow: max(uint32(g.Window), 1)}
	*t = tcpTrack{kind: tcpNoFlag}
	if next == tcpSynSent {
		side.readOptions(g)
	} else { // picked up in the middle: the scale is not known, so that the windows are not binding
		side.maxEnd += side.maxWindow
		side.sackOK, side.liberal = true, true
		t.sides[Reply].sackOK, t.sides[Reply].liberal = true, true
	}
	t.sides[Original] = side
	return true
}

// ended says whether a new SYN of the direction may begin the connection anew.
func (t *tcpTrack) ended(dir Direction) bool {
	return t.sides[Original].closeInit || t.sides[Reply].closeInit || t.kind == tcpRst && t.dir == dir
}

// answersIgnored says whether the segment is the answer to a SYN that was ignored.
func (t *tcpTrack) answersIgnored(dir Direction, g *segment) bool {
	return g.kind == tcpSynAck && t.kind == tcpSyn && t.dir != dir && (t.numberless || g.Ack == t.end)
}

// ignore notes a segment that passes and changes no state.
func (t *tcpTrack) ignore(dir Direction, g *segment, state tcpState) {
	t.kind, t.dir = g.kind, dir
	t.seq, t.end, t.window = g.Seq, g.end, g.Window
	if g.kind == tcpSyn && dir == Original {
		t.scaled, t.scale, t.sackOK = g.HasScale, min(g.Scale, maxScale), g.SACKPermitted
		t.challenged, t.simultaneous = state == tcpLastAck, false
	}
	if state == tcpSynSent && g.kind == tcpAck && dir == Reply {
		t.ack = g.Ack
	}
}

// resynchronise takes the ignored SYN for the connection's beginning.
func (t *tcpTrack) resynchronise(dir Direction) {
	sender := &t.sides[t.dir]
	*sender = tcpSide{end: t.end, maxEnd: t.end, maxWindow: max(uint32(t.window), 1), scale: t.scale, scaled: t.scaled, sackOK: t.sackOK}
	t.challenged = false
	t.sides[dir] = tcpSide{liberal: t.sides[dir].liberal}
}

// established says whether the connection is open and both ends have shown it.
func (c *Conn) established() bool { return c.tcp.state == tcpEstablished && c.Assured }

// closing says whether the connection is at its end, so that it may be evicted and any reset ends it.
func (t *tcpTrack) closing() bool {
	switch t.state {
	case tcpFinWait, tcpCloseWait, tcpLastAck, tcpTimeWait, tcpClose:
		return true
	}
	return false
}

// judgeReset decides what a reset does: the state after it, whether it passes without the window check, and whether it is valid at all.
func (k *Tracker) judgeReset(c *Conn, dir Direction, g *segment) (next tcpState, inWindow, valid bool) {
	t := &c.tcp
	if t.closing() {
		return tcpClose, true, true
	}
	if t.numberless {
		return tcpClose, false, true
	}
	next = tcpClose
	if peer := &t.sides[1-dir]; peer.acked && t.kind != tcpSyn {
		switch {
		case g.Seq == 0 && !c.established():
			return tcpClose, false, true
		case seqBefore(g.Seq, peer.maxAck) && !k.conf.tcpIgnoreBadRST:
			return tcpClose, false, false
		case !c.established(), g.Seq == peer.maxAck:
			return tcpClose, false, true
		case t.kind == tcpAck && t.dir == dir && g.Seq == t.end:
			return tcpClose, false, true
		}
		next = t.state // not the exact number: the other end may challenge it
	}
	answersLast := t.dir != dir && g.Ack == t.end && (c.SeenReply && t.kind == tcpSyn || !c.Assured && t.kind == tcpAck)
	answersChallenge := t.state == tcpSynSent && t.kind == tcpAck && t.dir == Reply && g.Seq == t.ack
	return next, answersLast || answersChallenge, true
}

// unacknowledgedLeast is the time from which on shortenTCP shortens.
const unacknowledgedLeast = 120 * time.Second

// shortenTCP gives a connection less time after a FIN or RST of each side that was out of the window (nf_tcp_handle_invalid).
func (k *Tracker) shortenTCP(c *Conn, dir Direction, kind tcpKind) {
	t := &c.tcp
	if !c.Assured || kind != tcpRst && kind != tcpFin {
		return
	}
	if t.dir == dir || t.kind != tcpFin && t.kind != tcpRst {
		t.kind, t.dir = kind, dir
		return
	}
	left := c.Expires.Sub(k.clock.Now())
	if shorter := time.Duration(k.conf.tcpUnacknowledge) * time.Second; left >= unacknowledgedLeast && left > shorter {
		k.expireIn(c, k.conf.tcpUnacknowledge)
	}
}

// timeoutTCP is the timeout after a segment, in seconds.
func (k *Tracker) timeoutTCP(t *tcpTrack, kind tcpKind) int {
	usual, conf := k.conf.tcp[t.state], &k.conf
	switch {
	case t.repeats >= conf.tcpMaxRetrans && usual > conf.tcpRetransmitted:
		return conf.tcpRetransmitted
	case kind == tcpRst:
		return conf.tcp[tcpClose]
	case t.numberless:
		return usual
	case (t.sides[Original].unacked || t.sides[Reply].unacked) && usual > conf.tcpUnacknowledge:
		return conf.tcpUnacknowledge
	case t.window == 0 && usual > conf.tcpRetransmitted:
		return conf.tcpRetransmitted
	}
	return usual
}

// refreshTCP sets the timeout of the new state.
func (k *Tracker) refreshTCP(c *Conn, kind tcpKind, before tcpState) Verdict {
	timeout := k.timeoutTCP(&c.tcp, kind)
	state := c.tcp.state
	if !c.SeenReply {
		if kind == tcpRst && c.Confirmed {
			k.refreshed = true // it counts all the same
			k.Remove(c)        // the only answer is a reset: nothing was established
			return Accept
		}
		if kind == tcpSyn && before == tcpSynSent {
			return Accept // a repeated SYN does not keep the entry alive
		}
		if state == tcpEstablished {
			timeout = min(timeout, k.conf.tcpUnacknowledge)
		}
	} else if state == tcpEstablished && (before == tcpSynRecv || before == tcpEstablished) {
		c.Assured = true
	}
	k.expireIn(c, timeout)
	return Accept
}

// CloseTCP ends a connection that the host itself resets (nf_conntrack_tcp_set_closing).
func (k *Tracker) CloseTCP(c *Conn) {
	if c == nil || !c.Confirmed || c.Tuples[Original].Proto != inet.TCP || c.tcp.state == tcpClose {
		return
	}
	k.Change(c)
	c.tcp.state = tcpClose
	k.expireIn(c, k.conf.tcp[tcpClose])
}
