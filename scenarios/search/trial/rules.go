package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// saved are the rules of a family on a node.
type saved struct {
	family scenarios.IPFamily
	text   string // as iptables-save prints them
	lines  []line
}

// line is a rule, or the chain itself, without what it has counted.
type line struct {
	table, chain string
	text         string // the rule; of a chain its name behind a colon, and its policy
	jump         string // the chain that the rule leads to
}

func (l *line) String() string { return l.table + " " + l.text }

func compareLines(a, b line) int {
	return cmp.Or(strings.Compare(a.table, b.table), strings.Compare(a.text, b.text), strings.Compare(a.chain, b.chain))
}

// rulesOf are the rules of a node.
func (r *run) rulesOf(ctx context.Context, n *nodeState) ([]saved, error) {
	var out []saved
	for _, family := range tools.Families(r.cluster.IPFamily) {
		text, err := r.world.Save(ctx, n.name, family)
		if err != nil {
			return nil, err
		}
		lines := linesOf(r.ruleset(n, family))
		if n.inNFTables() {
			listed, err := r.listed(ctx, n, family)
			if err != nil {
				return nil, err
			}
			lines = append(lines, listed...)
		}
		out = append(out, saved{family, text, lines})
	}
	return out, nil
}

// linesOf are the chains of a ruleset, and behind them the rules of each.
func linesOf(rules *netfilter.RulesetView) []line {
	var out []line
	for _, t := range rules.Tables {
		for c := range t.Chains() {
			out = append(out, line{table: t.Name(), chain: c.Name, text: ":" + c.Name + " " + cmp.Or(string(c.Policy), "-")})
			for _, rule := range c.All() {
				out = append(out, line{t.Name(), c.Name, rule.Text, rule.Fact.Jump})
			}
		}
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
			if got = firstDifference(byTable(again), byTable(s.text)); got == "" {
				continue
			}
		}
		return r.add(Violation{Clause: oracle.RulesReadBack, Node: n.name, Want: "what is saved can be restored as it is", Got: got})
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
	return r.add(Violation{
		Clause: oracle.RestartEqualsFresh, Node: n.name, Want: "the rules that a proxier writes into an empty kernel", Got: difference,
		Check: append(startAnew(n), rulesSteps(n, is, should)...),
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
	check := rulesSteps(n, is, should)
	if len(check) == 0 {
		check = startAnew(n)
	}
	return r.add(Violation{
		Clause: clause, Node: n.name, Want: "the rules that a proxier writes into an empty kernel", Got: difference, Check: check,
	})
}

// startAnew has the proxier of a node start anew and write everything.
func startAnew(n *nodeState) []scenarios.Step {
	return []scenarios.Step{
		{Restart: &scenarios.NodeSet{Names: []string{n.name}}, Sync: &scenarios.NodeSet{Names: []string{n.name}}},
	}
}

// rulesSteps look at rules that are other ones than they should be; none where a proxier that starts now writes nothing.
func rulesSteps(n *nodeState, is, should saved) []scenarios.Step {
	if should.family == "" {
		return nil
	}
	return []scenarios.Step{{Rules: rulesCheck(n, is, should)}}
}

// fromEmptyKernel compares rules with what a proxier writes that starts now where no rule was before, and says what is different. Rules and
// chains of others, which such a proxier would not make, are left alone. A proxier that cannot write its rules makes a difference, too.
func (r *run) fromEmptyKernel(n *nodeState, rules []saved) (is, should saved, difference string, err error) {
	kernel, err := r.world.Fresh(n.name)
	if err != nil {
		return saved{}, saved{}, "none: " + err.Error(), nil
	}
	for _, is := range rules {
		ruleset := kernel.Rules(familyOf(is.family))
		should := saved{family: is.family, lines: linesOf(&ruleset)}
		if n.inNFTables() {
			listed, err := listedOf(kernel, is.family)
			if err != nil {
				return is, should, "", err
			}
			should.lines = append(should.lines, listed...)
		}
		is.lines = should.own(is.lines)
		should.lines = should.own(should.lines)
		if difference := firstDifference(is.lines, should.lines); difference != "" {
			return is, should, difference, nil
		}
	}
	return saved{}, saved{}, "", nil
}

// own are the lines about the proxier's own chains that these rules have, sorted. From a chain that it shares with
// the kubelet it takes nothing, and a canary is there for it to see that it is gone, when it sees fit.
func (s *saved) own(lines []line) []line {
	type place struct{ table, chain string }
	chains := map[place]bool{}
	for _, l := range s.lines {
		if provenance.WriterOf(l.chain) == provenance.KubeProxy && !provenance.IsCanary(l.chain) {
			chains[place{l.table, l.chain}] = true
		}
	}
	var out []line
	for _, l := range lines {
		if l.table == tableNFT || chains[place{l.table, l.chain}] || chains[place{l.table, l.jump}] {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, compareLines)
	return out
}

// asFresh starts the proxier anew. It writes everything, which must change nothing.
func (r *run) asFresh(ctx context.Context, n *nodeState, before []saved) error {
	nodes := []string{n.name}
	packets, err := r.packetsBefore(n, before)
	if err != nil {
		return err
	}
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
		slices.SortFunc(before[i].lines, compareLines)
		slices.SortFunc(after[i].lines, compareLines)
		difference := firstDifference(before[i].lines, after[i].lines)
		if difference == "" {
			continue
		}
		f := Violation{
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
	if err := r.asAfterFullSync(n, packets); err != nil || r.broken[oracle.PartialEqualsFull] {
		return err
	}
	if mutated != nil {
		if err := r.besideUnchanged(ctx, n, packets, after); err != nil {
			return err
		}
	}
	return r.asOnEmptyKernel(n, after)
}

// byTable are the lines of what iptables-save has printed, without counters, each with its table, and the tables sorted: which was used
// first is no matter.
func byTable(save string) []line {
	var out []line
	table := ""
	for text := range strings.Lines(save) {
		text = strings.TrimSpace(text)
		switch {
		case text == "" || text[0] == '#' || text == "COMMIT":
			continue
		case text[0] == '*':
			table = text[1:]
			continue
		case text[0] == '[':
			_, text, _ = strings.Cut(text, "] ")
		case text[0] == ':':
			text, _, _ = strings.Cut(text, " [")
		}
		out = append(out, line{table: table, text: text})
	}
	slices.SortStableFunc(out, func(a, b line) int { return strings.Compare(a.table, b.table) })
	return out
}

// timesCheck expects a rule as often as it was to be there, if it is there, but more often; nil if none is.
func timesCheck(n *nodeState, is, should saved) *scenarios.RulesCheck {
	for _, l := range onlyIn(is.lines, should.lines) {
		if !slices.Contains(should.lines, l) {
			continue
		}
		times := 0
		for _, other := range should.lines {
			if other.table == l.table && strings.Contains(other.text, l.text) {
				times++
			}
		}
		check := &scenarios.RulesCheck{Nodes: []string{n.name}, Family: is.family, Table: l.table, Times: map[string]int{l.text: times}}
		if l.table == tableNFT {
			check.Mode, check.Table = scenarios.ModeNFTables, ""
		}
		return check
	}
	return nil
}

// rulesCheck expects of rules what they were to be.
func rulesCheck(n *nodeState, is, should saved) *scenarios.RulesCheck {
	if times := timesCheck(n, is, should); times != nil {
		return times
	}
	check := &scenarios.RulesCheck{Nodes: []string{n.name}, Family: is.family}
	more, less := onlyIn(is.lines, should.lines), onlyIn(should.lines, is.lines)
	if slices.ContainsFunc(append(slices.Clone(more), less...), func(l line) bool { return l.table == tableNFT }) {
		check.Mode = scenarios.ModeNFTables
	}
	for _, l := range more {
		l.addTo(&check.Absent, &check.NoChains)
	}
	for _, l := range less {
		l.addTo(&check.Contains, &check.Chains)
	}
	return check
}

// addTo adds a line to the rules or to the chains.
func (l *line) addTo(rules, chains *[]string) {
	if strings.HasPrefix(l.text, ":") {
		*chains = append(*chains, l.chain)
		return
	}
	*rules = append(*rules, l.text)
}

// firstDifference says what is different; empty if nothing is.
func firstDifference(is, should []line) string {
	more, less := onlyIn(is, should), onlyIn(should, is)
	switch {
	case len(more) > 0:
		return fmt.Sprintf("%d lines more, such as: %s", len(more), &more[0])
	case len(less) > 0:
		return fmt.Sprintf("%d lines less, such as: %s", len(less), &less[0])
	case !slices.Equal(is, should):
		return "another order"
	}
	return ""
}

// onlyIn are the lines of a that are not in b, or more often.
func onlyIn(a, b []line) []line {
	count := map[line]int{}
	for _, l := range b {
		count[l]++
	}
	var out []line
	for _, l := range a {
		if count[l]--; count[l] < 0 {
			out = append(out, l)
		}
	}
	return out
}
