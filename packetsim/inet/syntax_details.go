package inet

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// number reads the value of a word, a decimal number of at most the given bits.
func (p *syntaxParser) number(w word, bits int) (uint64, error) {
	n, msg := parseNumber(w.text, bits)
	if msg != "" {
		return 0, p.errorAt(w, "%s", msg)
	}
	return n, nil
}

func (p *syntaxParser) icmpID(_, value word) error {
	n, err := p.number(value, 16)
	p.input.ICMPID = uint16(n)
	return err
}

// numbers are the packet's, which the first word about them makes.
func (p *syntaxParser) numbers() *TCPNumbers {
	if p.input.Numbers == nil {
		p.input.Numbers = &TCPNumbers{}
	}
	return p.input.Numbers
}

func (p *syntaxParser) tcpNumber(name, value word) error {
	bits := 32
	switch name.text {
	case "window":
		bits = 16
	case "wscale":
		bits = 8
	}
	n, err := p.number(value, bits)
	numbers := p.numbers()
	switch name.text {
	case "seq":
		numbers.Seq = uint32(n)
	case "ack":
		numbers.Ack = uint32(n)
	case "window":
		numbers.Window = uint16(n)
	case "data":
		numbers.Data = uint32(n)
	case "wscale":
		numbers.HasScale, numbers.Scale = true, uint8(n)
	}
	return err
}

func (p *syntaxParser) sackPermitted(_, _ word) error {
	p.numbers().SACKPermitted = true
	return nil
}

func (p *syntaxParser) sack(_, value word) error {
	numbers := p.numbers()
	for text := range strings.SplitSeq(value.text, ",") {
		left, right, ok := strings.Cut(text, "-")
		if !ok {
			return p.errorAt(value, "%q is not a block: write LEFT-RIGHT, such as 1000-2000", text)
		}
		l, msg := parseNumber(left, 32)
		if msg == "" {
			var r uint64
			r, msg = parseNumber(right, 32)
			numbers.SACK = append(numbers.SACK, SACKBlock{uint32(l), uint32(r)})
		}
		if msg != "" {
			return p.errorAt(value, "block %q: %s", text, msg)
		}
	}
	return nil
}

func (p *syntaxParser) outOfWindow(_, _ word) error {
	p.input.OutOfWindow = true
	return nil
}

func (p *syntaxParser) mss(_, value word) error {
	n, err := p.number(value, 16)
	if err == nil && n == 0 {
		return p.errorAt(value, "no segment fits: write a number from 1 to 65535, or leave the word out")
	}
	p.input.MSS = uint16(n)
	return err
}

func (p *syntaxParser) spi(_, value word) error {
	n, msg := parseMark(value.text)
	if msg == "" && p.input.Proto == IPComp && n > math.MaxUint16 {
		msg = "more than 16 bits: a packet of protocol 108 has an index up to 65535"
	}
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	index := uint32(n)
	p.input.SPI = &index
	return nil
}

func (p *syntaxParser) ah(_, value word) error {
	length, reserved, both := strings.Cut(value.text, "/")
	n, msg := parseNumber(length, 16)
	if msg == "" && (n%4 != 0 || n < minAHLength || n > maxAHLength) {
		msg = fmt.Sprintf("no length of an authentication header: write a multiple of 4 from %d to %d", minAHLength, maxAHLength)
	}
	header := &AHHeader{Length: uint16(n)}
	if msg == "" && both {
		n, msg = parseNumber(reserved, 16)
		header.Reserved = uint16(n)
	}
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.AH = header
	return nil
}

func (p *syntaxParser) payload(name, value word) error {
	if p.input.Proto.hasSPI() || p.input.Proto == SCTP {
		return p.errorAt(name, "of a packet of protocol %s no rule looks at the payload: leave it out", p.input.Proto)
	}
	p.payloadWord = name
	if value.text == noPayload {
		p.input.Payload = []byte{}
		return nil
	}
	b, err := hex.DecodeString(value.text)
	switch {
	case err != nil:
		return p.errorAt(value, "not pairs of hexadecimal digits: write bytes such as 474554, or none")
	case len(b) > maxPayload:
		return p.errorAt(value, "%d bytes are more than a packet has: write at most %d", len(b), maxPayload)
	}
	p.input.Payload = b
	return nil
}

