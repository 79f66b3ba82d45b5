package trial

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// TestATrialOfOneClauseFindsTheSame has trials look at one clause and leave out the work for the others: each violation is found as it is
// in a trial that looks at everything, up to its step and not up to the one before.
func TestATrialOfOneClauseFindsTheSame(t *testing.T) {
	all := func() []fault { return slices.Concat(wrongRules(), wrongAround()) }
	var numbers []int
	for i := range all() {
		numbers = append(numbers, i)
	}
	for _, i := range race.Some(sample.Some(t, numbers, 4), 2) {
		c := all()[i]
		t.Run(c.name, func(t *testing.T) {
			s := read(t, cluster+c.steps)
			run := func(o Options) *Report {
				o.Proxier = all()[i].proxier // some remember the syncs of a trial
				report, err := Run(t.Context(), s, o)
				require.NoError(t, err)
				return report
			}
			for _, f := range run(Options{}).Violations {
				only := Options{Until: f.Step, Except: slices.DeleteFunc(oracle.Clauses(), func(c *oracle.Clause) bool { return c == f.Clause })}
				found := run(only).Violations
				require.NotEmpty(t, found, f.Clause.Name)
				what := func(f *Violation) []any { return []any{f.Clause, f.Step, f.Node, f.Point, f.Want} }
				assert.Equal(t, what(&f), what(&found[0]))
				if only.Until--; only.Until > 0 {
					assert.Empty(t, run(only).Violations, "%s before step %d", f.Clause.Name, f.Step)
				}
			}
		})
	}
}

// TestATrialOfOneClauseLeavesOutTheOthers: without clauses of packets no packet is tried, and without clauses of rules no rules are
// compared.
func TestATrialOfOneClauseLeavesOutTheOthers(t *testing.T) {
	s := read(t, cluster+web(onNode1)+nothing)
	figures := func(clauses ...*oracle.Clause) *Figures {
		report, err := Run(t.Context(), s, Options{
			Except: slices.DeleteFunc(oracle.Clauses(), func(c *oracle.Clause) bool { return slices.Contains(clauses, c) }),
		})
		require.NoError(t, err)
		require.Empty(t, report.Violations)
		return &report.Figures
	}
	all, rules, packets := figures(oracle.Clauses()...), figures(oracle.NoStaleChain), figures(oracle.ByName("cluster-ip-served"))
	assert.Less(t, rules.Connections, all.Connections/4)
	assert.Equal(t, all.Clauses[oracle.NoStaleChain.Name], rules.Clauses[oracle.NoStaleChain.Name])
	assert.Equal(t, all.Connections, packets.Connections)
	assert.Equal(t, all.Clauses[oracle.ByName("cluster-ip-served").Name], packets.Clauses[oracle.ByName("cluster-ip-served").Name])
	assert.NotZero(t, all.Clauses[oracle.RestartEqualsFresh.Name])
	for _, c := range []*oracle.Clause{oracle.NoStaleChain, oracle.RulesReadBack, oracle.RestartEqualsFresh} {
		assert.Zero(t, packets.Clauses[c.Name], c.Name)
	}
	panics := figures(oracle.NeverPanics)
	assert.Equal(t, all.Clauses, panics.Clauses, "everything can panic")
}
