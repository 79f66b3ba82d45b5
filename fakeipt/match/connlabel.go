package match

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Connlabel is -m connlabel: the connection has a label, which Set gives it.
type Connlabel struct {
	Label  uint16
	Invert bool
	Set    bool
}

// Name is "connlabel".
func (*Connlabel) Name() string { return "connlabel" }

func (m *Connlabel) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = fmt.Appendf(xtables.AppendOption(dst, "--label", m.Invert), " \"%d\"", m.Label)
	return xtables.AppendFlags(dst, " ", xtables.WordIf("--set", m.Set))
}

func (m *Connlabel) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return xtables.AppendFlags(fmt.Appendf(xtables.AppendAfter(dst, "connlabel", m.Invert), " %d", m.Label), " ", xtables.WordIf("set", m.Set))
}

// Compared is any label: the tools compare nothing of the match, as with -m helper.
func (*Connlabel) Compared() any { return &Connlabel{} }

// connlabels is the number of labels that a connection has.
const connlabels = 128

func (m *Connlabel) Check(c *xtables.CheckContext) syscall.Errno {
	if m.Label >= connlabels {
		return syscall.ERANGE
	}
	c.Namespace.AddLabels()
	return 0
}

// NoLabelNames is what the tools say when they look for the name of a label.
const NoLabelNames = "Warning: cannot open /etc/xtables/connlabel.conf: No such file or directory\n"

// Labels is the number of labels in a rule: a tool looks for the name of each when it prints the rule.
func Labels(r *xtables.Rule) int {
	n := 0
	for _, m := range r.Matches {
		if _, is := m.(*Connlabel); is {
			n++
		}
	}
	return n
}

var connlabelExtension = &xtables.Extension{
	Name:     "connlabel",
	Options:  []xtables.Option{{Name: "label", Invert: true, Mandatory: true}, {Name: "set", Flag: true}},
	NewMatch: func() xtables.MatchParser { return &connlabelParser{} },
}

type connlabelParser struct {
	m     Connlabel
	arena xtables.Arena[Connlabel]
}

func (p *connlabelParser) Begin(netfilter.Family) { p.m = Connlabel{} }

// Option: names of labels are in a file that is not looked for here.
func (p *connlabelParser) Option(o *xtables.OptionCall) error {
	if o.Name == "set" {
		p.m.Set = true
		return nil
	}
	if err := xtables.WantText(o); err != nil {
		return err
	}
	// The tool keeps 32 bits with a sign, and the kernel's struct 16 of them.
	n, ok := libc.WholeSigned(o.Arg)
	if !ok || int32(n) < 0 {
		o.Warn(NoLabelNames)
		return xtables.BadParameter("label '%s' not found or invalid value", o.Arg)
	}
	p.m.Label, p.m.Invert = uint16(n), o.Invert
	return nil
}

func (p *connlabelParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