// checkPayload holds the payload against the other words.
func (p *syntaxParser) checkPayload() error {
	in := &p.input
	switch {
	case in.Inner != nil || in.Carried != nil:
		return p.errorAt(p.payloadWord, "a packet that quotes or carries another one has no payload of its own: leave it out")
	case p.seen["len"]:
		return p.errorAt(p.payloadWord, "\"len\" is given as well: leave one of the words out")
	case in.Numbers == nil:
		return nil
	case p.seen["data"] && int(in.Numbers.Data) != len(in.Payload):
		return p.errorAt(p.payloadWord, "%d bytes, and \"data\" says %d: leave one of the words out", len(in.Payload), in.Numbers.Data)
	}
	in.Numbers.Data = uint32(len(in.Payload))
	return nil
}

const (
	// noPayload says that there is nothing behind the headers.
	noPayload = "none"
	// maxPayload leaves place for the headers.
	maxPayload = 65000
)

func (p *syntaxParser) verificationTag(_, value word) error {
	n, msg := parseMark(value.text)
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.VerificationTag = uint32(n)
	return nil
}

func (p *syntaxParser) chunks(_, value word) error {
	for text := range strings.SplitSeq(value.text, ",") {
		c, msg := parseChunk(text)
		if msg != "" {
			return p.errorAt(value, "chunk %q: %s", text, msg)
		}
		p.input.Chunks = append(p.input.Chunks, c)
	}
	return nil
}

// parseChunk reads TYPE[/FLAGS[/TAG]].
func parseChunk(text string) (c SCTPChunk, msg string) {
	parts := strings.Split(text, "/")
	if len(parts) > 3 {
		return c, "write the type, the flags and the initiate tag, such as INIT/0/0x12"
	}
	typ, msg := parseChunkType(parts[0])
	if msg == "" && len(parts) > 1 {
		var n uint64
		n, msg = parseNumber(parts[1], 8)
		c.Flags = uint8(n)
	}
	if msg == "" && len(parts) > 2 {
		var n uint64
		n, msg = parseMark(parts[2])
		c.InitTag = uint32(n)
	}
	c.Type = typ
	return c, msg
}

// parseChunkType is the inverse of SCTPChunkType.String.
func parseChunkType(text string) (SCTPChunkType, string) {
	for typ, name := range sctpChunkNames {
		if name == text {
			return typ, ""
		}
	}
	n, msg := parseNumber(text, 8)
	if msg != "" {
		msg = "unknown type: write a name such as INIT, COOKIE_ECHO or DATA, or a number from 0 to 255"
	}
	return SCTPChunkType(n), msg
}

func (p *syntaxParser) socket(_, value word) error {
	s, seen := &Socket{}, map[string]bool{}
	for text := range strings.SplitSeq(value.text, ",") {
		key, number, hasNumber := strings.Cut(text, "=")
		if seen[key] {
			return p.errorAt(value, "%q is given twice: write it once", key)
		}
		seen[key] = true
		if msg := s.set(key, number, hasNumber); msg != "" {
			return p.errorAt(value, "%q: %s", text, msg)
		}
	}
	switch {
	case s.None && len(seen) > 1:
		return p.errorAt(value, "a socket that is not there has no properties: write none alone")
	case s.Kernel && (seen["uid"] || seen["gid"] || seen["groups"]):
		return p.errorAt(value, "a socket of the kernel has no owner: leave out uid, gid and groups")
	}
	p.input.Socket = s
	return nil
}

