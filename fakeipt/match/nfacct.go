package match

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// NFAcct is -m nfacct: it counts the packet in a named object and matches always.
type NFAcct struct {
	Object string
}

// Name is "nfacct".
func (*NFAcct) Name() string { return "nfacct" }

// AppendSave prints two spaces before the name, as the real tool does.
func (m *NFAcct) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return append(append(dst, " --nfacct-name  "...), m.Object...)
}

func (m *NFAcct) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return xtables.AppendQuoted(append(dst, " nfacct-name "...), m.Object)
}

func (m *NFAcct) Check(c *xtables.CheckContext) syscall.Errno {
	if _, ok := c.Namespace.Accounts().Get(m.Object); !ok {
		return syscall.ENOENT
	}
	return 0
}

func (m *NFAcct) AddFact(f *netfilter.Fact) {
	xtables.AddOther(&f.Conditions, m.Name())
	f.Memories = append(f.Memories, netfilter.Memory{Kind: netfilter.Accounting, Name: m.Object, Writes: true})
}

var nfacctExtension = &xtables.Extension{
	Name:     "nfacct",
	Options:  []xtables.Option{{Name: "nfacct-name", Mandatory: true}},
	NewMatch: func() xtables.MatchParser { return &nfacctParser{} },
}

type nfacctParser struct {
	m     NFAcct
	arena xtables.Arena[NFAcct]
}

func (p *nfacctParser) Begin(netfilter.Family) { p.m = NFAcct{} }

func (p *nfacctParser) Option(o *xtables.OptionCall) error {
	if err := xtables.WantLine(o); err != nil {
		return err
	}
	p.m.Object = string(o.Arg[:min(len(o.Arg), nfacct.MaxName)])
	return nil
}

func (p *nfacctParser) Finish(uint32) (xtables.Match, error) { return p.arena.Intern(p.m), nil }
