package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetMasquerade is -j MASQUERADE. Its range has no addresses.
type TargetMasquerade struct {
	Range netfilter.NATRange
}

// Name is "MASQUERADE".
func (*TargetMasquerade) Name() string { return "MASQUERADE" }

func (t *TargetMasquerade) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATToPorts(dst, &t.Range, " --to-ports ", " --")
}

func (t *TargetMasquerade) appendList(dst []byte, _ listStyle) []byte {
	return appendNATToPorts(dst, &t.Range, " masq ports: ", " ")
}

func (t *TargetMasquerade) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (t *TargetMasquerade) allowedHooks(bool) hookMask { return hookPostrouting }

func (t *TargetMasquerade) addFact(f *netfilter.Fact) {
	addTranslation(f, &t.Range, netfilter.Masquerade, netfilter.Source)
}

var masqueradeExtension = &extension{
	name: "MASQUERADE",
	options: []optionSpec{
		{name: "to-ports"},
		{name: "random", flag: true},
		{name: "random-fully", flag: true},
	},
	newTarget: func() targetParser { return &masqueradeParser{} },
}

type masqueradeParser struct {
	natParser
	arena arena[TargetMasquerade]
}

func (p *masqueradeParser) finish(uint32) (Target, error) {
	return p.arena.intern(TargetMasquerade{Range: p.r}), nil
}
