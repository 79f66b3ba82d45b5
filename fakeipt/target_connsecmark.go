package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetConnsecmark is -j CONNSECMARK: the security mark goes from the packet to its connection, or with Restore back.
type TargetConnsecmark struct {
	Restore bool
}

// Name is "CONNSECMARK".
func (*TargetConnsecmark) Name() string { return "CONNSECMARK" }

func (t *TargetConnsecmark) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --"...), t.word()...)
}

func (t *TargetConnsecmark) appendList(dst []byte, _ listStyle) []byte {
	return append(append(dst, " CONNSECMARK "...), t.word()...)
}

func (t *TargetConnsecmark) word() string {
	if t.Restore {
		return "restore"
	}
	return "save"
}

func (*TargetConnsecmark) check(c *checkContext) syscall.Errno { return c.wantSecurityTable() }

// wantSecurityTable is the kernel's check of targets about security marks.
func (c *checkContext) wantSecurityTable() syscall.Errno {
	if c.table.name != "mangle" {
		return c.wantTable("security")
	}
	return 0
}

var connsecmarkExtension = &extension{
	name: "CONNSECMARK",
	options: []optionSpec{
		{name: "save", flag: true, excludes: 1 << 1}, {name: "restore", flag: true, excludes: 1 << 0},
	},
	newTarget: func() targetParser { return &connsecmarkParser{} },
}

type connsecmarkParser struct {
	t     TargetConnsecmark
	arena arena[TargetConnsecmark]
}

func (p *connsecmarkParser) begin(netfilter.Family) { p.t = TargetConnsecmark{} }

func (p *connsecmarkParser) option(o *optionCall) error {
	p.t.Restore = o.name == "restore"
	return nil
}

func (p *connsecmarkParser) finish(seen uint32) (Target, error) {
	if seen == 0 {
		return nil, badParameter("CONNSECMARK target: parameter required")
	}
	return p.arena.intern(p.t), nil
}
