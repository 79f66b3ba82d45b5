package packetsim

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

func kindOf(flags TCPFlags) tcpKind {
	switch {
	case flags&RST != 0:
		return tcpRst
	case flags&(SYN|ACK) == SYN|ACK:
		return tcpSynAck
	case flags&SYN != 0:
		return tcpSyn
	case flags&FIN != 0:
		return tcpFin
	case flags&ACK != 0:
		return tcpAck
	}
	return tcpNoFlag
}

// validFlags are the combinations of FIN, SYN, RST, ACK and URG that a segment may have; PSH, ECE and CWR do not matter.
func validFlags(flags TCPFlags) bool {
	switch flags &^ (PSH | ECE | CWR) {
	case SYN, SYN | URG, SYN | ACK, RST, RST | ACK, FIN | ACK, FIN | ACK | URG, ACK, ACK | URG:
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
	machine[original] = [6]row{
		tcpSyn:    {ss, ss, ig, ig, ig, ig, ig, ss, ss, s2},
		tcpSynAck: {iv, iv, sr, iv, iv, iv, iv, iv, iv, sr},
		tcpFin:    {iv, iv, fw, fw, la, la, la, tw, cl, iv},
		tcpAck:    {es, iv, es, es, cw, cw, tw, tw, cl, iv},
		tcpRst:    {iv, cl, cl, cl, cl, cl, cl, cl, cl, cl},
		tcpNoFlag: {iv, iv, iv, iv, iv, iv, iv, iv, iv, iv},
	}
	machine[reply] = [6]row{
		tcpSyn:    {iv, s2, iv, iv, iv, iv, iv, ss, iv, s2},
		tcpSynAck: {iv, sr, ig, ig, ig, ig, ig, ig, ig, sr},
		tcpFin:    {iv, iv, fw, fw, la, la, la, tw, cl, iv},
		tcpAck:    {iv, ig, sr, es, cw, cw, tw, tw, cl, ig},
		tcpRst:    {iv, cl, cl, cl, cl, cl, cl, cl, cl, cl},
		tcpNoFlag: {iv, iv, iv, iv, iv, iv, iv, iv, iv, iv},
	}
	return machine
}()

// trackTCP advances a connection by a segment (nf_conntrack_tcp_packet). Sequence numbers are not known: Packet.OutOfWindow says what
// the window check would.
func (h *Host) trackTCP(c *conn, dir direction, p *Packet) trackVerdict {
	if !validFlags(p.TCPFlags) {
		return trackInvalid
	}
	kind := kindOf(p.TCPFlags)
	if !c.confirmed && c.tcp == tcpNone {
		if next := tcpMachine[original][kind][tcpNone]; next == tcpInvalid || (next != tcpSynSent && !h.conf.tcpLoose) {
			return trackInvalid
		}
	}
	before := c.tcp
	next := tcpMachine[dir][kind][before]
	switch {
	case next == tcpInvalid:
		return trackInvalid
	case next == tcpSynSent && before >= tcpTimeWait && (c.closeInit || c.lastKind == tcpRst && c.lastDir == dir):
		h.remove(c) // the port is used again after the connection's end
		return trackAgain
	case next == tcpSynSent && before >= tcpTimeWait:
		next = tcpIgnore
	}
	if next == tcpIgnore {
		if kind != tcpSynAck || c.lastKind != tcpSyn || c.lastDir == dir {
			h.change(c)
			c.lastKind, c.lastDir = kind, dir
			return trackAccept
		}
		before, next = tcpSynSent, tcpSynRecv // it answers a SYN that was ignored: the ends know better
	}
	if p.OutOfWindow && !h.conf.tcpLiberal {
		return trackInvalid
	}
	h.change(c)
	c.tcp, c.lastKind, c.lastDir = next, kind, dir
	c.closeInit = c.closeInit || (next == tcpFinWait && before != next)
	return h.refreshTCP(c, kind, before)
}

// refreshTCP sets the timeout of the new state.
func (h *Host) refreshTCP(c *conn, kind tcpKind, before tcpState) trackVerdict {
	timeout := h.conf.tcp[c.tcp]
	if kind == tcpRst {
		timeout = h.conf.tcp[tcpClose]
	}
	if !c.seenReply {
		if kind == tcpRst && c.confirmed {
			h.remove(c) // the only answer is a reset: nothing was established
			return trackAccept
		}
		if kind == tcpSyn && before == tcpSynSent {
			return trackAccept // a repeated SYN does not keep the entry alive
		}
		if c.tcp == tcpEstablished {
			timeout = min(timeout, h.conf.tcpUnacknowledge)
		}
	} else if c.tcp == tcpEstablished && (before == tcpSynRecv || before == tcpEstablished) {
		c.assured = true
	}
	h.expireIn(c, timeout)
	return trackAccept
}
