package inet

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// syntaxOption is one of the words that may follow the addresses.
type syntaxOption struct {
	name  string
	args  string   // as the list of words shows them
	value string   // what the word is followed by, empty for none
	of    protoSet // the packets that have it
	what  string   // for a message: only TCP packets have ...
	read  func(p *syntaxParser, name, value word) error
}

// protoSet is the packets that a word is for, by the name of their protocol in a message; empty: all.
type protoSet string

func (s protoSet) has(p Proto) bool {
	switch s {
	case "TCP":
		return p == TCP
	case "UDP":
		return p == UDP
	case "SCTP":
		return p == SCTP
	case "ICMP":
		return p.IsICMP()
	case "IPsec":
		return p.hasSPI()
	case "AH":
		return p == AH
	}
	return true
}

// syntaxOptions lists the words in the order that Input.Full prints them.
func syntaxOptions() []syntaxOption {
	return []syntaxOption{
		{"in", " DEV", "a device name", "", "", (*syntaxParser).device},
		{"local", "", "", "", "", (*syntaxParser).local},
		{"flags", " LIST", "TCP flags such as SYN,ACK", "TCP", "flags", (*syntaxParser).flags},
		{"type", " T/C", "an ICMP type and code such as 8/0", "ICMP", "a type", (*syntaxParser).icmpType},
		{"mark", " N", "a mark such as 0x4000", "", "", (*syntaxParser).mark},
		{"ttl", " N", "a hop limit from 0 to 255", "", "", (*syntaxParser).ttl},
		{"len", " N", "a length in bytes", "", "", (*syntaxParser).length},
		{"df", "", "", "", "", (*syntaxParser).dontFragment},
		{"tos", " N", "a type of service such as 0x10", "", "", (*syntaxParser).tos},
		{"checksum-off", " N", "a number such as 0x1e, by which the checksum is wrong", "", "", (*syntaxParser).checksumOff},
		{"id", " N", "an ICMP identifier", "ICMP", "an identifier", (*syntaxParser).icmpID},
		{"seq", " N", "a sequence number", "TCP", "sequence numbers", (*syntaxParser).tcpNumber},
		{"ack", " N", "an acknowledgement number", "TCP", "acknowledgement numbers", (*syntaxParser).tcpNumber},
		{"window", " N", "a window as on the wire, from 0 to 65535", "TCP", "a window", (*syntaxParser).tcpNumber},
		{"data", " N", "a number of bytes", "TCP", "data that is counted", (*syntaxParser).tcpNumber},
		{"wscale", " N", "a window scale from 0 to 255", "TCP", "a window scale", (*syntaxParser).tcpNumber},
		{"sack-permitted", "", "", "TCP", "a SACK option", (*syntaxParser).sackPermitted},
		{"sack", " LEFT-RIGHT,...", "SACK blocks such as 1000-2000", "TCP", "a SACK option", (*syntaxParser).sack},
		{"out-of-window", "", "", "TCP", "a window", (*syntaxParser).outOfWindow},
		{"mss", " N", "a segment size from 1 to 65535", "TCP", "a segment size", (*syntaxParser).mss},
		{"spi", " N", "an index of security parameters such as 0x12", "IPsec", "an index of security parameters", (*syntaxParser).spi},
		{"ah", " LENGTH", "the length of the header in bytes, such as 24, or with its reserved field, such as 24/0", "AH", "such a header",
			(*syntaxParser).ah},
		{"vtag", " N", "a verification tag such as 0x12", "SCTP", "a verification tag", (*syntaxParser).verificationTag},
		{"chunks", " LIST", "SCTP chunks such as INIT or COOKIE_ACK,DATA", "SCTP", "chunks", (*syntaxParser).chunks},
		{"socket", " LIST", "none, kernel or words such as uid=0,gid=0", "", "", (*syntaxParser).socket},
		{"mac", " ADDRESS", "a link-layer address such as 02:00:00:00:00:01", "", "", (*syntaxParser).mac},
		{"link", " KIND", "unicast, broadcast or multicast", "", "", (*syntaxParser).link},
		{"payload", " HEX", "bytes as pairs of hexadecimal digits, or none", "", "", (*syntaxParser).payload},
		{"nexthop", " ADDRESS", "the address of a neighbour", "", "", (*syntaxParser).nextHop},
		{"quotes", " { PACKET }", "", "ICMP", "a quoted packet", (*syntaxParser).quotes},
		{"vxlan", " VNI { PACKET }", "a network identifier from 0 to 16777215", "UDP", "a carried packet", (*syntaxParser).vxlan},
	}
}

// syntaxOptionNames lists the words for a message.
func syntaxOptionNames(options []syntaxOption) string {
	words := make([]string, len(options))
	for i := range options {
		words[i] = options[i].name + options[i].args
	}
	return strings.Join(words, ", ")
}

func (p *syntaxParser) options() error {
	p.seen = map[string]bool{}
	known := syntaxOptions()
	for len(p.words) > 0 {
		name, _ := p.next("")
		i := slices.IndexFunc(known, func(o syntaxOption) bool { return o.name == name.text })
		if i < 0 {
			return p.errorAt(name, "unknown word: write one of %s", syntaxOptionNames(known))
		}
		if err := p.option(&known[i], name); err != nil {
			return err
		}
	}
	return nil
}

