package fakenft

import (
	"strings"

	"github.com/chainwalk/chainwalk/fakenft/decompile"
	"github.com/chainwalk/chainwalk/fakenft/print"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// speller spells the kernel's rules for those who tell people of them, as nft lists them.
type speller struct{ tools *Tools }

var _ nftables.Speller = speller{}

// Rule is a rule as "nft list chain" prints it.
func (s speller) Rule(t *nftables.Table, _ *nftables.Chain, r *nftables.Rule) string {
	rule := decompile.Of(t, s.tools.kernel.Clock().Now()).Rule(r)
	text, err := print.AppendRule(nil, rule, s.printing(t))
	if err != nil {
		return "a rule that nft does not print: " + err.Error()
	}
	return string(text)
}

// Part is the last statement of what a rule has up to an expression: what stands before it says which protocol a field is of.
func (s speller) Part(t *nftables.Table, _ *nftables.Chain, r *nftables.Rule, _, to int) string {
	part := nftables.Rule{Exprs: r.Exprs[:to]}
	stmts := decompile.Of(t, s.tools.kernel.Clock().Now()).Rule(&part).Stmts
	if len(stmts) == 0 {
		return ""
	}
	text, err := print.AppendStmt(nil, stmts[len(stmts)-1], s.printing(t))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Elements are elements of a set as "nft list set" prints each of them.
func (s speller) Elements(t *nftables.Table, set *nftables.Set, elements []*nftables.Element) []string {
	items := decompile.Of(t, s.tools.kernel.Clock().Now()).Elements(set.Name, elements)
	texts, o := make([]string, len(items)), s.printing(t)
	for i, item := range items {
		text, err := print.AppendExpr(nil, item, o)
		if err != nil {
			text = []byte("an element that nft does not print: " + err.Error())
		}
		texts[i] = string(text)
	}
	return texts
}

func (s speller) printing(t *nftables.Table) *print.Options {
	return &print.Options{Family: t.Family, Device: s.tools.deviceName}
}
