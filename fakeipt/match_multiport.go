package fakeipt

import (
	"bytes"
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
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

func (m *MatchMultiport) appendSave(dst []byte, _ Family, _ Dialect) []byte {
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

func (p *multiportParser) begin(Family) { p.m, p.given = MatchMultiport{}, false }

func (p *multiportParser) option(o *optionCall) error {
	if o.proto.Invert {
		return badParameter("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP")
	}
	switch o.proto.Number {
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
	return p.ports(o.arg, o.proto.Number)
}

func (p *multiportParser) ports(arg []byte, proto uint8) error {
	places := 0
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		if i := bytes.IndexByte(word, ':'); i == 0 || i >= 0 && i == len(word)-1 {
			return badParameter("invalid port/service `' specified")
		}
		r, err := parsePortRange(word, proto)
		switch {
		case errors.Is(err, errPortRange):
			return badParameter("invalid portrange specified")
		case err != nil:
			return err
		}
		places++
		if bytes.IndexByte(word, ':') >= 0 {
			places++
		}
		if places > maxMultiport {
			return badParameter("too many ports specified")
		}
		p.m.Ports = append(p.m.Ports, r)
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
