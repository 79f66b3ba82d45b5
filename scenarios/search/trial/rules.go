package trial

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// saved are the rules of a family as they are saved.
type saved struct {
	family scenarios.IPFamily
	text   string
	// lines are the table, the chain or the rule, without counters, each with its table.
	lines []string
}

// rulesOf are the rules of a node.
func (r *run) rulesOf(ctx context.Context, n *nodeState) ([]saved, error) {
	var out []saved
	for _, family := range tools.Families(r.cluster.IPFamily) {
		text, err := r.world.Save(ctx, n.name, family)
		if err != nil {
			return nil, err
		}
		out = append(out, saved{family, text, linesOf(text)})
	}
	return out, nil
}

func linesOf(save string) []string {
	var out []string
	table := ""
	for line := range strings.Lines(save) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line == "COMMIT":
			continue
		case line[0] == '*':
			table = line[1:] + " "
			continue
		case line[0] == '[':
			_, line, _ = strings.Cut(line, "] ")
		case line[0] == ':':
			line, _, _ = strings.Cut(line, " [")
		}
		out = append(out, table+line)
	}
	return out
}

// maxFewEndpoints is how many endpoints a proxier takes for few: above, chains that are out of use may wait.
const maxFewEndpoints = 1000

// readBack restores what was saved on another kernel, which must save the same.
func (r *run) readBack(ctx context.Context, n *nodeState, rules []saved) error {
	counters, err := r.world.Accounting(ctx, n.name)
	if err != nil {
		return err
	}
	kernel := fakekernel.New(fakekernel.Options{Dialect: r.cluster.Dialect}).Exec()
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		if _, err := tools.Run(kernel, "", "nfacct", "add", name); err != nil {
			return err
		}
	}
	for _, s := range rules {
		again, err := tools.Run(kernel, s.text, tools.Name(s.family, "-restore"))
		if err == nil {
			again, err = tools.Run(kernel, "", tools.Name(s.family, "-save"), "-c")
		}
		got := fmt.Sprint(err)
		if err == nil {
			if got = firstDifference(byChain(linesOf(again)), byChain(s.lines)); got == "" {
				continue
			}
		}
		return r.add(Finding{Clause: oracle.RulesReadBack, Node: n.name, Want: "what is saved can be restored as it is", Got: got})
	}
	return nil
}

// asOnEmptyKernel holds the rules of a proxier that has started anew against what it writes where no rule was before.
func (r *run) asOnEmptyKernel(n *nodeState, rules []saved) error {
	if endpointsOf(n.ruled) > maxFewEndpoints {
		return nil // those that have not changed are written as long ago
	}
	r.exercised(oracle.RestartEqualsFresh)
	is, should, difference, err := r.fromEmptyKernel(n, rules)
	if err != nil || difference == "" {
		return err
	}
	return r.add(Finding{
		Clause: oracle.RestartEqualsFresh, Node: n.name, Want: "the rules that a proxier writes into an empty kernel", Got: difference,
		Check: []scenarios.Step{
			{Restart: &scenarios.NodeSet{Names: []string{n.name}}, Sync: &scenarios.NodeSet{Names: []string{n.name}}},
			{Rules: rulesCheck(n, is, should)},
		},
	})
}

// asFull holds the rules of a proxier against what one that knows the same writes where no rule was before.
func (r *run) asFull(n *nodeState, rules []saved) error {
	if n.large {
		return nil // comments come back with the next change
	}
	clause := oracle.PartialEqualsFull
	if n.first() {
		clause = oracle.RestartEqualsFresh
	}
	r.exercised(clause)
	is, should, difference, err := r.fromEmptyKernel(n, rules)
	if err != nil || difference == "" {
		return err
	}
	return r.add(Finding{
		Clause: clause, Node: n.name, Want: "the rules that a proxier writes into an empty kernel", Got: difference,
		Check: []scenarios.Step{{Rules: rulesCheck(n, is, should)}},
	})
}

// fromEmptyKernel compares rules with what a proxier writes that starts now where no rule was before, and says what is different. Rules and
// chains of others, which such a proxier would not make, are left alone.
func (r *run) fromEmptyKernel(n *nodeState, rules []saved) (is, should saved, difference string, err error) {
	kernel, err := r.world.Fresh(n.name)
	if err != nil {
		return saved{}, saved{}, "", err
	}
	for _, is := range rules {
		text, err := tools.Run(kernel.Exec(), "", tools.Name(is.family, "-save"), "-c")
		if err != nil {
			return saved{}, saved{}, "", err
		}
		should := saved{is.family, text, linesOf(text)}
		is.lines = should.own(is.lines)
		should.lines = should.own(should.lines)
		if difference := firstDifference(is.lines, should.lines); difference != "" {
			return is, should, difference, nil
		}
	}
	return saved{}, saved{}, "", nil
}

