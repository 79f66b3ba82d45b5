package fakeipt

import (
	"bytes"
	"strconv"
)

// MatchMark is -m mark: the packet's mark under Mask is Value.
type MatchMark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "mark".
func (*MatchMark) Name() string { return "mark" }

func (m *MatchMark) appendSave(dst []byte, _ Family, _ Dialect) []byte {
	return appendMark(appendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *MatchMark) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " mark match"...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return appendMark(dst, m.Value, m.Mask)
}

// parseMark reads "VALUE[/MASK]" of an option.
func parseMark(o *optionCall, ext string) (value, mask uint32, err error) {
	first, second, slash := bytes.Cut(o.arg, []byte("/"))
	v, err := strconv.ParseUint(string(first), 0, 32)
	if err != nil {
		return 0, 0, o.badInteger(ext)
	}
	if !slash {
		return uint32(v), 0xffffffff, nil
	}
	m, err := strconv.ParseUint(string(second), 0, 32)
	if err != nil {
		return 0, 0, o.badInteger(ext)
	}
	return uint32(v), uint32(m), nil
}

var markMatchExtension = &extension{
	name:     "mark",
	options:  []optionSpec{{name: "mark", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &markMatchParser{} },
}

type markMatchParser struct {
	m     MatchMark
	arena arena[MatchMark]
}

func (p *markMatchParser) begin(Family) { p.m = MatchMark{} }

func (p *markMatchParser) option(o *optionCall) (err error) {
	p.m.Value, p.m.Mask, err = parseMark(o, "mark")
	p.m.Invert = o.invert
	return err
}

func (p *markMatchParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
