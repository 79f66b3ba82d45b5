package fakeipt

import (
	"math"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
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
	v, rest, ok := libc.CutNumber(o.arg)
	if !ok || v > math.MaxUint32 {
		return 0, 0, o.badInteger(ext)
	}
	m := uint64(math.MaxUint32)
	if len(rest) > 0 && rest[0] == '/' {
		if m, rest, ok = libc.CutNumber(rest[1:]); !ok || m > math.MaxUint32 {
			return 0, 0, o.badInteger(ext)
		}
	}
	if len(rest) > 0 {
		return 0, 0, badParameter("%s: trailing garbage after value for option \"--%s\".\n", ext, o.name)
	}
	return uint32(v), uint32(m), nil
}

var markMatchExtension = &extension{
	name:     "mark",
	options:  markMatchOptions,
	newMatch: func() matchParser { return &markMatchParser[MatchMark, *MatchMark]{ext: "mark"} },
}

// markMatchOptions are those of -m mark and -m connmark.
var markMatchOptions = []optionSpec{{name: "mark", invert: true, mandatory: true}}

// markMatchParser is the parser of -m mark and -m connmark.
type markMatchParser[M MatchMark | MatchConnmark, P interface {
	*M
	Match
}] struct {
	ext   string
	m     M
	arena arena[M]
}

func (p *markMatchParser[M, P]) begin(Family) { p.m = M{} }

func (p *markMatchParser[M, P]) option(o *optionCall) error {
	value, mask, err := parseMark(o, p.ext)
	p.m = M(MatchMark{Value: value, Mask: mask, Invert: o.invert})
	return err
}

func (p *markMatchParser[M, P]) finish(uint32) (Match, error) { return P(p.arena.intern(p.m)), nil }
