package fakeipt

import (
	"fmt"
	"syscall"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MatchConnlabel is -m connlabel: the connection has a label, which Set gives it.
type MatchConnlabel struct {
	Label  uint16
	Invert bool
	Set    bool
}

// Name is "connlabel".
func (*MatchConnlabel) Name() string { return "connlabel" }

func (m *MatchConnlabel) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	dst = fmt.Appendf(appendOption(dst, "--label", m.Invert), " \"%d\"", m.Label)
	return appendFlags(dst, " ", flagWord{"--set", m.Set})
}

func (m *MatchConnlabel) appendList(dst []byte, _ listStyle) []byte {
	return appendFlags(fmt.Appendf(appendAfter(dst, "connlabel", m.Invert), " %d", m.Label), " ", flagWord{"set", m.Set})
}

// compared is any label: the tools compare nothing of the match, as with -m helper.
func (*MatchConnlabel) compared() any { return &MatchConnlabel{} }

// connlabels is the number of labels that a connection has.
const connlabels = 128

func (m *MatchConnlabel) check(c *checkContext) syscall.Errno {
	if m.Label >= connlabels {
		return syscall.ERANGE
	}
	c.namespace.AddLabels()
	return 0
}

// noLabelNames is what the tools say when they look for the name of a label.
const noLabelNames = "Warning: cannot open /etc/xtables/connlabel.conf: No such file or directory\n"

// labels is the number of labels in a rule: a tool looks for the name of each when it prints the rule.
func (r *Rule) labels() int {
	n := 0
	for _, m := range r.Matches {
		if _, is := m.(*MatchConnlabel); is {
			n++
		}
	}
	return n
}

var connlabelExtension = &extension{
	name:     "connlabel",
	options:  []optionSpec{{name: "label", invert: true, mandatory: true}, {name: "set", flag: true}},
	newMatch: func() matchParser { return &connlabelParser{} },
}

type connlabelParser struct {
	m     MatchConnlabel
	arena arena[MatchConnlabel]
}

func (p *connlabelParser) begin(netfilter.Family) { p.m = MatchConnlabel{} }

// option: names of labels are in a file that is not looked for here.
func (p *connlabelParser) option(o *optionCall) error {
	if o.name == "set" {
		p.m.Set = true
		return nil
	}
	if err := wantText(o); err != nil {
		return err
	}
	// The tool keeps 32 bits with a sign, and the kernel's struct 16 of them.
	n, ok := libc.WholeSigned(o.arg)
	if !ok || int32(n) < 0 {
		o.warn(noLabelNames)
		return badParameter("label '%s' not found or invalid value", o.arg)
	}
	p.m.Label, p.m.Invert = uint16(n), o.invert
	return nil
}

func (p *connlabelParser) finish(uint32) (Match, error) { return p.arena.intern(p.m), nil }
