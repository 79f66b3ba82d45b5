package fakeipt

import (
	"math"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchLength is -m length: the length of the packet with its IP header (of an IPv6
// packet: with its header of 40 bytes).
type MatchLength struct {
	Min, Max uint16
	Invert   bool
}

// Name is "length".
func (*MatchLength) Name() string { return "length" }

func (m *MatchLength) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return m.appendRange(append(appendOption(dst, "--length", m.Invert), ' '))
}

func (m *MatchLength) appendList(dst []byte, _ listStyle) []byte {
	return m.appendRange(append(append(dst, " length "...), bang(m.Invert)...))
}

func (m *MatchLength) appendRange(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(m.Min), 10)
	if m.Min != m.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(m.Max), 10)
	}
	return dst
}

var lengthExtension = &extension{
	name:     "length",
	options:  []optionSpec{{name: "length", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &lengthParser{} },
}

type lengthParser struct {
	m     MatchLength
	arena arena[MatchLength]
}

func (p *lengthParser) begin(netfilter.Family) { p.m = MatchLength{} }

func (p *lengthParser) option(o *optionCall) error {
	low, high, err := o.numbers(math.MaxUint16)
	p.m = MatchLength{Min: uint16(low), Max: uint16(high), Invert: o.invert}
	return err
}

func (p *lengthParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
