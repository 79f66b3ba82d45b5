package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Connsecmark is -j CONNSECMARK: the security mark goes from the packet to its connection, or with Restore back.
type Connsecmark struct {
	Restore bool
}

// Name is "CONNSECMARK".
func (*Connsecmark) Name() string { return "CONNSECMARK" }

func (t *Connsecmark) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --"...), t.word()...)
}

func (t *Connsecmark) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return append(append(dst, " CONNSECMARK "...), t.word()...)
}

func (t *Connsecmark) word() string {
	if t.Restore {
		return "restore"
	}
	return "save"
}

func (*Connsecmark) Check(c *xtables.CheckContext) syscall.Errno { return c.WantSecurityTable() }

var connsecmarkExtension = &xtables.Extension{
	Name: "CONNSECMARK",
	Options: []xtables.Option{
		{Name: "save", Flag: true, Excludes: 1 << 1}, {Name: "restore", Flag: true, Excludes: 1 << 0},
	},
	NewTarget: func() xtables.TargetParser { return &connsecmarkParser{} },
}

type connsecmarkParser struct {
	t     Connsecmark
	arena xtables.Arena[Connsecmark]
}

func (p *connsecmarkParser) Begin(netfilter.Family) { p.t = Connsecmark{} }

func (p *connsecmarkParser) Option(o *xtables.OptionCall) error {
	p.t.Restore = o.Name == "restore"
	return nil
}

func (p *connsecmarkParser) Finish(seen uint32) (xtables.Target, error) {
	if seen == 0 {
		return nil, xtables.BadParameter("CONNSECMARK target: parameter required")
	}
	return p.arena.Intern(p.t), nil
}
