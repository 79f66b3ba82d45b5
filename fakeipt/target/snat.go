package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// SNAT is -j SNAT.
type SNAT struct {
	Range netfilter.NATRange
}

// Name is "SNAT".
func (*SNAT) Name() string { return "SNAT" }

func (t *SNAT) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATFlags(appendNATAddrPort(append(dst, " --to-source "...), &t.Range), &t.Range, " --")
}

func (t *SNAT) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return appendNATFlags(appendNATAddrPort(append(dst, " to:"...), &t.Range), &t.Range, " ")
}

func (t *SNAT) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("nat") }

func (t *SNAT) AllowedHooks(bool) xtables.HookMask {
	return xtables.HookPostrouting | xtables.HookInput
}

func (t *SNAT) AddFact(f *netfilter.Fact) {
	xtables.AddTranslation(f, &t.Range, netfilter.SNAT, netfilter.Source)
}

var snatExtension = &xtables.Extension{
	Name: "SNAT",
	Options: []xtables.Option{
		{Name: "to-source", Mandatory: true},
		{Name: "random", Flag: true},
		{Name: "random-fully", Flag: true},
		{Name: "persistent", Flag: true},
	},
	NewTarget: func() xtables.TargetParser { return &snatParser{} },
}

type snatParser struct {
	natParser
	arena xtables.Arena[SNAT]
}

func (p *snatParser) Option(o *xtables.OptionCall) error {
	if o.Name != "to-source" {
		p.flag(o.Name)
		return nil
	}
	base, err := p.parseAddrPort(o)
	p.r.Shifted = base != 0
	return err
}

func (p *snatParser) Finish(uint32) (xtables.Target, error) {
	return p.arena.Intern(SNAT{Range: p.r}), nil
}
