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
func (r *run) parseProtocolPort(o option, word string) error {
	m := &r.message
	proto, port, colon := cutAt(word, ':')
	if !colon {
		m.proto = libc.ProtoTCP
		m.set(optProto)
		return r.parsePorts(o, word, "tcp")
	}
	if err := r.parseProtocol(proto); err != nil {
		return err
	}
	switch {
	case hasPorts(m.proto):
		return r.parsePorts(o, port, proto)
	case m.proto == libc.ProtoICMP && m.family != inet:
		// The tool goes on with the message that it has emptied.
		r.note(sevError, "Syntax error: Protocol ICMP can be used with family inet only")
		return nil
	case m.proto == libc.ProtoICMPv6 && m.family != inet6:
		r.note(sevError, "Syntax error: Protocol ICMPv6 can be used with family inet6 only")
		return nil
	case m.proto == libc.ProtoICMP:
		return r.parseICMP(o, port, icmp.V4Names, "ICMP")
	case m.proto == libc.ProtoICMPv6:
		return r.parseICMP(o, port, icmp.V6Names, "ICMPv6")
	case port != "0":
		return r.syntaxError("Protocol %s can be used with pseudo port value 0 only.", proto)
	}
	m.port = 0
	m.set(o)
	return nil
}

// parseProtocol reads a number or a name.
func (r *run) parseProtocol(word string) error {
	m := &r.message
	n, mistake := parseNumber(word, 0, math.MaxUint8)
	if mistake != "" {
		r.report = report{}
		name := word
		if strings.EqualFold(word, "icmpv6") {
			name = "ipv6-icmp"
		}
		known, ok := libc.ProtocolByName([]byte(name))
		switch {
		case !ok:
			return r.syntaxError("cannot parse '%s' as a protocol", word)
		case known == 0:
			return r.syntaxError("Unsupported protocol '%s'", word)
		}
		n = uint64(known)
	}
	m.proto = uint8(n)
	m.set(optProto)
	return nil
}

// parseTCPOrUDPPort reads a port of bitmap:port, which does not keep the protocol.
func (r *run) parseTCPOrUDPPort(o option, word string) error {
	if err := r.parseProtocolPort(o, word); err != nil {
		return err
	}
	m := &r.message
	if m.proto != libc.ProtoTCP && m.proto != libc.ProtoUDP {
		return r.syntaxError("Only protocols TCP and UDP are valid")
	}
	m.given &^= optionsOf(optProto)
	return nil
}

func (r *run) parseTCPPort(o option, word string) error { return r.parsePort(o, word, "tcp") }

// parsePorts reads a port or a range of ports; the tool begins with the last one.
func (r *run) parsePorts(o option, word, proto string) error {
	first, last, ranged, err := r.cutRange(word)
	if err != nil {
		return err
	}
	if ranged {
		if err := r.parsePort(optPortTo, last, proto); err != nil {
			return err
		}
	}
	return r.parsePort(o, first, proto)
}

// parsePort reads the number or the name of a port.
func (r *run) parsePort(o option, word, proto string) error {
	n, err := r.number(word, 0, math.MaxUint16, sevWarning)
	if err != nil {
		port, ok := r.servicePort(word, proto)
		if !ok {
			// What was a warning is an error, without the line of restore.
			r.report.severity = sevError
			r.message = message{}
			return errReported
		}
		r.report = report{}
		n = uint64(port)
	}
	m := &r.message
	if o == optPortTo {
		m.portTo = uint16(n)
	} else {
		m.port = uint16(n)
	}
	m.set(o)
	return nil
}

// servicePort is the port of a service of the protocol, which is a name or a number.
func (r *run) servicePort(word, proto string) (uint16, bool) {
	if name, err := r.unescape(word); err == nil {
		number, mistake := parseNumber(proto, 0, math.MaxUint8)
		if mistake != "" {
			r.note(sevWarning, "Syntax error: %s", mistake)
			if p, ok := libc.ProtocolByName([]byte(proto)); ok && libc.ProtocolName(uint16(p)) == proto {
				number = uint64(p)
			}
		}
		if port, ok := libc.Service([]byte(name), uint16(number)); ok && number != 0 {
			return port, true
		}
	}
	r.note(sevWarning, "cannot parse '%s' as a %s port", word, proto)
	return 0, false
}

// parseICMP reads the beginning of a type's name or "TYPE/CODE".
func (r *run) parseICMP(o option, word string, names []icmp.TypeName, proto string) error {
	m := &r.message
	for _, n := range names {
		if len(word) <= len(n.Name) && strings.EqualFold(n.Name[:len(word)], word) && oneCode(n, names) {
			m.port = uint16(n.Type)<<8 | uint16(n.CodeMin)
			m.set(o)
			return nil
		}
	}
	number, code, slash := cutAt(word, '/')
	if !slash {
		return r.fail("Cannot parse %s as an %s type/code.", word, proto)
	}
	t, err := r.number(number, 0, math.MaxUint8, sevError)
	if err != nil {
		return err
	}
	c, err := r.number(code, 0, math.MaxUint8, sevError)
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
