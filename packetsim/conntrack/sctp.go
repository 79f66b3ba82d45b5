package conntrack

import "github.com/chainwalk/chainwalk/packetsim/inet"

// sctpState is a state of conntrack's SCTP machine (net/netfilter/nf_conntrack_proto_sctp.c).
type sctpState uint8

const (
	sctpNone sctpState = iota
	sctpClosed
	sctpCookieWait
	sctpCookieEchoed
	sctpEstablished
	sctpShutdownSent
	sctpShutdownRecd
	sctpShutdownAckSent
	sctpHeartbeatSent
	sctpStates
)

// sctpStateInfo is each state's name in "conntrack -L", its sysctl and the sysctl's default in seconds.
var sctpStateInfo = [sctpStates]struct {
	name, sysctl string
	timeout      int
}{
	sctpNone:            {"NONE", "closed", 10},
	sctpClosed:          {"CLOSED", "closed", 10},
	sctpCookieWait:      {"COOKIE_WAIT", "cookie_wait", 3},
	sctpCookieEchoed:    {"COOKIE_ECHOED", "cookie_echoed", 3},
	sctpEstablished:     {"ESTABLISHED", "established", 210},
	sctpShutdownSent:    {"SHUTDOWN_SENT", "shutdown_sent", 3},
	sctpShutdownRecd:    {"SHUTDOWN_RECD", "shutdown_recd", 3},
	sctpShutdownAckSent: {"SHUTDOWN_ACK_SENT", "shutdown_ack_sent", 3},
	sctpHeartbeatSent:   {"HEARTBEAT_SENT", "heartbeat_sent", 30},
}

// sctpInvalid is no state: the chunk belongs to no association.
const sctpInvalid = sctpStates

// sctpMachine is the state after a chunk, by direction, chunk and the state before it. Chunks that are not in it change nothing.
var sctpMachine = func() (machine [2]map[inet.SCTPChunkType][sctpStates]sctpState) {
	const (
		cl, cw, ce, es     = sctpClosed, sctpCookieWait, sctpCookieEchoed, sctpEstablished
		ss, sr, sa, hs, iv = sctpShutdownSent, sctpShutdownRecd, sctpShutdownAckSent, sctpHeartbeatSent, sctpInvalid
	)
	type row = [sctpStates]sctpState
	// the columns:              no  cl  cw  ce  es  ss  sr  sa  hs
	machine[Original] = map[inet.SCTPChunkType]row{
		inet.SCTPInit:             {cl, cl, cw, ce, es, cl, cl, sa, cw},
		inet.SCTPInitAck:          {cl, cl, cw, ce, es, ss, sr, sa, cl},
		inet.SCTPAbort:            {cl, cl, cl, cl, cl, cl, cl, cl, cl},
		inet.SCTPShutdown:         {cl, cl, cw, ce, ss, ss, sr, sa, cl},
		inet.SCTPShutdownAck:      {sa, cl, cw, ce, es, sa, sa, sa, sa},
		inet.SCTPError:            {cl, cl, cw, ce, es, ss, sr, sa, cl},
		inet.SCTPCookieEcho:       {cl, cl, ce, ce, es, ss, sr, sa, cl},
		inet.SCTPCookieAck:        {cl, cl, cw, es, es, ss, sr, sa, cl},
		inet.SCTPShutdownComplete: {cl, cl, cw, ce, es, ss, sr, cl, cl},
		inet.SCTPHeartbeat:        {hs, cl, cw, ce, es, ss, sr, sa, hs},
		inet.SCTPHeartbeatAck:     {cl, cl, cw, ce, es, ss, sr, sa, hs},
	}
	machine[Reply] = map[inet.SCTPChunkType]row{
		inet.SCTPInit:             {iv, cl, cw, ce, es, ss, sr, sa, iv},
		inet.SCTPInitAck:          {iv, cw, cw, ce, es, ss, sr, sa, iv},
		inet.SCTPAbort:            {iv, cl, cl, cl, cl, cl, cl, cl, iv},
		inet.SCTPShutdown:         {iv, cl, cw, ce, sr, ss, sr, sa, iv},
		inet.SCTPShutdownAck:      {iv, cl, cw, ce, es, sa, sa, sa, iv},
		inet.SCTPError:            {iv, cl, cw, cl, es, ss, sr, sa, iv},
		inet.SCTPCookieEcho:       {iv, cl, ce, ce, es, ss, sr, sa, iv},
		inet.SCTPCookieAck:        {iv, cl, cw, es, es, ss, sr, sa, iv},
		inet.SCTPShutdownComplete: {iv, cl, cw, ce, es, ss, sr, cl, iv},
		inet.SCTPHeartbeat:        {iv, cl, cw, ce, es, ss, sr, sa, hs},
		inet.SCTPHeartbeatAck:     {iv, cl, cw, ce, es, ss, sr, sa, es},
	}
	return machine
}()

