package target

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Masquerade is -j MASQUERADE. Its range has no addresses.
type Masquerade struct {
	Range netfilter.NATRange
}

// Name is "MASQUERADE".
func (*Masquerade) Name() string { return "MASQUERADE" }

func (t *Masquerade) AppendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATToPorts(dst, &t.Range, " --to-ports ", " --")
}

func (t *Masquerade) AppendList(dst []byte, _ xtables.ListStyle) []byte {
	return appendNATToPorts(dst, &t.Range, " masq ports: ", " ")
}

func (t *Masquerade) Check(c *xtables.CheckContext) syscall.Errno { return c.WantTable("nat") }

func (t *Masquerade) AllowedHooks(bool) xtables.HookMask { return xtables.HookPostrouting }

func (t *Masquerade) AddFact(f *netfilter.Fact) {
	xtables.AddTranslation(f, &t.Range, netfilter.Masquerade, netfilter.Source)
}

var masqueradeExtension = &xtables.Extension{
	Name: "MASQUERADE",
	Options: []xtables.Option{
		{Name: "to-ports"},
		{Name: "random", Flag: true},
		{Name: "random-fully", Flag: true},
	},
	NewTarget: func() xtables.TargetParser { return &masqueradeParser{} },
}

type masqueradeParser struct {
	natParser
	arena xtables.Arena[Masquerade]
}

func (p *masqueradeParser) Finish(uint32) (xtables.Target, error) {
	return p.arena.Intern(Masquerade{Range: p.r}), nil
}
