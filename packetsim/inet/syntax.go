package inet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a packet description that does not follow the PACKET syntax.
type SyntaxError struct {
	Column int    // 1-based, in characters
	Token  string // the word at fault, empty at the end of the line
	Msg    string // what is wrong and what to write instead
}

// Error gives the column, the word and what to do.
func (e *SyntaxError) Error() string {
	if e.Token == "" {
		return fmt.Sprintf("packet: column %d: %s", e.Column, e.Msg)
	}
	return fmt.Sprintf("packet: column %d: %q: %s", e.Column, e.Token, e.Msg)
}

// ParseInput reads a packet in the PACKET syntax:
//
//	PROTO SRC[:PORT] > DST[:PORT] [in DEV | local] [flags SYN,ACK] [type T/C] [mark N] [ttl N] [len N]
//
// PROTO is tcp, udp, sctp, icmp, icmpv6 or a number. The first three need both ports, the
// others take none. An IPv6 address with a port takes brackets. Without "flags" a TCP packet
// is a SYN ("flags NONE" is a packet with no flag); without "type" an ICMP packet is an echo
// request. With "local" the source 0.0.0.0 or :: leaves the choice to the host. The words after the addresses come in any order, each
// once. Mark may be hexadecimal. Further words say what only some rules and hosts look at:
//
//	df                    an IPv4 packet that no router may cut into fragments
//	id N                  the identifier of an ICMP query
//	seq N, ack N, window N, data N, wscale N, sack-permitted, sack LEFT-RIGHT,...
//	                      the numbers and options of a TCP segment; each of them makes Numbers, with 0 for what is not given
//	out-of-window         a TCP segment that conntrack's window check does not accept
//	vtag N                the verification tag of an SCTP packet
//	chunks TYPE[/FLAGS[/TAG]],...
//	                      the chunks of an SCTP packet, such as INIT/0/0x12 or COOKIE_ACK,DATA; TAG is the initiate tag
//	socket none | kernel[,WORD,...] | WORD,...
//	                      the packet's socket; WORD is uid=N, gid=N, groups=N+N, transparent, wildcard, mark=N,
//	                      cgroup=/PATH or classid=N
//	mac ADDRESS           the link-layer address that the packet came from
//	link KIND             the link-layer address that it came to: unicast, broadcast or multicast
//	nexthop ADDRESS       the neighbour that the frame was handed to, where DEV is a port of a bridge
//	quotes { PACKET }     the packet that an ICMP message quotes
//	vxlan VNI { PACKET }  the packet that a UDP packet carries
//
// The braces stand between blanks; a packet in them has neither "in", "local" nor "nexthop". Errors are *SyntaxError.
func ParseInput(s string) (Input, error) {
	p := &syntaxParser{line: s, words: splitWords(s), end: len(s)}
	if err := p.parse(); err != nil {
		return Input{}, err
	}
	return p.input, nil
}

// word is one blank-separated word and the byte offset that it starts at.
type word struct {
	text   string
	offset int
}

func splitWords(s string) []word {
	var words []word
	start := -1
	for i := 0; i <= len(s); i++ {
		blank := i == len(s) || s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r'
		switch {
		case !blank && start < 0:
			start = i
		case blank && start >= 0:
			words = append(words, word{s[start:i], start})
			start = -1
		}
	}
	return words
}

// syntaxParser holds the words not read yet and the packet read so far.
type syntaxParser struct {
	line  string
	words []word
	end   int // the offset of what is behind the last word
	depth int // how many packets this one is in
	input Input
	seen  map[string]bool

	payloadWord word
}

func (p *syntaxParser) parse() error {
	for _, step := range []func() error{p.proto, p.source, p.arrow, p.destination, p.options, p.defaults} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *syntaxParser) errorAt(w word, format string, args ...any) error {
	return &SyntaxError{
		Column: utf8.RuneCountInString(p.line[:w.offset]) + 1,
		Token:  w.text,
		Msg:    fmt.Sprintf(format, args...),
	}
}

