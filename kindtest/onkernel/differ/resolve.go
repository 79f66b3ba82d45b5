package differ

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// errNoSuchSend says that a send refers to one that is not before it.
var errNoSuchSend = errors.New("there is no such send before this one")

// resolve is the place and the packet of a send. One that answers another is made of that one as it came out of the walk, or,
// if nothing came out, as it was sent.
func (j *judging) resolve(s *send) (from string, p inet.Packet, err error) {
	if s.Answers == 0 && s.About == 0 {
		return j.plain(s)
	}
	n := s.Answers + s.About
	if s.Answers != 0 && s.About != 0 || n < 1 || n > len(j.results) || j.results[n-1].from == "" {
		return "", p, fmt.Errorf("answers %d, about %d: %w", s.Answers, s.About, errNoSuchSend)
	}
	r := &j.results[n-1]
	from = r.at
	subject := r.packet
	if from == "" {
		from, subject = otherSide(r.from), r.sent
	}
	subject = bare(subject)
	subject.TTL, subject.Spent, subject.Length = 0, false, 0
	if s.About != 0 {
		p = errorAbout(&subject)
	} else {
		p = answerTo(&subject)
	}
	if from == nodePlace && (p.Src.IsLoopback() && !j.host.IsLocal(p.Dst) || p.Src.IsMulticast() || isBroadcast(p.Src)) {
		p.Src = worlds[j.family].node[0] // see newFlow; what was sent to many is answered by one
	}
	return from, p, j.adorn(s, &p)
}

// otherSide is where an answer comes from whose packet was never seen.
func otherSide(place string) string {
	if place == clientPlace {
		return serverPlace
	}
	return clientPlace
}

// plain is a packet given by itself.
func (j *judging) plain(s *send) (string, inet.Packet, error) {
	in, err := inet.ParseInput(s.Packet)
	if err != nil {
		return "", in.Packet, err
	}
	if s.Quotes != "" {
		inner, err := inet.ParseInput(s.Quotes)
		if err != nil {
			return "", in.Packet, fmt.Errorf("quoted: %w", err)
		}
		in.Inner = &inner.Packet
	}
	in.OutOfWindow = s.OutOfWindow
	return s.From, in.Packet, chunk(s, &in.Packet)
}

// adorn sets the flags or the ICMP type of a packet that answers.
func (j *judging) adorn(s *send, p *inet.Packet) (err error) {
	p.OutOfWindow = s.OutOfWindow
	if s.Flags != "" && p.Proto == inet.TCP {
		if p.TCPFlags, err = inet.ParseTCPFlags(s.Flags); err != nil {
			return err
		}
	}
	if s.Type != "" && (p.Proto == inet.ICMP || p.Proto == inet.ICMPv6) {
		if _, err := fmt.Sscanf(strings.ReplaceAll(s.Type, "/", " "), "%d %d", &p.ICMPType, &p.ICMPCode); err != nil {
			return fmt.Errorf("type %q: want TYPE/CODE: %w", s.Type, err)
		}
	}
	return chunk(s, p)
}

// errNoChunk says that a send names a chunk type that packetsim does not know.
var errNoChunk = errors.New("unknown chunk type")

// chunk sets the chunk of an SCTP packet.
func chunk(s *send, p *inet.Packet) error {
	if s.Chunk == "" || p.Proto != inet.SCTP {
		return nil
	}
	for t := range inet.SCTPChunkType(16) {
		if t.String() == s.Chunk {
			setChunk(p, t)
			return nil
		}
	}
	return fmt.Errorf("%q: %w", s.Chunk, errNoChunk)
}
