package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Mark is -m mark: the packet's mark under Mask is Value.
type Mark struct {
	Value, Mask uint32
	Invert      bool
}

// Name is "mark".
func (*Mark) Name() string { return "mark" }

func (m *Mark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendMark(xtables.AppendOption(dst, "--mark", m.Invert), m.Value, m.Mask)
}

func (m *Mark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " mark match"...)
	if m.Invert {
		dst = append(dst, " !"...)
	}
	return xtables.AppendMark(dst, m.Value, m.Mask)
}

var markExtension = &xtables.Extension{
	Name:     "mark",
	Options:  markMatchOptions,
	NewMatch: func() xtables.MatchParser { return &markParser[Mark, *Mark]{} },
}

// markMatchOptions are the options of -m mark and -m connmark.
var markMatchOptions = []xtables.Option{{Name: "mark", Invert: true, Mandatory: true}}

// markParser is the parser of -m mark and -m connmark.
type markParser[M Mark | Connmark, P interface {
	*M
	xtables.Match
}] struct {
	m     M
	arena xtables.Arena[M]
}

func (p *markParser[M, P]) Begin(netfilter.Family) { p.m = M{} }

func (p *markParser[M, P]) Option(o *xtables.OptionCall) error {
	value, mask, err := o.Mark()
	p.m = M(Mark{Value: value, Mask: mask, Invert: o.Invert})
	return err
}

func (p *markParser[M, P]) Finish(uint32) (xtables.Match, error) { return P(p.arena.Intern(p.m)), nil }
