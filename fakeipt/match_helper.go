package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchHelper is -m helper: the connection, or the one that it is RELATED to, has a helper.
type MatchHelper struct {
	Helper string // the helper's name; "" is any
	Invert bool
}

// Name is "helper".
func (*MatchHelper) Name() string { return "helper" }

func (m *MatchHelper) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendQuoted(appendOption(dst, "--helper", m.Invert), m.Helper)
}

func (m *MatchHelper) appendList(dst []byte, _ listStyle) []byte {
	return append(append(append(appendAfter(dst, "helper match", m.Invert), ` "`...), m.Helper...), '"')
}

// compared is any helper: the tools compare nothing of the match, so that -C and -D take a rule with another helper, or with "!", for the
// one that is asked for.
func (*MatchHelper) compared() any { return &MatchHelper{} }

// maxMatchHelper is the length of a name that the kernel keeps; the tool cuts the rest off.
const maxMatchHelper = 29

var helperExtension = &extension{
	name:     "helper",
	options:  []optionSpec{{name: "helper", invert: true, mandatory: true}},
	newMatch: func() matchParser { return &helperParser{} },
}

type helperParser struct {
	m     MatchHelper
	arena arena[MatchHelper]
}

func (p *helperParser) begin(netfilter.Family) { p.m = MatchHelper{} }

func (p *helperParser) option(o *optionCall) error {
	p.m = MatchHelper{Helper: string(o.arg[:min(len(o.arg), maxMatchHelper)]), Invert: o.invert}
	return nil
}

func (p *helperParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