func (s sctpState) after(dir Direction, chunk inet.SCTPChunkType) sctpState {
	if row, known := sctpMachine[dir][chunk]; known {
		return row[s]
	}
	return s
}

// sctpTrack is what conntrack remembers of an SCTP association.
type sctpTrack struct {
	state sctpState
	// tags are the verification tags of the packets of each direction; tagless: a packet was tracked that did not tell them all.
	tags    [2]uint32
	tagless bool
	inits   [2]bool // the direction sent an INIT since the last COOKIE ACK

	heartbeatFailed bool // a heartbeat had another tag
	heartbeatDir    Direction
}

// sctpPacket is an SCTP packet as the tracker reads it.
type sctpPacket struct {
	tag    uint32
	chunks []inet.SCTPChunk
	has    [16]bool // by chunk type, of those that the tracker asks for
	buffer [1]inet.SCTPChunk
}

// read fills in what the packet does not say: the chunk by the association's state, and whether the tags are known.
func (t *sctpTrack) read(s *sctpPacket, dir Direction, p *inet.Packet) {
	s.tag, s.chunks = p.VerificationTag, p.Chunks
	if len(s.chunks) == 0 {
		s.buffer[0] = inet.SCTPChunk{Type: t.guess(dir)}
		s.chunks = s.buffer[:]
	}
	for i := range s.chunks {
		c := &s.chunks[i]
		if int(c.Type) < len(s.has) {
			s.has[c.Type] = true
		}
		if (c.Type == inet.SCTPInit || c.Type == inet.SCTPInitAck) && c.InitTag == 0 {
			t.tagless = true
		}
	}
	if s.tag == 0 && !s.has[inet.SCTPInit] {
		t.tagless = true
	}
}

// guess is the chunk of a packet that does not say it: the handshake's next, or data.
func (t *sctpTrack) guess(dir Direction) inet.SCTPChunkType {
	switch {
	case t.state == sctpNone, t.state == sctpClosed && dir == Original:
		return inet.SCTPInit
	case t.state == sctpClosed:
		return inet.SCTPInitAck
	case t.state == sctpCookieWait && dir == Original:
		return inet.SCTPCookieEcho
	case t.state == sctpCookieEchoed && dir == Reply:
		return inet.SCTPCookieAck
	}
	return inet.SCTPData
}

// wellFormed says whether the chunks may stand together: some stand alone, and cookies come first (do_basic_checks).
func (s *sctpPacket) wellFormed() bool {
	alone := false
	for i := range s.chunks {
		typ := s.chunks[i].Type
		alone = alone || typ == inet.SCTPInit || typ == inet.SCTPInitAck || typ == inet.SCTPShutdownComplete
		if i > 0 && (alone || typ == inet.SCTPCookieAck || typ == inet.SCTPCookieEcho) {
			return false
		}
	}
	return true
}

// anyTag says whether the packet holds a chunk that has rules of its own for the tag.
func (s *sctpPacket) anyTag() bool {
	return s.has[inet.SCTPInit] || s.has[inet.SCTPShutdownComplete] || s.has[inet.SCTPCookieEcho] || s.has[inet.SCTPAbort] ||
		s.has[inet.SCTPShutdownAck] || s.has[inet.SCTPHeartbeat] || s.has[inet.SCTPHeartbeatAck]
}

// trackSCTP advances an association by a packet's chunks (nf_conntrack_sctp_packet).
func (k *Tracker) trackSCTP(c *Conn, dir Direction, p *inet.Packet) Verdict {
	k.Change(c)
	t := &c.sctp
	var s sctpPacket
	t.read(&s, dir, p)
	if !s.wellFormed() || !c.Confirmed && !t.begin(&s) {
		return Invalid
	}
	if !s.anyTag() && !t.tagless && s.tag != t.tags[dir] {
		return Invalid
	}
	refresh := true
	for _, chunk := range s.chunks {
		before := t.state
		switch t.advance(&s, dir, chunk, c.Confirmed, !refresh) {
		case sctpRefuse:
			return Invalid
		case sctpHold:
			refresh = false
		}
		c.Assured = c.Assured || before != t.state && t.state == sctpEstablished
	}
	if refresh {
		k.expireIn(c, k.conf.sctp[t.state])
	}
	return Accept
}

