package target

import (
	"bytes"
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// appendNATAddrPort appends "ADDRESS[-ADDRESS][:PORT[-PORT]]".
func appendNATAddrPort(dst []byte, r *netfilter.NATRange) []byte {
	if r.MinAddr.IsValid() {
		brackets := r.HasPorts && r.MinAddr.Is6()
		if brackets {
			dst = append(dst, '[')
		}
		dst = libc.AppendInetNtop(dst, r.MinAddr)
		if r.MaxAddr != r.MinAddr {
			dst = libc.AppendInetNtop(append(dst, '-'), r.MaxAddr)
		}
		if brackets {
			dst = append(dst, ']')
		}
	}
	if r.HasPorts {
		dst = appendNATPorts(append(dst, ':'), r)
	}
	return dst
}

// appendNATPorts appends "PORT[-PORT]".
func appendNATPorts(dst []byte, r *netfilter.NATRange) []byte {
	dst = strconv.AppendUint(dst, uint64(r.MinPort), 10)
	if r.MaxPort != r.MinPort {
		dst = strconv.AppendUint(append(dst, '-'), uint64(r.MaxPort), 10)
	}
	if r.Shifted {
		dst = append(dst, "/0"...)
	}
	return dst
}

// appendNATToPorts appends the ports behind a word, and the flags' words behind a prefix.
func appendNATToPorts(dst []byte, r *netfilter.NATRange, word, prefix string) []byte {
	if r.HasPorts {
		dst = appendNATPorts(append(dst, word...), r)
	}
	return appendNATFlags(dst, r, prefix)
}

// appendNATFlags appends the flags' words behind a prefix: " --" or " ".
func appendNATFlags(dst []byte, r *netfilter.NATRange, prefix string) []byte {
	return xtables.AppendFlags(dst, prefix, xtables.WordIf("random", r.Random), xtables.WordIf("random-fully", r.RandomFully),
		xtables.WordIf("persistent", r.Persistent))
}

// parseAddrPort reads what appendNATAddrPort writes; it returns the number behind a "/".
func (p *natParser) parseAddrPort(o *xtables.OptionCall) (base uint16, err error) {
	addrs, ports, hasPorts, err := splitAddrPort(o.Arg, o.Family)
	if err != nil {
		return 0, err
	}
	if hasPorts {
		if !hasPortsToChange(o.Proto) {
			return 0, xtables.BadParameter("Need TCP, UDP, SCTP or DCCP with port specification")
		}
		if base, err = p.parsePorts(ports); err != nil || len(addrs) == 0 {
			return base, err
		}
	}
	return base, p.parseAddrs(addrs, o.Family)
}

// hasPortsToChange says whether the tools take ports for the protocol.
func hasPortsToChange(proto xtables.ProtoMatch) bool {
	switch proto.Number {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoSCTP, libc.ProtoDCCP, libc.ProtoICMP:
		return true
	}
	return false
}

// splitAddrPort parts the addresses from the ports. IPv6 addresses with ports stand in brackets; without, more than one
// colon makes an IPv6 address.
func splitAddrPort(s []byte, f netfilter.Family) (addrs, ports []byte, hasPorts bool, err error) {
	open := bytes.IndexByte(s, '[')
	if open < 0 {
		if bytes.Count(s, []byte(":")) != 1 {
			return s, nil, false, nil
		}
		addrs, ports, hasPorts = bytes.Cut(s, []byte(":"))
		return addrs, ports, hasPorts, nil
	}
	length := bytes.IndexByte(s[open:], ']')
	if length < 0 || f == netfilter.IPv4 {
		return nil, nil, false, xtables.BadParameter("Invalid address format")
	}
	_, ports, hasPorts = bytes.Cut(s[open+length+1:], []byte(":"))
	return s[open+1 : open+length], ports, hasPorts, nil
}

func (p *natParser) parseAddrs(s []byte, f netfilter.Family) error {
	first, last, dash := bytes.Cut(s, []byte("-"))
	var ok bool
	if p.r.MinAddr, ok = libc.InetPton(first, xtables.FactsOf(f).Bits); !ok {
		return xtables.BadParameter("Bad IP address \"%s\"", first)
	}
	p.r.MaxAddr = p.r.MinAddr
	if dash {
		if p.r.MaxAddr, ok = libc.InetPton(last, xtables.FactsOf(f).Bits); !ok {
			return xtables.BadParameter("Bad IP address \"%s\"", last)
		}
	}
	return nil
}

// parsePorts reads "PORT[-PORT[/BASE]]".
func (p *natParser) parsePorts(s []byte) (base uint16, err error) {
	low, rest, ok := natPort(s)
	switch {
	case !ok:
		return 0, badNATPort(s)
	case len(rest) > 0 && rest[0] == ':':
		return 0, xtables.BadParameter("Invalid port:port syntax - use dash")
	case len(rest) > 0 && rest[0] != '-':
		return 0, xtables.BadParameter("Garbage after port value: `%s'", rest)
	}
	p.r.MinPort, p.r.MaxPort, p.r.HasPorts = low, low, true
	if len(rest) == 0 {
		return 0, nil
	}
	last := rest[1:]
	high, rest, ok := libc.CutNumber(last)
	switch {
	case !ok || high > math.MaxUint16:
		return 0, badNATPort(last)
	case high < uint64(low):
		return 0, xtables.BadParameter("Port range `%s' funky", last)
	case len(rest) > 0 && rest[0] != '/':
		return 0, xtables.BadParameter("Garbage after port range: `%s'", rest)
	}
	p.r.MaxPort = uint16(high)
	if len(rest) == 0 {
		return 0, nil
	}
	if base, _, ok = natPort(rest[1:]); !ok || base == 0 {
		return 0, badNATPort(rest[1:])
	}
	return base, nil
}

func badNATPort(s []byte) error { return xtables.BadParameter("Port `%s' not valid", s) }

// natPort reads the number that s begins with, or the name of a service that is all of it.
func natPort(s []byte) (port uint16, rest []byte, ok bool) {
	if n, rest, ok := libc.CutNumber(s); ok && n <= math.MaxUint16 {
		return uint16(n), rest, true
	}
	port, ok = libc.Service(s, 0)
	return port, nil, ok
}

// natParser is what the parsers of the NAT targets share.
type natParser struct {
	r        netfilter.NATRange
	basePort uint16
}

func (p *natParser) Begin(netfilter.Family) { *p = natParser{} }

// Option reads --to-ports and the flags.
func (p *natParser) Option(o *xtables.OptionCall) error {
	if o.Name == "to-ports" {
		return p.toPorts(o)
	}
	p.flag(o.Name)
	return nil
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
func (p *natParser) toPorts(o *xtables.OptionCall) error {
	if !hasPortsToChange(o.Proto) {
		return xtables.BadParameter("Need TCP, UDP, SCTP or DCCP with port specification")
	}
	var err error
	p.basePort, err = p.parsePorts(o.Arg)
	p.r.Shifted = p.basePort != 0
	return err
}
