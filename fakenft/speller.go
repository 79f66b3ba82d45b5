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
	text, err := print.AppendRule(nil, rule, &print.Options{Family: t.Family, Device: s.tools.deviceName})
	if err != nil {
		return "a rule that nft does not print: " + err.Error()
	}
	return string(text)
}

// Part is expressions of a rule, spelled as if they stood alone.
func (s speller) Part(t *nftables.Table, c *nftables.Chain, r *nftables.Rule, from, to int) string {
	part := nftables.Rule{Exprs: r.Exprs[from:to]}
	return strings.TrimSpace(s.Rule(t, c, &part))
}