// begin starts a new association, if the packet may be its first (sctp_new).
func (t *sctpTrack) begin(s *sctpPacket) bool {
	if s.has[inet.SCTPAbort] || s.has[inet.SCTPShutdownComplete] || s.has[inet.SCTPCookieAck] {
		return false
	}
	for _, chunk := range s.chunks {
		if sctpNone.after(Original, chunk.Type) == sctpNone {
			return false
		}
		switch chunk.Type {
		case inet.SCTPInit:
			if s.tag != 0 {
				return false
			}
			t.tags[Reply] = chunk.InitTag
		case inet.SCTPHeartbeat:
			t.tags[Original] = s.tag
		case inet.SCTPShutdownAck:
			t.tags[Reply] = s.tag // which a SHUTDOWN COMPLETE is to answer
		}
	}
	return true
}

// sctpStep is what a chunk does to the packet that it is in.
type sctpStep uint8

const (
	sctpGoOn sctpStep = iota
	sctpHold          // the packet does not keep the entry alive
	sctpRefuse
)

// advance takes one chunk.
func (t *sctpTrack) advance(s *sctpPacket, dir Direction, chunk inet.SCTPChunk, confirmed, held bool) sctpStep {
	switch chunk.Type {
	case inet.SCTPInit:
		if s.tag != 0 {
			return sctpRefuse
		}
	case inet.SCTPAbort, inet.SCTPShutdownComplete:
		from := dir
		if chunk.Flags&inet.SCTPReflected != 0 {
			from = 1 - dir
		}
		if !t.tagless && s.tag != t.tags[from] {
			return sctpRefuse
		}
	case inet.SCTPCookieEcho:
		if !t.tagless && s.tag != t.tags[dir] {
			return sctpRefuse
		}
	case inet.SCTPCookieAck:
		t.inits = [2]bool{}
	case inet.SCTPHeartbeat, inet.SCTPHeartbeatAck:
		if step := t.heartbeat(s, dir, chunk.Type, held); step != sctpGoOn {
			return step
		}
	}
	before := t.state
	next := before.after(dir, chunk.Type)
	if next == sctpInvalid {
		return sctpRefuse
	}
	step := sctpGoOn
	switch chunk.Type {
	case inet.SCTPInit:
		if before == sctpNone || chunk.InitTag != t.tags[1-dir] { // a repeated INIT does not count
			if t.inits[Original] && t.inits[Reply] {
				t.inits[1-dir] = false
			}
			t.inits[dir] = true
		}
		t.tags[1-dir] = chunk.InitTag
		if next == sctpClosed && before == sctpClosed && confirmed {
			step = sctpHold // a repeated INIT
		}
	case inet.SCTPInitAck:
		if !t.tagless && !t.acceptsInitAck(dir, chunk.InitTag) {
			return sctpRefuse
		}
		t.tags[1-dir] = chunk.InitTag
	}
	t.state = next
	return step
}

// acceptsInitAck says whether an INIT ACK agrees with the tags of the INITs before it.
func (t *sctpTrack) acceptsInitAck(dir Direction, tag uint32) bool {
	known := t.tags[1-dir]
	if !t.inits[1-dir] && known != 0 && known != tag {
		return false
	}
	return !t.inits[dir] || !t.inits[1-dir] || known == tag
}

// heartbeat checks the tag of a heartbeat and of its answer: an end that has begun anew is known by them.
func (t *sctpTrack) heartbeat(s *sctpPacket, dir Direction, chunk inet.SCTPChunkType, held bool) sctpStep {
	switch {
	case t.tagless:
	case t.tags[dir] == 0:
		t.tags[dir] = s.tag
	case s.tag == t.tags[dir]:
		t.heartbeatFailed = false
	case s.has[inet.SCTPData] || held:
		return sctpRefuse
	case chunk == inet.SCTPHeartbeat:
		t.heartbeatFailed, t.heartbeatDir = true, dir
		return sctpHold
	case !t.heartbeatFailed || t.heartbeatDir == dir:
		return sctpRefuse
	default:
		t.heartbeatFailed = false
		t.tags[dir], t.tags[1-dir] = s.tag, 0
	}
	return sctpGoOn
}
