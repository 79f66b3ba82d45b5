package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// Rule is a rule of a node.
type Rule struct {
	Node   string           `json:"node"`
	Family netfilter.Family `json:"family"`
	// Table is the table's name, of nftables with its family: "inet fw".
	Table string `json:"table"`
	// Chain is the chain that the rule stands in, as the text of iptables says too.
	Chain string `json:"-"`
	// NativeChain is Chain for a rule of nftables, and empty for one of iptables. Of an element of a set it is the set's name with "@" before
	// it.
	NativeChain string `json:"chain,omitempty"`
	// Text is the rule as iptables-save prints it, or nft; of a set an element.
	Text string `json:"rule"`
	// Tools is the variant that the rule belongs to, legacy or nft, on a node that has rules of both.
	Dialect netfilter.Dialect `json:"tools,omitempty"`
	// Why says what kube-proxy would do with it, and of which service it is, as far as it tells.
	Why string `json:"why,omitempty"`
}

// String is the rule as a command would name it, with its node.
func (r Rule) String() string { return r.Node + ": " + r.command() }

// command is the rule as a command would name it.
func (r Rule) command() string {
	if set, is := strings.CutPrefix(r.Chain, "@"); r.native() && is {
		return fmt.Sprintf("nft add element %s %s '{ %s }'", r.Table, set, r.Text)
	}
	if r.native() {
		return fmt.Sprintf("nft add rule %s %s %s", r.Table, r.Chain, r.Text)
	}
	tool := toolOf(r.Family)
	if r.Dialect != "" {
		tool += "-" + string(r.Dialect)
	}
	return fmt.Sprintf("%s -t %s %s", tool, r.Table, r.Text)
}

// native says whether it is a rule of nftables.
func (r Rule) native() bool { return r.NativeChain != "" }

// tableName is the table's name without the family that a table of nftables has before it.
func (r Rule) tableName() string {
	if _, name, is := strings.Cut(r.Table, " "); r.native() && is {
		return name
	}
	return r.Table
}

// ruleset are the chains of one family of a node, by "TABLE CHAIN".
type ruleset map[string]heldChain

// heldChain is a chain with its rules as iptables-save prints them, or nft.
type heldChain struct {
	netfilter.Chain
	texts  []string
	native bool
}

// places are where the rules stand, by their texts.
func (c *heldChain) places() map[string]int {
	out := map[string]int{}
	for i, text := range c.texts {
		out[text] = i
	}
	return out
}

// rulesetOf spells the rules of a kernel.
func rulesetOf(view netfilter.RulesetView) ruleset {
	rules := ruleset{}
	for _, table := range view.Tables {
		for chain := range table.Chains() {
			held := heldChain{Chain: chain, texts: []string{}}
			for i := range chain.Len() {
				held.texts = append(held.texts, chain.Text(i))
			}
			rules[keyOf(table.Name(), chain.Name)] = held
		}
	}
	return rules
}

// withNative adds kube-proxy's table of nftables of a family, if the node has it.
func (s ruleset) withNative(host *packetsim.Host, family netfilter.Family) ruleset {
	word, chains := nativeTable(host, family)
	for i := range chains {
		held := heldChain{Chain: netfilter.Chain{Name: chains[i].Name, Rules: nativeRules(chains[i].Rules)}, texts: []string{}, native: true}
		for k := range chains[i].Rules {
			held.texts = append(held.texts, chains[i].Rules[k].Text)
		}
		s[keyOf(word, chains[i].Name)] = held
	}
	return s
}

// nativeTable is kube-proxy's table of nftables of a family, with its name: "ip kube-proxy". It has no chains if the node has it not.
func nativeTable(host *packetsim.Host, family netfilter.Family) (name string, chains []packetsim.NativeChain) {
	of := nftables.IPv4
	if family == netfilter.IPv6 {
		of = nftables.IPv6
	}
	return of.String() + " " + provenance.NFTable, host.NativeTable(of, provenance.NFTable)
}

// nativeRules are rules of nftables as those of a chain.
type nativeRules []netfilter.Rule

var _ netfilter.Rules = nativeRules(nil)

// Len is the number of rules.
func (r nativeRules) Len() int { return len(r) }

// Text is a rule without its chain.
func (r nativeRules) Text(i int) string { return r[i].Text }

// Fact is what it means.
func (r nativeRules) Fact(i int) netfilter.Fact { return r[i].Fact }

// Args is the whole text: nft takes it as one argument.
func (r nativeRules) Args(i int, _ bool) []string { return []string{r[i].Text} }

