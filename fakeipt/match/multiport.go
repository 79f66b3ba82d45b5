package match

import (
	"bytes"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
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

// Multiport is -m multiport: a port in any of the ranges.
type Multiport struct {
	Side   MultiportSide
	Ports  []xtables.PortRange
	Invert bool
}

// Name is "multiport".
func (*Multiport) Name() string { return "multiport" }

func (m *Multiport) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = append(xtables.AppendOption(dst, [...]string{"--sports", "--dports", "--ports"}[m.Side], m.Invert), ' ')
	return m.appendPorts(dst, xtables.ListStyle{Numeric: true})
}

func (m *Multiport) AppendList(dst []byte, style xtables.ListStyle) []byte {
	dst = append(append(dst, " multiport "...), [...]string{"sports ", "dports ", "ports "}[m.Side]...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return m.appendPorts(dst, style)
}

func (m *Multiport) appendPorts(dst []byte, style xtables.ListStyle) []byte {
	for i, r := range m.Ports {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.AppendList(dst, style)
	}
	return dst
}

var multiportExtension = &xtables.Extension{
	Name: "multiport",
	Options: []xtables.Option{
		{Name: "source-ports", Invert: true, Excludes: 1<<1 | 1<<2},
		{Name: "destination-ports", Invert: true, Excludes: 1<<0 | 1<<2},
		{Name: "ports", Invert: true, Excludes: 1<<0 | 1<<1},
		{Name: "sports", AliasOf: "source-ports"},
		{Name: "dports", AliasOf: "destination-ports"},
	},
	NewMatch: func() xtables.MatchParser { return &multiportParser{} },
}

type multiportParser struct {
	m     Multiport
	given bool
}

// maxMultiport is the number of ports that one match can hold; a range counts as two.
const maxMultiport = 15

func (p *multiportParser) Begin(netfilter.Family) { p.m, p.given = Multiport{}, false }

func (p *multiportParser) Option(o *xtables.OptionCall) error {
	if o.Proto.Invert {
		return xtables.BadParameter("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP")
	}
	proto := uint16(uint8(o.Proto.Number)) // the tool looks at 8 bits
	switch proto {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoUDPLite, libc.ProtoSCTP, libc.ProtoDCCP:
	default:
		if o.Proto.Number != 0 {
			return xtables.BadParameter("multiport only works with TCP, UDP, UDPLITE, SCTP and DCCP")
		}
		return xtables.BadParameter("multiport needs `-p tcp', `-p udp', `-p udplite', `-p sctp' or `-p dccp'")
	}
	p.given = true
	p.m.Invert = o.Invert
	p.m.Ports = nil
	switch o.Name {
	case "source-ports":
		p.m.Side = MultiportSource
	case "destination-ports":
		p.m.Side = MultiportDest
	default:
		p.m.Side = MultiportEither
	}
	return p.ports(o.Arg, proto)
}

// ports reads ports and ranges one after the other, as far as there is room.
func (p *multiportParser) ports(arg []byte, proto uint16) error {
	places := 0
	for word := range bytes.SplitSeq(arg, []byte(",")) {
		first, last, isRange := bytes.Cut(word, []byte(":"))
		if places++; places > maxMultiport || isRange && places == maxMultiport {
			return xtables.BadParameter("too many ports specified")
		}
		low, err := xtables.ParsePort(first, proto)
		if err != nil {
			return err
		}
		high := low
		if isRange {
			places++
			if high, err = xtables.ParsePort(last, proto); err != nil {
				return err
			}
			if low >= high {
				return xtables.BadParameter("invalid portrange specified")
			}
		}
		p.m.Ports = append(p.m.Ports, xtables.PortRange{Min: low, Max: high})
	}
	return nil
}

func (p *multiportParser) Finish(uint32) (xtables.Match, error) {
	if !p.given {
		return nil, xtables.BadParameter("multiport expection an option")
	}
	m := p.m
	m.Ports = slices.Clip(m.Ports)
	return &m, nil
}
