package fakeipt

import (
	"bytes"
	"net/netip"
	"strconv"
)

// NATRange is what a NAT target chooses from.
type NATRange struct {
	MinAddr, MaxAddr netip.Addr // not valid: the address is kept
	MinPort, MaxPort uint16     // 0: the port is kept if possible
	HasPorts         bool       // ports were given, even if 0
	Random           bool       // --random
	RandomFully      bool       // --random-fully
	Persistent       bool       // --persistent
}

// appendAddrPort appends "ADDRESS[-ADDRESS][:PORT[-PORT]]".
func (r *NATRange) appendAddrPort(dst []byte) []byte {
	if r.MinAddr.IsValid() {
		brackets := r.HasPorts && r.MinAddr.Is6()
		if brackets {
			dst = append(dst, '[')
		}
		dst = r.MinAddr.AppendTo(dst)
		if r.MaxAddr != r.MinAddr {
			dst = r.MaxAddr.AppendTo(append(dst, '-'))
		}
		if brackets {
			dst = append(dst, ']')
		}
	}
	if r.HasPorts {
		dst = r.appendPorts(append(dst, ':'))
	}
	return dst
}

// appendPorts appends "PORT[-PORT]".
func (r *NATRange) appendPorts(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.MinPort), 10)
	if r.MaxPort != r.MinPort {
		dst = strconv.AppendUint(append(dst, '-'), uint64(r.MaxPort), 10)
	}
	return dst
}

// appendFlags appends the flags' words behind a prefix: " --" or " ".
func (r *NATRange) appendFlags(dst []byte, prefix string) []byte {
	if r.Random {
		dst = append(append(dst, prefix...), "random"...)
	}
	if r.RandomFully {
		dst = append(append(dst, prefix...), "random-fully"...)
	}
	if r.Persistent {
		dst = append(append(dst, prefix...), "persistent"...)
	}
	return dst
}

// parseAddrPort reads what appendAddrPort writes; it returns the text behind a "/".
func (r *NATRange) parseAddrPort(o *optionCall, services bool) (base []byte, err error) {
	addrs, ports, hasPorts := splitAddrPort(o.arg, o.family)
	if hasPorts {
		if !hasPortsToChange(o.proto) {
			return nil, badParameter("Need TCP, UDP, SCTP or DCCP with port specification")
		}
		if base, err = r.parsePorts(ports, services); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return base, nil
	}
	return base, r.parseAddrs(addrs, o.family)
}

// hasPortsToChange says whether the tools take ports for the protocol.
func hasPortsToChange(proto ProtoMatch) bool {
	switch proto.Number {
	case protoTCP, protoUDP, protoSCTP, protoDCCP, protoICMP:
		return true
	}
	return false
}

// splitAddrPort parts the addresses from the ports. An IPv6 address with ports stands in brackets.
func splitAddrPort(s []byte, f Family) (addrs, ports []byte, hasPorts bool) {
	if f == IPv6 {
		if len(s) > 0 && s[0] == '[' {
			end := bytes.IndexByte(s, ']')
			if end < 0 {
				return s, nil, false
			}
			rest := s[end+1:]
			if i := bytes.LastIndexByte(rest, ':'); i >= 0 {
				first := bytes.IndexByte(rest, ':')
				return s[1:end], rest[first+1:], true
			}
			return s[1:end], nil, false
		}
		if len(s) > 1 && s[0] == ':' && s[1] != ':' {
			return nil, s[1:], true
		}
		return s, nil, false
	}
	return bytes.Cut(s, []byte(":"))
}

func (r *NATRange) parseAddrs(s []byte, f Family) error {
	first, last, dash := bytes.Cut(s, []byte("-"))
	var ok bool
	if r.MinAddr, ok = parseAddr(first, f, false); !ok {
		return badParameter("Bad IP address \"%s\"", first)
	}
	r.MaxAddr = r.MinAddr
	if dash {
		if r.MaxAddr, ok = parseAddr(last, f, false); !ok {
			return badParameter("Bad IP address \"%s\"", last)
		}
	}
	return nil
}

// parsePorts reads "PORT[-PORT][/BASE]".
func (r *NATRange) parsePorts(s []byte, services bool) (base []byte, err error) {
	number := leadingDigits(s)
	if number == 0 {
		port, err := natService(s, services)
		r.MinPort, r.MaxPort, r.HasPorts = port, port, err == nil
		return nil, err
	}
	low, err := strconv.ParseUint(string(s[:number]), 10, 16)
	rest := s[number:]
	if err != nil || len(rest) > 0 && rest[0] != '-' {
		return nil, badParameter("Port `%s' not valid", s)
	}
	r.MinPort, r.MaxPort, r.HasPorts = uint16(low), uint16(low), true
	if len(rest) == 0 {
		return nil, nil
	}
	text := rest[1:]
	last, base, _ := bytes.Cut(text, []byte("/"))
	high, err := strconv.ParseUint(string(last), 10, 16)
	if err != nil {
		return nil, badParameter("Port range `%s' not valid", text)
	}
	if high < low {
		return nil, badParameter("Port range `%s' funky", text)
	}
	r.MaxPort = uint16(high)
	return base, nil
}

func leadingDigits(s []byte) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func natService(s []byte, services bool) (uint16, error) {
	if services && len(s) > 0 {
		if port, err := parsePort(s, 0); err == nil {
			return port, nil
		}
	}
	return 0, badParameter("Port `%s' not valid", s)
}

// natParser is what the parsers of the NAT targets share.
type natParser struct {
	r    NATRange
	base uint16
}

// flag sets the flag of that name.
func (p *natParser) flag(name string) {
	switch name {
	case "random":
		p.r.Random = true
	case "random-fully":
		p.r.RandomFully = true
	case "persistent":
		p.r.Persistent = true
	}
}

// toPorts reads --to-ports.
func (p *natParser) toPorts(o *optionCall) error {
	if !hasPortsToChange(o.proto) {
		return badParameter("Need TCP, UDP, SCTP or DCCP with port specification")
	}
	_, err := p.r.parsePorts(o.arg, true)
	return err
}
