package xtables

import (
	"bytes"
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// PortRange is a range of ports, both ends included. 0 to 65535 is any port.
type PortRange struct {
	Min, Max uint16
}

// AnyPort is the range of a match without that option.
var AnyPort = PortRange{Min: 0, Max: 65535}

// IsAny says whether every port is in the range.
func (r PortRange) IsAny() bool { return r == AnyPort }

// Contains reports whether port is in the range.
func (r PortRange) Contains(port uint16) bool { return r.Min <= port && port <= r.Max }

// ParsePort reads a port number or the name of a service of the protocol; 0 is any protocol.
func ParsePort(s []byte, proto uint16) (uint16, error) {
	n := 0
	digits := len(s) > 0 && len(s) <= 5 && s[0] != '0' // what begins with 0 is octal
	for _, c := range s {
		if c < '0' || c > '9' {
			digits = false
			break
		}
		n = n*10 + int(c-'0')
	}
	if digits && n <= 65535 {
		return uint16(n), nil
	}
	if n, ok := libc.WholeNumber(s, math.MaxUint16); ok {
		return uint16(n), nil
	}
	if port, ok := libc.Service(s, proto); ok {
		return port, nil
	}
	return 0, BadParameter("invalid port/service `%s' specified", s)
}

// errPortRange is a range that ends before it begins.
var errPortRange = BadParameter("invalid portrange (min > max)")

// parsePortRange reads "PORT", "PORT:PORT", "PORT:" or ":PORT".
func parsePortRange(s []byte, proto uint16) (PortRange, error) {
	first, last, colon := bytes.Cut(s, []byte(":"))
	if !colon {
		p, err := ParsePort(s, proto)
		return PortRange{p, p}, err
	}
	r := AnyPort
	var err error
	if len(first) > 0 {
		if r.Min, err = ParsePort(first, proto); err != nil {
			return r, err
		}
	}
	if len(last) > 0 {
		if r.Max, err = ParsePort(last, proto); err != nil {
			return r, err
		}
	}
	if r.Min > r.Max {
		return r, errPortRange
	}
	return r, nil
}

// AppendSave appends the range as iptables-save prints it.
func (r PortRange) AppendSave(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = append(dst, ':')
		dst = strconv.AppendUint(dst, uint64(r.Max), 10)
	}
	return dst
}

// appendPort appends a port for a listing: its number, or the service's name.
func appendPort(dst []byte, port uint16, style ListStyle) []byte {
	if !style.Numeric {
		if name := libc.ServiceName(port, style.proto); name != "" {
			return append(dst, name...)
		}
	}
	return strconv.AppendUint(dst, uint64(port), 10)
}

// AppendList appends the range for a listing.
func (r PortRange) AppendList(dst []byte, style ListStyle) []byte {
	dst = appendPort(dst, r.Min, style)
	if r.Min != r.Max {
		dst = appendPort(append(dst, ':'), r.Max, style)
	}
	return dst
}

// AppendPortOption appends " [!] --OPTION RANGE" where the range says anything.
func AppendPortOption(dst []byte, option string, r PortRange, invert bool) []byte {
	if r.IsAny() {
		return dst
	}
	return r.AppendSave(append(AppendOption(dst, option, invert), ' '))
}

// AppendPortList appends " WORD[s]:[!]RANGE" where the range says anything.
func AppendPortList(dst []byte, word string, r PortRange, invert bool, style ListStyle) []byte {
	if r.IsAny() && (!invert || style.Dialect == netfilter.NFT) {
		return dst
	}
	dst = append(dst, word...)
	if r.Min != r.Max {
		dst = append(dst, 's')
	}
	return r.AppendList(append(append(dst, ':'), Bang(invert)...), style)
}

// PortsGiven knows which port options of tcp, udp and sctp a rule has.
type PortsGiven struct {
	source, destination bool
	Proto               uint16 // of the match
}

// Src reads the option of the source port.
func (g *PortsGiven) Src(o *OptionCall, r *PortRange, invert *bool) error {
	if g.source {
		return BadParameter("Only one `--source-port' allowed")
	}
	return g.parse(o, r, invert, &g.source)
}

// Dst reads the option of the destination port.
func (g *PortsGiven) Dst(o *OptionCall, r *PortRange, invert *bool) error {
	if g.destination {
		return BadParameter("Only one `--destination-port' allowed")
	}
	return g.parse(o, r, invert, &g.destination)
}

func (g *PortsGiven) parse(o *OptionCall, r *PortRange, invert, given *bool) error {
	var err error
	*r, err = parsePortRange(o.Arg, g.Proto)
	*invert, *given = o.Invert, true
	return err
}

// PortOptions are the options about ports of tcp, udp and sctp.
var PortOptions = []Option{
	{Name: "dport", Invert: true, Multi: true},
	{Name: "sport", Invert: true, Multi: true},
	{Name: "destination-port", Invert: true, Multi: true},
	{Name: "source-port", Invert: true, Multi: true},
}

// ResolvedPort reads a port as the C library's resolver does, which cuts great numbers down. No text is port 0.
func ResolvedPort(s []byte) (uint16, error) {
	if len(s) == 0 {
		return 0, nil
	}
	if n, ok := libc.Decimal(s); ok && int32(n) >= 0 {
		return uint16(n), nil
	}
	// It asks for each protocol that has ports, and so finds no service of AppleTalk.
	for _, proto := range []uint16{libc.ProtoTCP, libc.ProtoUDP, libc.ProtoSCTP} {
		if port, ok := libc.Service(s, proto); ok {
			return port, nil
		}
	}
	return 0, BadParameter("Port \"%s\" does not resolve to anything.\n", s)
}