// Counted is nothing: what counters say is not read.
func (r nativeRules) Counted(int) netfilter.Counted { return netfilter.Counted{} }

// Handle is the text, which is all that tells rules of two rulesets apart.
func (r nativeRules) Handle(i int) any { return r[i].Text }

func keyOf(table, chain string) string { return table + " " + chain }

// splitKey is the table and the chain of a key. Of nftables the table has its family before it.
func splitKey(key string) (table, chain string) {
	at := strings.LastIndex(key, " ")
	return key[:max(at, 0)], key[at+1:]
}

// find is the place of a rule in its chain; -1 if it is not there.
func (s ruleset) find(r Rule) int { return slices.Index(s[keyOf(r.Table, r.Chain)].texts, r.Text) }

// factOf is what a rule means that the ruleset has, or not.
func (s ruleset) factOf(r Rule) netfilter.Fact {
	if i := s.find(r); i >= 0 {
		return s[keyOf(r.Table, r.Chain)].Fact(i)
	}
	return netfilter.Fact{}
}

// factRule is a rule and what it means.
type factRule struct {
	Rule
	fact netfilter.Fact
	// missing says that it is a rule that a node does not have.
	missing bool
}

// writer is who wrote the rule.
func (r *factRule) writer() provenance.Writer {
	return provenance.OfRule(r.tableName(), r.Chain, &r.fact)
}

// service is the service that the rule says to be for, NAMESPACE/NAME; empty if it says none.
func (r *factRule) service() string {
	return provenance.ServicePortOf(r.tableName(), r.Chain, &r.fact).Service()
}

// difference is what a node's rules are other than those that kube-proxy would leave there. Those that are
// moved are on both sides, in another order; the order of services in the chains that they share means nothing.
type difference struct {
	missing, foreign, moved []factRule
	places                  map[Rule]int // of each rule in its list, filled in by index
}

// index prepares for rules being looked up.
func (d *difference) index() {
	d.places = make(map[Rule]int, len(d.missing)+len(d.foreign)+len(d.moved))
	for _, rules := range [][]factRule{d.moved, d.foreign, d.missing} {
		for i := range slices.Backward(rules) {
			d.places[rules[i].Rule] = i
		}
	}
}

func (d *difference) add(other difference) {
	d.missing = append(d.missing, other.missing...)
	d.foreign = append(d.foreign, other.foreign...)
	d.moved = append(d.moved, other.moved...)
}

// belongTo says which tools the rules are of, on a node that has rules of both.
func (d *difference) belongTo(tools netfilter.Dialect) {
	for _, rules := range [][]factRule{d.missing, d.foreign, d.moved} {
		for i := range rules {
			rules[i].Dialect = tools
		}
	}
}

// compare says what the rules that a node has are other than those that it should.
func compare(node string, family netfilter.Family, have, want ruleset) difference {
	var d difference
	chains := map[string]bool{}
	for key := range have {
		chains[key] = true
	}
	for key := range want {
		chains[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(chains)) {
		is, should := have[key], want[key]
		table, chain := splitKey(key)
		note := func(into *[]factRule, from heldChain, texts []string) {
			if len(texts) == 0 {
				return
			}
			places := from.places()
			for _, text := range texts {
				r := Rule{Node: node, Family: family, Table: table, Chain: chain, Text: text}
				if from.native {
					r.NativeChain = chain
				}
				*into = append(*into, factRule{r, from.Fact(places[text]), into == &d.missing})
			}
		}
		missing, foreign := without(should.texts, is.texts), without(is.texts, should.texts)
		note(&d.missing, should, missing)
		note(&d.foreign, is, foreign)
		if !strings.HasPrefix(chain, "@") { // the elements of a set have no order
			note(&d.moved, is, reordered(without(is.texts, foreign), without(should.texts, missing)))
		}
		d.moved = slices.DeleteFunc(d.moved, func(r factRule) bool { return provenance.IsShared(r.Chain) && r.service() != "" })
	}
	return d
}

// reordered are the lines between the first and the last that stand at other places, of two lists of the same lines.
func reordered(have, want []string) []string {
	for len(have) > 0 && have[0] == want[0] {
		have, want = have[1:], want[1:]
	}
	for len(have) > 0 && have[len(have)-1] == want[len(want)-1] {
		have, want = have[:len(have)-1], want[:len(want)-1]
	}
	return have
}

// without are the lines of a list that another one has not.
func without(list, other []string) []string {
	count := map[string]int{}
	for _, line := range other {
		count[line]++
	}
	var out []string
	for _, line := range list {
		if count[line]--; count[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
