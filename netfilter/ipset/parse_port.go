package ipset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/icmp"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// parseProtocolPort reads "[PROTO:]PORT[-PORT]".
func (p *parser) parseProtocolPort(o option, word string) error {
	m := &p.message
	proto, port, colon := cutAt(word, ':')
	if !colon {
		m.proto = libc.ProtoTCP
		m.set(optProto)
		return p.parsePorts(o, word, "tcp")
	}
	if err := p.parseProtocol(proto); err != nil {
		return err
	}
	switch {
	case hasPorts(m.proto):
		return p.parsePorts(o, port, proto)
	case m.proto == libc.ProtoICMP && m.family != inet:
		// The tool goes on with the message that it has emptied.
		p.note(sevError, "Syntax error: Protocol ICMP can be used with family inet only")
		return nil
	case m.proto == libc.ProtoICMPv6 && m.family != inet6:
		p.note(sevError, "Syntax error: Protocol ICMPv6 can be used with family inet6 only")
		return nil
	case m.proto == libc.ProtoICMP:
		return p.parseICMP(o, port, icmp.V4Names, "ICMP")
	case m.proto == libc.ProtoICMPv6:
		return p.parseICMP(o, port, icmp.V6Names, "ICMPv6")
	case port != "0":
		return p.syntaxError("Protocol %s can be used with pseudo port value 0 only.", proto)
	}
	m.port = 0
	m.set(o)
	return nil
}

// parseProtocol reads a number or a name.
func (p *parser) parseProtocol(word string) error {
	m := &p.message
	n, mistake := parseNumber(word, 0, math.MaxUint8)
	if mistake != "" {
		p.report = report{}
		name := word
		if strings.EqualFold(word, "icmpv6") {
			name = "ipv6-icmp"
		}
		known, ok := libc.ProtocolByName([]byte(name))
		switch {
		case !ok:
			return p.syntaxError("cannot parse '%s' as a protocol", word)
		case known == 0:
			return p.syntaxError("Unsupported protocol '%s'", word)
		}
		n = uint64(known)
	}
	m.proto = uint8(n)
	m.set(optProto)
	return nil
}

// parseTCPOrUDPPort reads a port of bitmap:port, which does not keep the protocol.
func (p *parser) parseTCPOrUDPPort(o option, word string) error {
	if err := p.parseProtocolPort(o, word); err != nil {
		return err
	}
	m := &p.message
	if m.proto != libc.ProtoTCP && m.proto != libc.ProtoUDP {
		return p.syntaxError("Only protocols TCP and UDP are valid")
	}
	m.given &^= optionsOf(optProto)
	return nil
}

func (p *parser) parseTCPPort(o option, word string) error { return p.parsePort(o, word, "tcp") }

// parsePorts reads a port or a range of ports; the tool begins with the last one.
func (p *parser) parsePorts(o option, word, proto string) error {
	first, last, ranged, err := p.cutRange(word)
	if err != nil {
		return err
	}
	if ranged {
		if err := p.parsePort(optPortTo, last, proto); err != nil {
			return err
		}
	}
	return p.parsePort(o, first, proto)
}

// parsePort reads the number or the name of a port.
func (p *parser) parsePort(o option, word, proto string) error {
	n, err := p.number(word, 0, math.MaxUint16, sevWarning)
	if err != nil {
		port, ok := p.servicePort(word, proto)
		if !ok {
			// What was a warning is an error, without the line of restore.
			p.report.severity = sevError
			p.message = message{}
			return errReported
		}
		p.report = report{}
		n = uint64(port)
	}
	m := &p.message
	if o == optPortTo {
		m.portTo = uint16(n)
	} else {
		m.port = uint16(n)
	}
	m.set(o)
	return nil
}

// servicePort is the port of a service of the protocol, which is a name or a number.
func (p *parser) servicePort(word, proto string) (uint16, bool) {
	if name, err := p.unescape(word); err == nil {
		number, mistake := parseNumber(proto, 0, math.MaxUint8)
		if mistake != "" {
			p.note(sevWarning, "Syntax error: %s", mistake)
			if n, ok := libc.ProtocolByName([]byte(proto)); ok && libc.ProtocolName(uint16(n)) == proto {
				number = uint64(n)
			}
		}
		if port, ok := libc.Service([]byte(name), uint16(number)); ok && number != 0 {
			return port, true
		}
	}
	p.note(sevWarning, "cannot parse '%s' as a %s port", word, proto)
	return 0, false
}

// parseICMP reads the beginning of a type's name or "TYPE/CODE".
func (p *parser) parseICMP(o option, word string, names []icmp.TypeName, proto string) error {
	m := &p.message
	for _, n := range names {
		if len(word) <= len(n.Name) && strings.EqualFold(n.Name[:len(word)], word) && oneCode(n, names) {
			m.port = uint16(n.Type)<<8 | uint16(n.CodeMin)
			m.set(o)
			return nil
		}
	}
	number, code, slash := cutAt(word, '/')
	if !slash {
		return p.fail("Cannot parse %s as an %s type/code.", word, proto)
	}
	t, err := p.number(number, 0, math.MaxUint8, sevError)
	if err != nil {
		return err
	}
	c, err := p.number(code, 0, math.MaxUint8, sevError)
	if err != nil {
		return err
	}
	m.port = uint16(t<<8 | c)
	m.set(o)
	return nil
}

// oneCode says that the name stands for one code, and not for a whole type with several codes.
func oneCode(n icmp.TypeName, names []icmp.TypeName) bool {
	if n.CodeMin == n.CodeMax || n.Name == "any" {
		return n.Name != "any"
	}
	for _, other := range names {
		if other.Type == n.Type && other.CodeMin == other.CodeMax {
			return false
		}
	}
	return true
}

func appendPort(dst []byte, proto uint8, port uint16) []byte {
	if proto == 0 {
		dst = append(dst, "ip:"...)
	} else {
		dst = append(libc.AppendProtocol(dst, uint16(proto)), ':')
	}
	names := icmp.V4Names
	switch proto {
	case libc.ProtoICMP:
	case libc.ProtoICMPv6:
		names = icmp.V6Names
	default:
		return strconv.AppendUint(dst, uint64(port), 10)
	}
	for _, n := range names {
		if n.Type == uint8(port>>8) && n.CodeMin == uint8(port) && oneCode(n, names) {
			return append(dst, n.Name...)
		}
	}
	return fmt.Appendf(dst, "%d/%d", port>>8, port&255)
}
