package match

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Length is -m length: the length of the packet with its IP header (of an IPv6
// packet: with its header of 40 bytes).
type Length struct {
	Min, Max uint16
	Invert   bool
}

// Name is "length".
func (*Length) Name() string { return "length" }

func (m *Length) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendRange(append(xtables.AppendOption(dst, "--length", m.Invert), ' '))
}

func (m *Length) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return m.appendRange(append(append(dst, " length "...), xtables.Bang(m.Invert)...))
}

func (m *Length) appendRange(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(m.Min), 10)
	if m.Min != m.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(m.Max), 10)
	}
	return dst
}

var lengthExtension = &xtables.Extension{
	Name:     "length",
	Options:  []xtables.Option{{Name: "length", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &lengthParser{} },
}

type lengthParser struct {
	m     Length
	arena xtables.Arena[Length]
}

func (p *lengthParser) Begin(netfilter.Family) { p.m = Length{} }

func (p *lengthParser) Option(o *xtables.OptionCall) error {
	low, high, err := o.Numbers(math.MaxUint16)
	p.m = Length{Min: uint16(low), Max: uint16(high), Invert: o.Invert}
	return err
}

func (p *lengthParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
