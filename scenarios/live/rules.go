package live

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/names"
)

// Rule is a rule of a node.
type Rule struct {
	Node   string           `json:"node"`
	Family netfilter.Family `json:"family"`
	Table  string           `json:"table"`
	// Text is the rule as iptables-save prints it.
	Text string `json:"rule"`
	// Tools are those that the rule belongs to, legacy or nft, on a node that has rules of both.
	Dialect netfilter.Dialect `json:"tools,omitempty"`
	// Why says what kube-proxy would do with it, and of which service it is, as far as it tells.
	Why string `json:"why,omitempty"`
}

// String is the rule as a command would name it.
func (r Rule) String() string {
	tool := toolOf(r.Family)
	if r.Dialect != "" {
		tool += "-" + string(r.Dialect)
	}
	return fmt.Sprintf("%s: %s -t %s %s", r.Node, tool, r.Table, r.Text)
}

// ruleset are the rules of one family of a node, in their order, by table and chain.
type ruleset map[string][]string

// rulesetOf reads the rules of a kernel.
func rulesetOf(kernel *fakeipt.Kernel, family netfilter.Family) (ruleset, error) {
	tool := toolOf(family) + "-save"
	var out, errOut bytes.Buffer
	if status := kernel.Run([]string{tool}, strings.NewReader(""), &out, &errOut); status != 0 {
		return nil, fmt.Errorf("%s: exit status %d: %s", tool, status, &errOut)
	}
	return parseRules(out.String()), nil
}

// parseRules reads what iptables-save prints, with or without counters.
func parseRules(save string) ruleset {
	rules := ruleset{}
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "[") {
			_, line, _ = strings.Cut(line, "] ")
		}
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		}
		if rest, ok := strings.CutPrefix(line, ":"); ok {
			chain, _, _ := strings.Cut(rest, " ")
			rules[table+" "+chain] = []string{}
		}
		if strings.HasPrefix(line, "-A ") {
			key := table + " " + chainOf(line)
			rules[key] = append(rules[key], line)
		}
	}
	return rules
}

// difference is what a node's rules are other than those that kube-proxy would leave there. Those that are
// moved are on both sides, in another order.
type difference struct {
	missing, foreign, moved []Rule
}

func (d *difference) add(other difference) {
	d.missing = append(d.missing, other.missing...)
	d.foreign = append(d.foreign, other.foreign...)
	d.moved = append(d.moved, other.moved...)
}

// belongTo says which tools the rules are of, on a node that has rules of both.
func (d *difference) belongTo(tools netfilter.Dialect) {
	for _, rules := range [][]Rule{d.missing, d.foreign, d.moved} {
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
		table, _, _ := strings.Cut(key, " ")
		note := func(into *[]Rule, texts []string) {
			for _, text := range texts {
				*into = append(*into, Rule{Node: node, Family: family, Table: table, Text: text})
			}
		}
		missing, foreign := without(want[key], have[key]), without(have[key], want[key])
		note(&d.missing, missing)
		note(&d.foreign, foreign)
		note(&d.moved, reordered(without(have[key], foreign), without(want[key], missing)))
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

// serviceOf is the service that a rule's comment names, NAMESPACE/NAME; empty if it names none.
func serviceOf(rule string) string {
	service, _, _ := strings.Cut(names.CommentedService(rule), ":")
	return service
}