// next takes one word; what says which word has to be there.
func (p *syntaxParser) next(what string) (word, error) {
	if len(p.words) == 0 {
		return word{}, p.errorAt(word{"", p.end}, "the %s ends here: write %s", p.unit(), what)
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w, nil
}

// unit is what is read.
func (p *syntaxParser) unit() string {
	if p.depth > 0 {
		return "packet in braces"
	}
	return "line"
}

func (p *syntaxParser) proto() error {
	w, err := p.next("a packet such as \"tcp 10.0.0.1:40000 > 10.0.0.2:80 in eth0\"")
	if err != nil {
		return err
	}
	proto, ok := protoOf(w.text)
	if !ok {
		return p.errorAt(w, "unknown protocol: write tcp, udp, sctp, icmp, icmpv6 or a number from 0 to 255")
	}
	p.input.Proto = proto
	return nil
}

// protoOf is stricter than parseProto: a number has no leading zeros.
func protoOf(s string) (Proto, bool) {
	for _, named := range protoNames {
		if named.name == s {
			return named.proto, true
		}
	}
	n, msg := parseNumber(s, 8)
	return Proto(n), msg == ""
}

func (p *syntaxParser) arrow() error {
	w, err := p.next("\">\" and the destination")
	if err != nil {
		return err
	}
	if w.text != ">" {
		return p.errorAt(w, "write \">\" between the source and the destination, with a blank on each side")
	}
	return nil
}

func (p *syntaxParser) source() error {
	var err error
	_, p.input.Src, p.input.SrcPort, err = p.endpoint("the source address")
	return err
}

func (p *syntaxParser) destination() error {
	w, addr, port, err := p.endpoint("the destination address")
	if err != nil {
		return err
	}
	if addr.Is4() != p.input.Src.Is4() {
		return p.errorAt(w, "the source %s is of the other address family: write both IPv4 or both IPv6", p.input.Src)
	}
	switch {
	case p.input.Proto == ICMP && addr.Is6():
		return p.errorAt(w, "icmp is IPv4 only: write icmpv6")
	case p.input.Proto == ICMPv6 && addr.Is4():
		return p.errorAt(w, "icmpv6 is IPv6 only: write icmp")
	}
	p.input.Dst, p.input.DstPort = addr, port
	return nil
}

// endpoint reads ADDRESS or ADDRESS:PORT, as the protocol wants it.
func (p *syntaxParser) endpoint(what string) (word, netip.Addr, uint16, error) {
	w, err := p.next(what)
	if err != nil {
		return w, netip.Addr{}, 0, err
	}
	addrText, portText, hasPort, msg := cutPort(w.text)
	if msg != "" {
		return w, netip.Addr{}, 0, p.errorAt(w, "%s", msg)
	}
	addr, msg := parseAddress(addrText)
	if msg != "" {
		return w, netip.Addr{}, 0, p.errorAt(w, "%s", msg)
	}
	if !p.input.Proto.HasPorts() {
		if hasPort {
			return w, netip.Addr{}, 0, p.errorAt(w, "protocol %s has no ports: write the address alone", p.input.Proto)
		}
		return w, addr, 0, nil
	}
	if !hasPort {
		return w, netip.Addr{}, 0, p.errorAt(w, "protocol %s needs a port: write %s", p.input.Proto, joinPort(addr, 80))
	}
	port, msg := parseNumber(portText, 16)
	if msg != "" {
		return w, netip.Addr{}, 0, p.errorAt(w, "port %q: %s", portText, msg)
	}
	return w, addr, uint16(port), nil
}

// cutPort splits "1.2.3.4:80", "[fd00::1]:80", "1.2.3.4" and "fd00::1".
func cutPort(s string) (addr, port string, hasPort bool, msg string) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		addr, port, ok = strings.Cut(rest, "]:")
		if !ok {
			return "", "", false, "brackets go around an IPv6 address with a port: write [ADDRESS]:PORT"
		}
		if !strings.Contains(addr, ":") {
			return "", "", false, "brackets are for IPv6 addresses: write ADDRESS:PORT"
		}
		return addr, port, true, ""
	}
	if strings.Count(s, ":") != 1 {
		return s, "", false, ""
	}
	addr, port, _ = strings.Cut(s, ":")
	return addr, port, true, ""
}

func parseAddress(s string) (netip.Addr, string) {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil && hasLeadingZeroOctet(s):
		return addr, "an IPv4 address has no leading zeros: tools read them differently"
	case err != nil:
		return addr, "not an IP address: write one such as 10.0.0.1 or fd00::1 (an IPv6 address with a port takes brackets)"
	case addr.Zone() != "":
		return addr, "an address with a zone is not supported: leave out %" + addr.Zone() + " and name the device by \"in DEV\""
	case addr.Is4In6():
		return addr, "an IPv4-mapped address is not supported: write " + addr.Unmap().String()
	}
	return addr, ""
}

func hasLeadingZeroOctet(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if len(part) > 1 && part[0] == '0' && !strings.Contains(s, ":") {
			return true
		}
	}
	return false
}

// parseNumber reads a decimal number of at most the given bits, without sign or leading zeros.
func parseNumber(s string, bits int) (uint64, string) {
	limit := uint64(1)<<bits - 1
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case s == "" || strings.Trim(s, "0123456789") != "":
		return 0, fmt.Sprintf("not a number: write one from 0 to %d", limit)
	case err != nil || n > limit:
		return 0, fmt.Sprintf("out of range: write a number from 0 to %d", limit)
	case len(s) > 1 && s[0] == '0':
		return 0, "a number has no leading zeros"
	}
	return n, ""
}

// parseMark reads a 32-bit number, decimal or hexadecimal with 0x.
func parseMark(s string) (uint64, string) {
	hex, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return parseNumber(s, 32)
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || strings.Contains(hex, "_") {
		return 0, "not a 32-bit hexadecimal number: write one such as 0x4000"
	}
	return n, ""
}

func joinPort(addr netip.Addr, port uint16) string {
	return netip.AddrPortFrom(addr, port).String()
}
