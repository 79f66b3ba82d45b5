package ipset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/icmp"
	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// parsePort reads "[PROTO:]PORT[-PORT]".
func (e *element) parsePort(command, text string, f Family) error {
	e.proto = libc.ProtoTCP
	protoName, port, colon := cutAt(text, ':')
	if !colon {
		protoName, port = "tcp", text
	} else {
		var err error
		if e.proto, err = parseProtocol(protoName); err != nil {
			return err
		}
	}
	if f == 0 && e.proto != libc.ProtoTCP && e.proto != libc.ProtoUDP {
		// bitmap:port, which does not keep the protocol.
		return errorf("Syntax error: Only protocols TCP and UDP are valid")
	}
	switch e.proto {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoSCTP, libc.ProtoUDPLite:
		return e.parsePorts(port, libc.ProtocolName(uint16(e.proto)))
	case libc.ProtoICMP:
		if f == inet6 {
			return errorf("Syntax error: Protocol ICMP can be used with family inet only\nInvalid %s command: missing setname", command)
		}
		return e.parseICMP(port, icmp.V4Names, "ICMP")
	case libc.ProtoICMPv6:
		if f == inet {
			return errorf("Syntax error: Protocol ICMPv6 can be used with family inet6 only\nInvalid %s command: missing setname", command)
		}
		return e.parseICMP(port, icmp.V6Names, "ICMPv6")
	}
	if n, err := parseNumber(port, 0, 65535); err != nil || n != 0 {
		return errorf("Syntax error: Protocol %s can be used with pseudo port value 0 only.", protoName)
	}
	if e.proto == 0 {
		return errorf("Invalid protocol specified")
	}
	return nil
}

// parseProtocol reads a number or a name.
func parseProtocol(word string) (uint8, error) {
	if n, err := parseNumber(word, 0, math.MaxUint8); err == nil {
		return uint8(n), nil
	}
	if strings.EqualFold(word, "icmpv6") {
		return libc.ProtoICMPv6, nil
	}
	n, ok := libc.ProtocolByName([]byte(word))
	switch {
	case !ok:
		return 0, errorf("Syntax error: cannot parse '%s' as a protocol", word)
	case n == 0:
		return 0, errorf("Syntax error: Unsupported protocol '%s'", word)
	}
	return n, nil
}

func (e *element) parsePorts(text, proto string) error {
	first, last, dash := cutAt(text, '-')
	var end uint16
	var err error
	if dash {
		// The tool begins with the last one.
		if end, err = parsePort(last, proto); err != nil {
			return err
		}
	}
	if e.port, err = parsePort(first, proto); err != nil {
		return err
	}
	if e.last, e.ports = e.port, dash; dash {
		e.last = end
	}
	if e.last < e.port {
		e.port, e.last = e.last, e.port
	}
	return nil
}

func parsePort(text, proto string) (uint16, error) {
	n, err := parseNumber(text, 0, 65535)
	if err == nil {
		return uint16(n), nil
	}
	number, _ := libc.Protocol([]byte(proto))
	if p, ok := libc.Service([]byte(text), number); ok {
		return p, nil
	}
	return 0, errorf("%v\nSyntax error: '%s' is invalid as number\ncannot parse '%s' as a %s port", err, proto, text, proto)
}

// parseICMP reads the beginning of a type's name or "TYPE/CODE".
func (e *element) parseICMP(text string, names []icmp.TypeName, word string) error {
	number, code, slash := cutAt(text, '/')
	if slash {
		t, err := parseNumber(number, 0, 255)
		if err != nil {
			return err
		}
		c, err := parseNumber(code, 0, 255)
		e.port = uint16(t<<8 | c)
		e.last = e.port
		return err
	}
	for _, n := range names {
		if text != "" && strings.HasPrefix(n.Name, strings.ToLower(text)) && oneCode(n, names) {
			e.port = uint16(n.Type)<<8 | uint16(n.CodeMin)
			e.last = e.port
			return nil
		}
	}
	return errorf("Cannot parse %s as an %s type/code.", text, word)
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
	dst = append(libc.AppendProtocol(dst, uint16(proto)), ':')
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