// set sets one property; msg says what is wrong.
func (s *Socket) set(key, number string, hasNumber bool) (msg string) {
	var n uint64
	switch {
	case hasNumber != slices.Contains([]string{"uid", "gid", "groups", "mark", "cgroup", "classid"}, key):
		return "write none, kernel, uid=N, gid=N, groups=N+N, raw, transparent, wildcard, mark=N, cgroup=PATH or classid=N"
	case key == "none":
		s.None = true
	case key == "kernel":
		s.Kernel = true
	case key == "raw":
		s.Raw = true
	case key == "transparent":
		s.Transparent = true
	case key == "wildcard":
		s.Wildcard = true
	case key == "uid":
		n, msg = parseNumber(number, 32)
		s.UID = uint32(n)
	case key == "gid":
		n, msg = parseNumber(number, 32)
		s.GID = uint32(n)
	case key == "mark":
		n, msg = parseMark(number)
		s.Mark = uint32(n)
	case key == "classid":
		n, msg = parseMark(number)
		id := uint32(n)
		s.ClassID = &id
	case key == "cgroup":
		if !strings.HasPrefix(number, "/") {
			return "write the path of a control group, / for the root"
		}
		s.Cgroup = number
	case key == "groups":
		for text := range strings.SplitSeq(number, "+") {
			if n, msg = parseNumber(text, 32); msg != "" {
				return msg
			}
			s.Groups = append(s.Groups, uint32(n))
		}
	default:
		return "unknown word: write none, kernel, uid=N, gid=N, groups=N+N, raw, transparent, wildcard, mark=N, cgroup=PATH or classid=N"
	}
	return msg
}

func (p *syntaxParser) mac(_, value word) error {
	mac, err := ParseMAC(value.text)
	if err != nil {
		return p.errorAt(value, "%v", err)
	}
	if mac == (MAC{}) {
		return p.errorAt(value, "a device has an address that is not zero: leave the word out where it is not known")
	}
	p.input.MAC = mac
	return nil
}

func (p *syntaxParser) link(_, value word) error {
	kind := LinkType(value.text)
	if !slices.Contains([]LinkType{LinkUnicast, LinkBroadcast, LinkMulticast}, kind) {
		return p.errorAt(value, "write unicast, broadcast or multicast")
	}
	p.input.LinkType = kind
	return nil
}

func (p *syntaxParser) nextHop(_, value word) error {
	addr, msg := parseAddress(value.text)
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.NextHop = addr
	return nil
}

func (p *syntaxParser) quotes(_, _ word) error {
	inner, at, err := p.braces()
	switch {
	case err != nil:
		return err
	case inner.Is6() != p.input.Is6():
		return p.errorAt(at, "the quoted packet is of the other address family: an ICMP message quotes one of its own")
	}
	p.input.Inner = inner
	return nil
}

func (p *syntaxParser) vxlan(_, value word) error {
	n, err := p.number(value, bits.Len32(MaxVNI))
	if err != nil {
		return err
	}
	p.input.VNI = uint32(n)
	p.input.Carried, _, err = p.braces()
	return err
}

// maxSyntaxDepth is how many packets may be in one another.
const maxSyntaxDepth = 16

// braces reads "{ PACKET }" and gives the place of the packet.
func (p *syntaxParser) braces() (*Packet, word, error) {
	begin, err := p.next("\"{\", the packet and \"}\"")
	if err != nil {
		return nil, begin, err
	}
	if begin.text != "{" {
		return nil, begin, p.errorAt(begin, "write \"{\" before the packet, with a blank on each side")
	}
	if p.depth == maxSyntaxDepth {
		return nil, begin, p.errorAt(begin, "more than %d packets in one another", maxSyntaxDepth)
	}
	end := closingBrace(p.words)
	if end < 0 {
		return nil, begin, p.errorAt(begin, "the \"}\" is missing that ends this packet: write it with a blank before it")
	}
	inner := &syntaxParser{line: p.line, words: p.words[:end], end: p.words[end].offset, depth: p.depth + 1}
	p.words = p.words[end+1:]
	if err := inner.parse(); err != nil {
		return nil, begin, err
	}
	return &inner.input.Packet, begin, nil
}

// closingBrace is the place of the "}" that belongs to a "{" before the words, -1 if there is none.
func closingBrace(words []word) int {
	open := 1
	for i, w := range words {
		switch w.text {
		case "{":
			open++
		case "}":
			open--
		}
		if open == 0 {
			return i
		}
	}
	return -1
}
