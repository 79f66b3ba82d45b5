package match

import (
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Comment is -m comment. It matches every packet.
type Comment struct {
	Text string
}

// Name is "comment".
func (*Comment) Name() string { return "comment" }

func (m *Comment) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return xtables.AppendQuoted(append(dst, " --comment"...), m.Text)
}

func (m *Comment) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	dst = append(dst, " /* "...)
	return append(append(dst, m.Text...), " */"...)
}

// maxComment is the number of bytes of a comment that the kernel keeps; the tool cuts the rest off.
const maxComment = 255

func (m *Comment) AddFact(f *netfilter.Fact) {
	switch {
	case m.Text == "":
		xtables.AddOther(&f.Conditions, m.Name()) // a rule with it has a condition, though it says nothing
	case f.Comment == "":
		f.Comment = m.Text
	default:
		f.Comment += " " + m.Text
	}
}

var commentExtension = &xtables.Extension{
	Name:     "comment",
	Options:  []xtables.Option{{Name: "comment", Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &commentParser{texts: map[string]*Comment{}} },
}

type commentParser struct {
	m     *Comment
	texts map[string]*Comment
	slab  xtables.Slab[Comment]
}

func (p *commentParser) Begin(netfilter.Family) { p.m = nil }

func (p *commentParser) Option(o *xtables.OptionCall) error {
	text := o.Arg[:min(len(o.Arg), maxComment)]
	p.m = p.texts[string(text)]
	if p.m == nil {
		p.m = p.slab.Alloc()
		p.m.Text = string(text)
		p.texts[p.m.Text] = p.m
	}
	return nil
}

func (p *commentParser) Finish(uint32) (xtables.Match, error) { return p.m, nil }
