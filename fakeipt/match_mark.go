package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchMark is -m mark: the packet's mark under Mask is Value.
type MatchMark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "mark".
func (*MatchMark) Name() string { return "mark" }

func (m *MatchMark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendMark(appendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *MatchMark) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " mark match"...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return appendMark(dst, m.Value, m.Mask)
}

var markMatchExtension = &extension{
	name:     "mark",
	options:  markMatchOptions,
	newMatch: func() matchParser { return &markMatchParser[MatchMark, *MatchMark]{} },
}

// markMatchOptions are those of -m mark and -m connmark.
var markMatchOptions = []optionSpec{{name: "mark", invert: true, mandatory: true}}

// markMatchParser is the parser of -m mark and -m connmark.
type markMatchParser[M MatchMark | MatchConnmark, P interface {
	*M
	Match
}] struct {
	m     M
	arena arena[M]
}

func (p *markMatchParser[M, P]) begin(netfilter.Family) { p.m = M{} }

func (p *markMatchParser[M, P]) option(o *optionCall) error {
	value, mask, err := o.mark()
	p.m = M(MatchMark{Value: value, Mask: mask, Invert: o.invert})
	return err
}

func (p *markMatchParser[M, P]) finish(uint32) (Match, error) { return P(p.arena.intern(p.m)), nil }
