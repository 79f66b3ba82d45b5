package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
)

// RulesCheck looks at the rules that are on nodes.
type RulesCheck struct {
	document.Located
	Name     string         `json:"name" doc:"What is looked at."`
	Nodes    []string       `json:"nodes" doc:"The nodes to look at; all if not given."`
	Family   IPFamily       `json:"family" enum:"ipv4 ipv6" doc:"ipv4 or ipv6; the cluster's first family if not given."`
	Mode     Mode           `json:"mode" enum:"iptables nftables" doc:"Whose rules: those of iptables, as iptables-save prints them (if not given), or kube-proxy's table of nftables, as nft list table prints it."`
	Table    string         `json:"table" enum:"raw mangle nat filter security" doc:"Only the rules of this table."`
	Chain    string         `json:"chain" doc:"Only the rules of this chain."`
	Contains []string       `json:"contains" doc:"Each of these texts is part of a rule, as iptables-save prints it."`
	Absent   []string       `json:"absent" doc:"None of these texts is part of a rule."`
	Times    map[string]int `json:"times" doc:"Texts, and of how many rules each is a part."`
	Counters map[string]int `json:"counters" doc:"Texts of rules, and how many packets the first rule with each of them has counted."`
	NFAcct   map[string]int `json:"nfacct" doc:"Accounting objects by name, and how many packets they have counted."`
	Chains   []string       `json:"chains" doc:"Chains that exist, by name."`
	NoChains []string       `json:"noChains" doc:"Chains that do not exist, by name."`
}

func (c *checker) rules(s *Step) {
	r := s.Rules
	c.nodes(r.Pos, r.Nodes)
	if len(r.Contains)+len(r.Absent)+len(r.Times)+len(r.Counters)+len(r.NFAcct)+len(r.Chains)+len(r.NoChains) == 0 {
		c.errorf(r.Pos, "rules: nothing is looked for (want contains, absent, times, counters, nfacct, chains or noChains)")
	}
	c.family(r.Pos, r.Family)
	if r.Mode == ModeNFTables && len(r.Counters)+len(r.NFAcct) > 0 {
		c.errorf(r.Pos, "rules: mode nftables has no counters and no accounting objects")
	}
	if r.Mode == ModeNFTables && r.Table != "" {
		c.errorf(r.Pos, "table says nothing in mode nftables, where kube-proxy has one")
	}
}

func (r *runner) rules(ctx context.Context, s *Step) error {
	want := s.Rules
	family := want.Family
	if family == "" {
		family = familyName(r.cluster.IPFamily == FamilyIPv6)
	}
	if want.Mode == ModeNFTables {
		return r.nftRules(ctx, s, family)
	}
	for _, node := range r.orAll(want.Nodes) {
		text, err := r.session.Save(ctx, node, family)
		if err != nil {
			return err
		}
		wrong := want.verdict(text)
		accounting, err := r.session.Accounting(ctx, node)
		if err != nil {
			return err
		}
		wrong = append(wrong, compareCounts("nfacct object", want.NFAcct, accounting)...)
		r.add(want.Pos, Check{Name: cmp.Or(want.Name, s.describe()) + " on " + node, Passed: len(wrong) == 0, Wrong: strings.Join(wrong, "; ")})
	}
	return nil
}

// wrongIn says what of rules and chains is not as looked for.
func (c *RulesCheck) wrongIn(rules, chains []string) []string {
	var wrong []string
	for _, text := range c.Contains {
		if !slices.ContainsFunc(rules, func(rule string) bool { return strings.Contains(rule, text) }) {
			wrong = append(wrong, fmt.Sprintf("no rule with %q", text))
		}
	}
	for _, text := range c.Absent {
		if i := slices.IndexFunc(rules, func(rule string) bool { return strings.Contains(rule, text) }); i >= 0 {
			wrong = append(wrong, fmt.Sprintf("a rule with %q: %s", text, rules[i]))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(c.Times)) {
		n := 0
		for _, rule := range rules {
			if strings.Contains(rule, text) {
				n++
			}
		}
		if n != c.Times[text] {
			wrong = append(wrong, fmt.Sprintf("%d rules with %q, not %d", n, text, c.Times[text]))
		}
	}
	for _, chain := range c.Chains {
		if !slices.Contains(chains, chain) {
			wrong = append(wrong, fmt.Sprintf("no chain %s", chain))
		}
	}
	for _, chain := range c.NoChains {
		if slices.Contains(chains, chain) {
			wrong = append(wrong, fmt.Sprintf("a chain %s", chain))
		}
	}
	return wrong
}

// verdict compares what iptables-save printed with what is looked for.
func (c *RulesCheck) verdict(save string) []string {
	rules, chains, packets := c.lines(save)
	wrong := c.wrongIn(rules, chains)
	counted := map[string]int{}
	for text := range c.Counters {
		if i := slices.IndexFunc(rules, func(rule string) bool { return strings.Contains(rule, text) }); i >= 0 {
			counted[text] = packets[i]
		}
	}
	return append(wrong, compareCounts("rule", c.Counters, counted)...)
}

// lines are the rules and chains of the tables and chains that are looked at,
// and the packets that each of the rules has counted.
func (c *RulesCheck) lines(save string) (rules, chains []string, packets []int) {
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "*"); ok {
			table = name
		}
		if c.Table != "" && table != c.Table {
			continue
		}
		if chain, ok := strings.CutPrefix(line, ":"); ok {
			name, _, _ := strings.Cut(chain, " ")
			chains = append(chains, name)
		}
		counters := ""
		if rest, ok := strings.CutPrefix(line, "["); ok {
			counters, line, _ = strings.Cut(rest, "] ")
		}
		if strings.HasPrefix(line, "-A ") && (c.Chain == "" || strings.HasPrefix(line, "-A "+c.Chain+" ")) {
			rules = append(rules, line)
			number, _, _ := strings.Cut(counters, ":")
			n, _ := strconv.Atoi(number) // 0 if the backend does not know
			packets = append(packets, n)
		}
	}
	return rules, chains, packets
}

// compareCounts says which counts are not those expected, sorted by name.
func compareCounts(what string, want, got map[string]int) []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch packets, ok := got[name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("no %s with %q", what, name))
		case packets != want[name]:
			wrong = append(wrong, fmt.Sprintf("the %s with %q has counted %d packets, not %d", what, name, packets, want[name]))
		}
	}
	return wrong
}