// own are those of some lines that are about chains of the proxier's own that these rules have, sorted. From a chain that it shares with the
// kubelet it takes nothing, and a canary is there for it to see that it is gone, when it sees fit.
func (s *saved) own(lines []string) []string {
	chains := map[string]bool{}
	for _, line := range s.lines {
		chain := chainOf(line)
		if _, name, _ := strings.Cut(chain, " "); provenance.WriterOf(name) == provenance.KubeProxy && !provenance.IsCanary(name) {
			chains[chain] = true
		}
	}
	var out []string
	for _, line := range lines {
		table, rule, _ := strings.Cut(line, " ")
		_, target, jumps := strings.Cut(rule, " -j ")
		if chains[chainOf(line)] || jumps && chains[table+" "+target] {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// asFresh starts the proxier anew. It writes everything, which must change nothing.
func (r *run) asFresh(ctx context.Context, n *nodeState, before []saved) error {
	nodes := []string{n.name}
	if err := r.world.Restart(ctx, nodes); err != nil {
		return err
	}
	if err := r.world.Sync(ctx, nodes); err != nil {
		return r.syncFailed(n, err)
	}
	after, err := r.rulesOf(ctx, n)
	if err != nil {
		return err
	}
	r.exercised(oracle.PartialEqualsFull, oracle.RulesReadBack)
	for i := range before {
		if n.large {
			break // chains out of use wait, and comments come back with the next change: nothing that packets meet
		}
		slices.Sort(before[i].lines)
		slices.Sort(after[i].lines)
		difference := firstDifference(before[i].lines, after[i].lines)
		if difference == "" {
			continue
		}
		f := Finding{
			Clause: oracle.PartialEqualsFull, Node: n.name, Want: "the rules that a proxier writes that starts now", Got: difference,
			Check: []scenarios.Step{{Rules: rulesCheck(n, before[i], after[i])}},
		}
		if again := timesCheck(n, after[i], before[i]); again != nil { // what was there is there once more
			f.Check = []scenarios.Step{
				{Restart: &scenarios.NodeSet{Names: nodes}, Sync: &scenarios.NodeSet{Names: nodes}}, {Rules: again},
			}
		}
		return r.add(f)
	}
	return r.asOnEmptyKernel(n, after)
}

// byChain are lines with those of each chain together, in their order: which table was used first is no matter.
func byChain(lines []string) []string {
	out := slices.Clone(lines)
	slices.SortStableFunc(out, func(a, b string) int { return strings.Compare(chainOf(a), chainOf(b)) })
	return out
}

// chainOf is the table and the chain of a line.
func chainOf(line string) string {
	table, line, _ := strings.Cut(line, " ")
	if chain, ok := strings.CutPrefix(line, ":"); ok {
		chain, _, _ = strings.Cut(chain, " ")
		return table + " " + chain
	}
	_, rest, _ := strings.Cut(line, " ")
	chain, _, _ := strings.Cut(rest, " ")
	return table + " " + chain
}

// timesCheck expects a rule as often as it was to be there, if it is there, but more often; nil if none is.
func timesCheck(n *nodeState, is, should saved) *scenarios.RulesCheck {
	for _, line := range onlyIn(is.lines, should.lines) {
		table, rule, _ := strings.Cut(line, " ")
		if !slices.Contains(should.lines, line) {
			continue
		}
		times := 0
		for _, other := range should.lines {
			if other, ok := strings.CutPrefix(other, table+" "); ok && strings.Contains(other, rule) {
				times++
			}
		}
		return &scenarios.RulesCheck{Nodes: []string{n.name}, Family: is.family, Table: table, Times: map[string]int{rule: times}}
	}
	return nil
}

// rulesCheck expects of rules what they were to be.
func rulesCheck(n *nodeState, is, should saved) *scenarios.RulesCheck {
	if times := timesCheck(n, is, should); times != nil {
		return times
	}
	check := &scenarios.RulesCheck{Nodes: []string{n.name}, Family: is.family}
	for _, line := range onlyIn(is.lines, should.lines) {
		addLine(line, &check.Absent, &check.NoChains)
	}
	for _, line := range onlyIn(should.lines, is.lines) {
		addLine(line, &check.Contains, &check.Chains)
	}
	return check
}

// addLine adds a line to the rules or to the chains.
func addLine(line string, rules, chains *[]string) {
	_, line, _ = strings.Cut(line, " ") // the table
	if chain, ok := strings.CutPrefix(line, ":"); ok {
		name, _, _ := strings.Cut(chain, " ")
		*chains = append(*chains, name)
		return
	}
	*rules = append(*rules, line)
}

// firstDifference says what is different; empty if nothing is.
func firstDifference(is, should []string) string {
	more, less := onlyIn(is, should), onlyIn(should, is)
	switch {
	case len(more) > 0:
		return fmt.Sprintf("%d lines more, such as: %s", len(more), more[0])
	case len(less) > 0:
		return fmt.Sprintf("%d lines less, such as: %s", len(less), less[0])
	case !slices.Equal(is, should):
		return "another order"
	}
	return ""
}

// onlyIn are the lines of a that are not in b, or more often.
func onlyIn(a, b []string) []string {
	count := map[string]int{}
	for _, line := range b {
		count[line]++
	}
	var out []string
	for _, line := range a {
		if count[line]--; count[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
