package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Redirect is -j REDIRECT. Its range has no addresses.
type Redirect struct {
	Range netfilter.NATRange
}

// Name is "REDIRECT".
func (*Redirect) Name() string { return "REDIRECT" }

func (t *Redirect) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATToPorts(dst, &t.Range, " --to-ports ", " --")
}

func (t *Redirect) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return appendNATToPorts(dst, &t.Range, " redir ports ", " ")
}

func (t *Redirect) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("nat") }

func (t *Redirect) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPrerouting | xtables.HookOutput
}

func (t *Redirect) AddFact(f *netfilter.Fact) {
	xtables.AddTranslation(f, &t.Range, netfilter.Redirect, netfilter.Destination)
}

var redirectExtension = &xtables.Extension{
	Name:      "REDIRECT",
	Options:   []xtables.Option{{Name: "to-ports"}, {Name: "random", Flag: true}},
	NewTarget: func() xtables.TargetParser { return &redirectParser{} },
}

type redirectParser struct {
	natParser
	arena xtables.Arena[Redirect]
}

func (p *redirectParser) Finish(uint32) (xtables.Target, error) {
	if p.basePort != 0 {
		return nil, xtables.BadParameter("Shifted portmap ranges not supported with this kernel")
	}
	return p.arena.Intern(Redirect{Range: p.r}), nil
}
