package fakeipt

import (
	"bytes"
	"slices"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MultiportSide is the port that -m multiport looks at.
type MultiportSide uint8

// The sides: --sports, --dports and --ports.
const (
	MultiportSource MultiportSide = iota
	MultiportDest
	MultiportEither
)

// MatchMultiport is -m multiport: a port in any of the ranges.
type MatchMultiport struct {
	Side   MultiportSide
	Ports  []PortRange
	Invert bool
}

// Name is "multiport".
func (*MatchMultiport) Name() string { return "multiport" }

func (m *MatchMultiport) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = append(appendOption(dst, [...]string{"--sports", "--dports", "--ports"}[m.Side], m.Invert), ' ')
	return m.appendPorts(dst, listStyle{numeric: true})
}

func (m *MatchMultiport) appendList(dst []byte, style listStyle) []byte {
	dst = append(append(dst, " multiport "...), [...]string{"sports ", "dports ", "ports "}[m.Side]...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return m.appendPorts(dst, style)
}

func (m *MatchMultiport) appendPorts(dst []byte, style listStyle) []byte {
	for i, r := range m.Ports {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.appendList(dst, style)
	}
	return dst
}

var multiportExtension = &extension{
	name: "multiport",
	options: []optionSpec{
		{name: "source-ports", invert: true, excludes: 1<<1 | 1<<2},
		{name: "destination-ports", invert: true, excludes: 1<<0 | 1<<2},
		{name: "ports", invert: true, excludes: 1<<0 | 1<<1},
		{name: "sports", aliasOf: "source-ports"},
		{name: "dports", aliasOf: "destination-ports"},
	},
	newMatch: func() matchParser { return &multiportParser{} },
}

type multiportParser struct {
	m     MatchMultiport
	given bool
}

// maxMultiport is the number of ports that one match can hold; a range counts as two.
const maxMultiport = 15

func (p *multiportParser) begin(netfilter.Family) { p.m, p.given = MatchMultiport{}, false }

func (p *multiportParser) option(o *optionCall) error {
	if o.proto.Invert {
		return badParameter("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP")
	}
	proto := uint16(uint8(o.proto.Number)) // the tool looks at 8 bits
	switch proto {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoUDPLite, libc.ProtoSCTP, libc.ProtoDCCP:
	default:
		if o.proto.Number != 0 {
			return badParameter("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP")
		}
		return badParameter("multiport needs `-p tcp', `-p udp', `-p udplite', `-p sctp' or `-p dccp'")
	}
	p.given = true
	p.m.Invert = o.invert
	p.m.Ports = nil
	switch o.name {
	case "source-ports":
		p.m.Side = MultiportSource
	case "destination-ports":
		p.m.Side = MultiportDest
	default:
		p.m.Side = MultiportEither
	}
	return p.ports(o.arg, proto)
}

// ports reads ports and ranges one after the other, as far as there is room.
func (p *multiportParser) ports(arg []byte, proto uint16) error {
	places := 0
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		first, last, isRange := bytes.Cut(word, []byte(":"))
		if places++; places > maxMultiport || isRange && places == maxMultiport {
			return badParameter("too many ports specified")
		}
		low, err := parsePort(first, proto)
		if err != nil {
			return err
		}
		high := low
		if isRange {
			places++
			if high, err = parsePort(last, proto); err != nil {
				return err
			}
			if low >= high {
				return badParameter("invalid portrange specified")
			}
		}
		p.m.Ports = append(p.m.Ports, PortRange{low, high})
	}
	return nil
}

func (p *multiportParser) finish(uint32) (Match, error) {
	if !p.given {
		return nil, badParameter("multiport expection an option")
	}
	m := p.m
	m.Ports = slices.Clip(m.Ports)
	return &m, nil
}
