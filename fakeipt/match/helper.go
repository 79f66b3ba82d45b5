package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Helper is -m helper: the connection, or the one that it is RELATED to, has a helper.
type Helper struct {
	Helper string // the helper's name; "" is any
	Invert bool
}

// Name is "helper".
func (*Helper) Name() string { return "helper" }

func (m *Helper) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendQuoted(xtables.AppendOption(dst, "--helper", m.Invert), m.Helper)
}

func (m *Helper) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(append(xtables.AppendAfter(dst, "helper match", m.Invert), ` "`...), m.Helper...), '"')
}

// Compared is any helper: the tools compare nothing of the match, so that -C and -D take a rule with another helper, or with "!", for the
// one that is asked for.
func (*Helper) Compared() any { return &Helper{} }

// maxMatchHelper is the length of a name that the kernel keeps; the tool cuts the rest off.
const maxMatchHelper = 29

var helperExtension = &xtables.Extension{
	Name:     "helper",
	Options:  []xtables.Option{{Name: "helper", Invert: true, Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &helperParser{} },
}

type helperParser struct {
	m     Helper
	arena xtables.Arena[Helper]
}

func (p *helperParser) Begin(netfilter.Family) { p.m = Helper{} }

func (p *helperParser) Option(o *xtables.OptionCall) error {
	p.m = Helper{Helper: string(o.Arg[:min(len(o.Arg), maxMatchHelper)]), Invert: o.Invert}
	return nil
}

func (p *helperParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
