package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ruleValues are the rules that a host's packets met last, as traces have them. Most packets of a host meet the same rules first, and to
// spell and to read one takes far more time and memory than to meet it. The zero value has none.
type ruleValues struct {
	known  map[ruleOfChain]*netfilter.Rule
	missed missedLooks[missedRule]
}

// ruleOfChain is a rule of a ruleset, which never changes.
type ruleOfChain struct {
	rule  *xtables.Rule
	rules rulesKind
	chain string
}

// rulesKind is what the text of a rule depends on beside it.
type rulesKind struct {
	family  netfilter.Family
	dialect netfilter.Dialect
}

// keptValues is how many rules are kept: those of some packets, and not those of a large cluster.
const keptValues = 256

// of is a rule of a chain as traces have it. It is not to be written to.
func (v *ruleValues) of(rules *ruleset.Ruleset, rule *xtables.Rule, chain string) *netfilter.Rule {
	key := ruleOfChain{rule, rulesKind{rules.Family(), rules.Dialect()}, chain}
	if value := v.known[key]; value != nil {
		return value
	}
	if v.known == nil {
		v.known = map[ruleOfChain]*netfilter.Rule{}
	}
	if len(v.known) >= keptValues {
		clear(v.known)
	}
	value := valueOf(rules, rule, chain)
	v.known[key] = &value
	return &value
}

// valueOf is a rule of a chain as traces have it.
func valueOf(rules *ruleset.Ruleset, rule *xtables.Rule, chain string) netfilter.Rule {
	return netfilter.Rule{Text: rule.Text(chain, rules.Family(), rules.Dialect()), Fact: rule.Fact()}
}
