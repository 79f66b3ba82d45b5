package conntrack

import "github.com/chainwalk/chainwalk/packetsim/inet"

// maxScale is the largest window scale that counts (RFC 7323, section 2.3).
const maxScale = 14

// leastAckWindow is how far an acknowledgement may lag behind, at least: a maximum window and a bit.
const leastAckWindow = 66000

// tcpSide is one end of a connection, as conntrack saw it send.
type tcpSide struct {
	end       uint32 // the sequence number after all that it sent
	maxEnd    uint32 // the largest one that its peer has room for
	maxWindow uint32 // the largest window that it offered; 0: nothing was seen of it
	maxAck    uint32 // the largest acknowledgement
	scale     uint8

	scaled    bool // it offered to scale windows
	sackOK    bool // it takes selective acknowledgements
	liberal   bool // its segments are never out of the window
	closeInit bool // its FIN began the orderly end
	unacked   bool // data of it are not acknowledged
	acked     bool // maxAck is set
}

// windowVerdict is what the window check says.
type windowVerdict uint8

const (
	windowAccept windowVerdict = iota
	windowIgnore               // the segment passes and changes nothing
	windowInvalid
)

func seqAfter(a, b uint32) bool  { return int32(b-a) < 0 }
func seqBefore(a, b uint32) bool { return int32(a-b) < 0 }

// readOptions takes the options of a SYN over, which makes the side as new but for being liberal. Without any option there is nothing to
// take.
func (s *tcpSide) readOptions(g *segment) {
	if !g.HasScale && !g.SACKPermitted {
		return
	}
	s.scale = 0
	s.scaled, s.sackOK = g.HasScale, g.SACKPermitted
	s.closeInit, s.unacked, s.acked = false, false, false
	if g.HasScale {
		s.scale = min(g.Scale, maxScale)
	}
}

// start sets the sender's side by its SYN (tcp_init_sender).
func (s *tcpSide) start(receiver *tcpSide, g *segment, dir Direction) {
	s.end, s.maxEnd, s.maxWindow = g.end, g.end, max(uint32(g.Window), 1)
	s.readOptions(g)
	if dir == Reply && (!s.scaled || !receiver.scaled) {
		s.scale, receiver.scale = 0, 0 // both have to offer it
	}
}

// pickUp sets the sender's side by a segment from the middle of a connection.
func (s *tcpSide) pickUp(receiver *tcpSide, g *segment, sack uint32) {
	s.end, s.maxWindow = g.end, max(uint32(g.Window)<<s.scale, 1)
	s.maxEnd = g.end + s.maxWindow
	if receiver.maxWindow == 0 {
		receiver.end, receiver.maxEnd = sack, sack
	} else if sack == receiver.end+1 {
		receiver.end++ // it answers a keepalive
	}
}

// checkWindow is the check of a segment's numbers, which it also learns from (tcp_in_window).
func (k *Tracker) checkWindow(c *Conn, dir Direction, g *segment) windowVerdict {
	t := &c.tcp
	sender, receiver := &t.sides[dir], &t.sides[1-dir]
	if g.bad {
		return k.unlessLiberal(sender, windowInvalid)
	}
	if t.numberless {
		return windowAccept
	}
	ack, sack := g.Ack, g.Ack
	if receiver.sackOK {
		for _, block := range g.SACK {
			if seqAfter(block.Right, sack) {
				sack = block.Right
			}
		}
	}
	if t.open(dir, g, sack) {
		return windowAccept
	}
	if g.flags&inet.ACK == 0 || g.flags&inet.RST != 0 && ack == 0 {
		ack, sack = receiver.end, receiver.end
	}
	seq, end := g.Seq, g.end
	if g.flags&inet.RST != 0 && seq == 0 && t.state == tcpSynSent {
		seq, end = sender.end, sender.end // a reset that answers a SYN
	}
	if verdict := sender.judge(receiver, seq, end, sack); verdict != windowAccept {
		return k.unlessLiberal(sender, verdict)
	}
	sender.learn(receiver, g, end, ack, sack)
	if g.kind == tcpAck {
		t.noteAck(dir, seq, ack, end, g.Window)
	}
	return windowAccept
}

func (k *Tracker) unlessLiberal(sender *tcpSide, verdict windowVerdict) windowVerdict {
	if sender.liberal || k.conf.tcpLiberal {
		return windowAccept
	}
	return verdict
}

// open sets the sender's side by its first segment, or a SYN that begins anew. It is true for one that needs no check.
func (t *tcpTrack) open(dir Direction, g *segment, sack uint32) bool {
	sender, receiver := &t.sides[dir], &t.sides[1-dir]
	syn, ack := g.flags&inet.SYN != 0, g.flags&inet.ACK != 0
	switch {
	case sender.maxWindow == 0 && syn:
		sender.start(receiver, g, dir)
		return !ack // both open at once
	case sender.maxWindow == 0:
		sender.pickUp(receiver, g, sack)
	case syn && seqAfter(g.end, sender.end) && (t.state == tcpSynSent || t.state == tcpSynRecv):
		sender.start(receiver, g, dir)
		return dir == Reply && !ack
	}
	return false
}

// judge compares a segment's numbers with what both sides have said.
func (s *tcpSide) judge(receiver *tcpSide, seq, end, sack uint32) windowVerdict {
	lowestAck := receiver.end - max(s.maxWindow, leastAckWindow) - 1
	inReceiver := seqAfter(end, s.end-receiver.maxWindow-1)
	switch {
	case !seqBefore(seq, s.maxEnd+1):
		tooMuch := end - s.maxEnd + 1
		if receiver.maxWindow == 0 || !inReceiver || !seqAfter(sack, lowestAck) || tooMuch > receiver.maxWindow ||
			!seqBefore(sack, receiver.end+1) {
			return windowInvalid
		}
		s.end, s.unacked = end, true // only a little beyond: its acknowledgement is to be understood
		return windowIgnore
	case !seqBefore(sack, receiver.end+1):
		return windowInvalid // acknowledges what was not sent
	case receiver.maxWindow != 0 && !inReceiver, !seqAfter(sack, lowestAck):
		return windowIgnore // old data, or a late acknowledgement
	}
	return windowAccept
}

// learn takes over what a segment in its window says of both sides.
func (s *tcpSide) learn(receiver *tcpSide, g *segment, end, ack, sack uint32) {
	window := uint32(g.Window)
	if g.flags&inet.SYN == 0 {
		window <<= s.scale
	}
	s.maxWindow = max(s.maxWindow, window+(sack-ack))
	if seqAfter(end, s.end) {
		s.end, s.unacked = end, true
	}
	if g.flags&inet.ACK != 0 && (!s.acked || seqAfter(ack, s.maxAck)) {
		s.maxAck, s.acked = ack, true
	}
	if receiver.maxWindow != 0 && seqAfter(end, s.maxEnd) {
		receiver.maxWindow += end - s.maxEnd
	}
	if seqAfter(sack+window, receiver.maxEnd-1) {
		receiver.maxEnd = sack + max(window, 1)
	}
	if ack == receiver.end {
		receiver.unacked = false
	}
}

// noteAck counts how often the same acknowledgement came in a row.
func (t *tcpTrack) noteAck(dir Direction, seq, ack, end uint32, window uint16) {
	if t.dir == dir && t.seq == seq && t.ack == ack && t.end == end && t.window == window {
		t.repeats++
		return
	}
	t.dir, t.seq, t.ack, t.end, t.window, t.repeats = dir, seq, ack, end, window, 0
}
