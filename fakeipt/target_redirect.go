package fakeipt

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TargetRedirect is -j REDIRECT. Its range has no addresses.
type TargetRedirect struct {
	Range netfilter.NATRange
}

// Name is "REDIRECT".
func (*TargetRedirect) Name() string { return "REDIRECT" }

func (t *TargetRedirect) appendSave(dst []byte, _ netfilter.Family, _ netfilter.Dialect) []byte {
	return appendNATToPorts(dst, &t.Range, " --to-ports ", " --")
}

func (t *TargetRedirect) appendList(dst []byte, _ listStyle) []byte {
	return appendNATToPorts(dst, &t.Range, " redir ports ", " ")
}

func (t *TargetRedirect) check(c *checkContext) syscall.Errno { return c.wantTable("nat") }

func (t *TargetRedirect) allowedHooks(bool) hookMask { return hookPrerouting | hookOutput }

func (t *TargetRedirect) addFact(f *netfilter.Fact) {
	addTranslation(f, &t.Range, netfilter.Redirect, netfilter.Destination)
}

var redirectExtension = &extension{
	name:      "REDIRECT",
	options:   []optionSpec{{name: "to-ports"}, {name: "random", flag: true}},
	newTarget: func() targetParser { return &redirectParser{} },
}

type redirectParser struct {
	natParser
	arena arena[TargetRedirect]
}

func (p *redirectParser) finish(uint32) (Target, error) {
	if p.basePort != 0 {
		return nil, badParameter("Shifted portmap ranges not supported with this kernel")
	}
	return p.arena.intern(TargetRedirect{Range: p.r}), nil
}