// option reads what follows the word.
func (p *syntaxParser) option(o *syntaxOption, name word) error {
	switch {
	case p.seen[o.name]:
		return p.errorAt(name, "given twice: write it once")
	case p.depth > 0 && (o.name == "in" || o.name == "local" || o.name == "nexthop"):
		return p.errorAt(name, "a packet in another one does not come to a host: leave it out")
	}
	p.seen[o.name] = true
	var value word
	if o.value != "" {
		var err error
		if value, err = p.next(o.value + " after \"" + o.name + "\""); err != nil {
			return err
		}
	}
	if !o.of.has(p.input.Proto) {
		return p.errorAt(name, "only %s packets have %s", o.of, o.what)
	}
	return o.read(p, name, value)
}

// defaults fills what the words did not say. The unspecified address as the source of a packet
// of the host itself stands for the one that an unbound socket gets.
func (p *syntaxParser) defaults() error {
	in := &p.input
	if in.Local && in.Src.IsUnspecified() {
		in.Src = netip.Addr{}
	}
	if in.Proto == TCP && !p.seen["flags"] {
		in.TCPFlags = SYN
	}
	if in.Payload != nil {
		if err := p.checkPayload(); err != nil {
			return err
		}
	}
	if !p.seen["type"] {
		in.ICMPType = in.Proto.EchoRequestType()
	}
	return nil
}

func (p *syntaxParser) device(name, value word) error {
	if p.input.Local {
		return p.errorAt(name, "\"local\" is given as well: a packet is either sent by the host or comes in by a device")
	}
	if err := CheckDeviceName(value.text); err != nil {
		return p.errorAt(value, "%v", err)
	}
	p.input.In = value.text
	return nil
}

// MaxDeviceName is the kernel's IFNAMSIZ less the closing zero.
const MaxDeviceName = 15

// CheckDeviceName says why the kernel would not take a device of that name (dev_valid_name in net/core/dev.c).
func CheckDeviceName(s string) error {
	switch {
	case s == "":
		return errors.New("a device needs a name")
	case len(s) > MaxDeviceName:
		return errors.New("a device name has at most 15 bytes")
	case s == "." || s == ".." || strings.ContainsAny(s, "/: \t\n\r\v\f\x00"):
		return errors.New("not a device name: blanks, \"/\" and \":\" are not allowed in one")
	}
	return nil
}

func (p *syntaxParser) local(name, _ word) error {
	if p.input.In != "" {
		return p.errorAt(name, "\"in %s\" is given as well: a packet is either sent by the host or comes in by a device", p.input.In)
	}
	p.input.Local = true
	return nil
}

func (p *syntaxParser) flags(_, value word) error {
	flags, err := ParseTCPFlags(value.text)
	if err != nil {
		return p.errorAt(value, "%v", err)
	}
	p.input.TCPFlags = flags
	return nil
}

func (p *syntaxParser) icmpType(_, value word) error {
	typeText, codeText, ok := strings.Cut(value.text, "/")
	if !ok {
		return p.errorAt(value, "write the type and the code, such as 8/0")
	}
	typ, msg := parseNumber(typeText, 8)
	if msg != "" {
		return p.errorAt(value, "type %q: %s", typeText, msg)
	}
	code, msg := parseNumber(codeText, 8)
	if msg != "" {
		return p.errorAt(value, "code %q: %s", codeText, msg)
	}
	p.input.ICMPType, p.input.ICMPCode = uint8(typ), uint8(code)
	return nil
}

func (p *syntaxParser) mark(_, value word) error {
	n, msg := parseMark(value.text)
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.Mark = uint32(n)
	return nil
}

func (p *syntaxParser) ttl(_, value word) error {
	n, msg := parseNumber(value.text, 8)
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.SetHopLimit(uint8(n))
	return nil
}

func (p *syntaxParser) length(_, value word) error {
	n, msg := parseNumber(value.text, 16)
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	if least := minPacketLength(p.input.Src); n < least {
		return p.errorAt(value, "shorter than the IP header: write a number from %d to 65535", least)
	}
	p.input.Length = int(n)
	return nil
}

func (p *syntaxParser) dontFragment(name, _ word) error {
	if p.input.Dst.Is6() {
		return p.errorAt(name, "no router cuts an IPv6 packet into fragments: leave it out")
	}
	p.input.DontFragment = true
	return nil
}

func (p *syntaxParser) tos(_, value word) error {
	n, msg := parseMark(value.text)
	if msg == "" && n > 255 {
		msg = "more than a byte: write a number from 0 to 255"
	}
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.TOS = uint8(n)
	return nil
}

func (p *syntaxParser) checksumOff(_, value word) error {
	n, msg := parseMark(value.text)
	if msg == "" && n >= 0xffff {
		msg = "as good as 0, or more than two bytes: write a number from 0 to 65534"
	}
	if msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.ChecksumOff = uint16(n)
	return nil
}

// minPacketLength is the size of an IP header.
func minPacketLength(addr netip.Addr) uint64 {
	if addr.Is4() {
		return 20
	}
	return 40
}
