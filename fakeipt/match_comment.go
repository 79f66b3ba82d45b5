package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// MatchComment is -m comment. It matches every packet.
type MatchComment struct {
	Text string
}

// Name is "comment".
func (*MatchComment) Name() string { return "comment" }

func (m *MatchComment) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendQuoted(append(dst, " --comment"...), m.Text)
}

func (m *MatchComment) appendList(dst []byte, _ listStyle) []byte {
	dst = append(dst, " /* "...)
	return append(append(dst, m.Text...), " */"...)
}

// maxComment is the number of bytes of a comment that the kernel keeps; the tool cuts the rest off.
const maxComment = 255

func (m *MatchComment) addFact(f *netfilter.Fact) {
	switch {
	case m.Text == "":
		addOther(&f.Conditions, m.Name()) // a rule with it has a condition, though it says nothing
	case f.Comment == "":
		f.Comment = m.Text
	default:
		f.Comment += " " + m.Text
	}
}

var commentExtension = &extension{
	name:     "comment",
	options:  []optionSpec{{name: "comment", mandatory: true}},
	newMatch: func() matchParser { return &commentParser{texts: map[string]*MatchComment{}} },
}

type commentParser struct {
	m     *MatchComment
	texts map[string]*MatchComment
	slab  slab[MatchComment]
}

func (p *commentParser) begin(netfilter.Family) { p.m = nil }

func (p *commentParser) option(o *optionCall) error {
	text := o.arg[:min(len(o.arg), maxComment)]
	p.m = p.texts[string(text)]
	if p.m == nil {
		p.m = p.slab.alloc()
		p.m.Text = string(text)
		p.texts[p.m.Text] = p.m
	}
	return nil
}

func (p *commentParser) finish(uint32) (Match, error) { return p.m, nil }
