package packetsim

import (
	"net/netip"
	"strings"
)

// syntaxOption is one of the words that may follow the addresses.
type syntaxOption struct {
	value string // what the word is followed by, empty for none
	read  func(p *syntaxParser, name, value word) error
}

// syntaxOptionNames lists the words in the order that Input.String prints them.
const syntaxOptionNames = "in DEV, local, flags LIST, type T/C, mark N, ttl N, len N"

func syntaxOptions(name string) (syntaxOption, bool) {
	switch name {
	case "in":
		return syntaxOption{"a device name", (*syntaxParser).device}, true
	case "local":
		return syntaxOption{"", (*syntaxParser).local}, true
	case "flags":
		return syntaxOption{"TCP flags such as SYN,ACK", (*syntaxParser).flags}, true
	case "type":
		return syntaxOption{"an ICMP type and code such as 8/0", (*syntaxParser).icmpType}, true
	case "mark":
		return syntaxOption{"a mark such as 0x4000", (*syntaxParser).mark}, true
	case "ttl":
		return syntaxOption{"a hop limit from 1 to 255", (*syntaxParser).ttl}, true
	case "len":
		return syntaxOption{"a length in bytes", (*syntaxParser).length}, true
	}
	return syntaxOption{}, false
}

func (p *syntaxParser) options() error {
	p.seen = map[string]bool{}
	for len(p.words) > 0 {
		name, _ := p.next("")
		option, ok := syntaxOptions(name.text)
		if !ok {
			return p.errorAt(name, "unknown word: write one of %s", syntaxOptionNames)
		}
		if p.seen[name.text] {
			return p.errorAt(name, "given twice: write it once")
		}
		p.seen[name.text] = true
		var value word
		if option.value != "" {
			var err error
			if value, err = p.next(option.value + " after \"" + name.text + "\""); err != nil {
				return err
			}
		}
		if err := option.read(p, name, value); err != nil {
			return err
		}
	}
	return nil
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
	if !p.seen["type"] {
		in.ICMPType = echoRequestType(in.Proto)
	}
	return nil
}

// echoRequestType is 0 for what is not ICMP.
func echoRequestType(p Proto) uint8 {
	switch p {
	case ICMP:
		return icmpEcho
	case ICMPv6:
		return icmp6Echo
	}
	return 0
}

func (p *syntaxParser) device(name, value word) error {
	if p.input.Local {
		return p.errorAt(name, "\"local\" is given as well: a packet is either sent by the host or comes in by a device")
	}
	if msg := checkDeviceName(value.text); msg != "" {
		return p.errorAt(value, "%s", msg)
	}
	p.input.In = value.text
	return nil
}

// maxDeviceName is the kernel's IFNAMSIZ less the closing zero.
const maxDeviceName = 15

func checkDeviceName(s string) string {
	switch {
	case s == "":
		return "a device needs a name"
	case len(s) > maxDeviceName:
		return "a device name has at most 15 bytes"
	case s == "." || s == ".." || strings.ContainsAny(s, "/: \t\n\r\v\f\x00"):
		return "not a device name: blanks, \"/\" and \":\" are not allowed in one"
	}
	return ""
}

func (p *syntaxParser) local(name, _ word) error {
	if p.input.In != "" {
		return p.errorAt(name, "\"in %s\" is given as well: a packet is either sent by the host or comes in by a device", p.input.In)
	}
	p.input.Local = true
	return nil
}

func (p *syntaxParser) flags(name, value word) error {
	if p.input.Proto != TCP {
		return p.errorAt(name, "only TCP packets have flags")
	}
	flags, err := ParseTCPFlags(value.text)
	if err != nil {
		return p.errorAt(value, "%v", err)
	}
	p.input.TCPFlags = flags
	return nil
}

func (p *syntaxParser) icmpType(name, value word) error {
	if !p.input.Proto.isICMP() {
		return p.errorAt(name, "only ICMP packets have a type")
	}
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
	if n == 0 {
		return p.errorAt(value, "a packet on the way has a hop limit: write a number from 1 to 255")
	}
	p.input.TTL = uint8(n)
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

// minPacketLength is the size of an IP header.
func minPacketLength(addr netip.Addr) uint64 {
	if addr.Is4() {
		return 20
	}
	return 40
}
