package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetSNAT is -j SNAT.
type TargetSNAT struct {
	Range netfilter.NATRange
}

// Name is "SNAT".
func (*TargetSNAT) Name() string { return "SNAT" }

func (t *TargetSNAT) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATFlags(appendNATAddrPort(append(dst, " --to-source "...), &t.Range), &t.Range, " --")
}

func (t *TargetSNAT) appendList(dst []byte, _ listStyle) []byte {
	return appendNATFlags(appendNATAddrPort(append(dst, " to:"...), &t.Range), &t.Range, " ")
}

func (t *TargetSNAT) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (t *TargetSNAT) allowedHooks(bool) hookMask { return hookPostrouting | hookInput }

func (t *TargetSNAT) addFact(f *netfilter.Fact) {
	addTranslation(f, &t.Range, netfilter.SNAT, netfilter.Source)
}

var snatExtension = &extension{
	name: "SNAT",
	options: []optionSpec{
		{name: "to-source", mandatory: true},
		{name: "random", flag: true},
		{name: "random-fully", flag: true},
		{name: "persistent", flag: true},
	},
	newTarget: func() targetParser { return &snatParser{} },
}

type snatParser struct {
	natParser
	arena arena[TargetSNAT]
}

func (p *snatParser) option(o *optionCall) error {
	if o.name != "to-source" {
		p.flag(o.name)
		return nil
	}
	base, err := p.parseAddrPort(o)
	p.r.Shifted = base != 0
	return err
}

func (p *snatParser) finish(uint32) (Target, error) {
	return p.arena.intern(TargetSNAT{Range: p.r}), nil
}
