package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/search/twin"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// noAffinity finds affinity and services that are deleted: two clauses that nobody holds.
func noAffinity(_ context.Context, s *scenarios.Scenario) (*trial.Report, error) {
	r := &trial.Report{Figures: trial.Figures{Cases: 1, States: len(s.Steps), Clauses: map[string]int{"no-affinity": len(s.Objects)}}}
	for _, o := range s.Objects {
		if service, ok := o.Object.(*corev1.Service); ok && service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			r.Violations = append(r.Violations, trial.Violation{
				Clause: &oracle.Clause{Name: "no-affinity", Law: "I10", Text: "No service has affinity."}, Want: "none", Got: "some",
				Check: []scenarios.Step{{Sync: &scenarios.NodeSet{All: true}}},
			})
		}
	}
	for i := range s.Steps {
		if s.Steps[i].Restart != nil {
			r.Violations = append(r.Violations, trial.Violation{
				Clause: &oracle.Clause{Name: "no-restart", Law: "I6", Text: "Nobody restarts."}, Step: i + 1, Node: "node1", Want: "none", Got: "one",
			})
			break
		}
	}
	return r, nil
}

func found(t *testing.T, o Options) *Result {
	t.Helper()
	o.try = noAffinity
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

func TestRunComesToTheSameWhateverIsJudgedFirst(t *testing.T) {
	runs := 200 / sample.Every(2)
	one, three := found(t, Options{Seed: 3, Runs: runs, Workers: 1}), found(t, Options{Seed: 3, Runs: runs, Workers: 3})
	assert.Equal(t, one, three)
	assert.Equal(t, runs, one.Cases)
	assert.Equal(t, runs, one.Figures.Cases)
	assert.NotEqual(t, one.Figures, found(t, Options{Seed: 4, Runs: runs, Shrinks: -1}).Figures)
}

func TestFailuresAreSmallFilesWithAHead(t *testing.T) {
	r := found(t, Options{Seed: 3, Runs: 100, Commit: "abc"})
	require.Len(t, r.Failures, 2)
	affinity, restart := r.Failures[0], r.Failures[1]
	assert.Equal(t, "no-affinity", affinity.Clause)
	assert.Contains(t, affinity.File, fmt.Sprintf(`# no-affinity (I10): No service has affinity.
# Found by chainwalk fuzz --seed 3, case %d, at commit abc.
# after the first sync: want none, got some.
name: no affinity
`, affinity.Case))
	assert.Contains(t, restart.File, "# after step 1, on node1: want none, got one.\n")
	for _, f := range r.Failures {
		s, err := scenarios.Read(f.Name(), strings.NewReader(f.File))
		require.NoError(t, err)
		assert.LessOrEqual(t, len(s.Objects), 1)
		assert.Len(t, s.Steps, 1)
	}
}

func TestAFailureIsReplayed(t *testing.T) {
	r := found(t, Options{Seed: 3, Runs: 100})
	result, err := r.Failures[0].Replay(t.Context(), sim.Backend{})
	require.NoError(t, err)
	assert.Equal(t, r.Failures[0].Name(), result.File)
	assert.Equal(t, "no affinity", result.Name)
	assert.NotNil(t, result.Checks)
	assert.Equal(t, fmt.Sprintf("chainwalk fuzz --seed 3 --case %d", r.Failures[0].Case), r.Failures[0].Again(r.Program))
	_, err = (&Failure{Clause: "c", File: "name: [\n"}).Replay(t.Context(), sim.Backend{})
	assert.ErrorContains(t, err, "c-0-0.yaml")
}

func TestOneCaseIsLookedAtAgain(t *testing.T) {
	r := found(t, Options{Seed: 3, Runs: 100})
	again := found(t, Options{Seed: 3, First: r.Failures[0].Case, Runs: 1})
	assert.Equal(t, r.Failures[0], again.Failures[0])
}

func TestShardsHaveNoCaseInCommonAndAllTogether(t *testing.T) {
	var results []*Result
	seen := map[string]int{}
	var mu sync.Mutex
	for shard := 1; shard <= 3; shard++ {
		o := Options{Seed: 5, Shard: shard, Shards: 3, Runs: 20}
		o.try = func(ctx context.Context, s *scenarios.Scenario) (*trial.Report, error) {
			mu.Lock()
			defer mu.Unlock()
			var b strings.Builder
			require.NoError(t, scenarios.Write(&b, s))
			seen[b.String()]++
			return &trial.Report{Figures: trial.Figures{Cases: 1}}, nil
		}
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		results = append(results, r)
	}
	assert.Len(t, seen, 60)
	merged, err := Merge(results)
	require.NoError(t, err)
	assert.Equal(t, 60, merged.Cases)
	assert.Equal(t, 60, merged.Figures.Cases)
	_, err = Run(t.Context(), Options{Shard: 4, Shards: 3})
	assert.ErrorContains(t, err, "no shard 4 of 3")
}

func TestMergeKeepsTheSmallestFailureOfEachClause(t *testing.T) {
	long, short := Failure{Clause: "a", File: "long"}, Failure{Clause: "a", File: "s"}
	merged, err := Merge([]*Result{
		{Version: 1, Shard: 2, Shards: 2, Failures: []Failure{short, {Clause: "b"}}},
		{Version: 1, Shard: 1, Shards: 2, Failures: []Failure{long}},
	})
	require.NoError(t, err)
	assert.Equal(t, []Failure{short, {Clause: "b"}}, merged.Failures)
	_, err = Merge([]*Result{{Version: 1, Shard: 1}, {Version: 1, Shard: 1}})
	assert.ErrorContains(t, err, "there twice")
	_, err = Merge([]*Result{{Version: 1, Shard: 1, Commit: "a"}, {Version: 1, Shard: 2, Commit: "b"}})
	assert.ErrorContains(t, err, "different commits")
	_, err = Merge([]*Result{{Version: 1, Shard: 1}, {Version: 1, Shard: 2, Program: "chainwalk fuzz --mode nftables", Mode: "nftables"}})
	assert.ErrorContains(t, err, "different searches, chainwalk fuzz and chainwalk fuzz --mode nftables")
	_, err = Merge(nil)
	assert.Error(t, err)
}

func TestRunEndsWithItsContextAndCountsWhatItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Run(ctx, Options{try: func(context.Context, *scenarios.Scenario) (*trial.Report, error) {
		cancel()
		return &trial.Report{Figures: trial.Figures{Cases: 1}}, nil
	}})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Cases)
}

func TestACaseThatCannotBeRunIsAFailure(t *testing.T) {
	r, err := Run(t.Context(), Options{Runs: 1, try: func(context.Context, *scenarios.Scenario) (*trial.Report, error) {
		return nil, fmt.Errorf("no such thing as %d", 7)
	}})
	require.NoError(t, err)
	require.Len(t, r.Failures, 1)
	assert.Equal(t, "generated-cases-run", r.Failures[0].Clause)
	assert.Contains(t, r.Failures[0].Got, "no such thing")
}

func TestEachShardHasOfEverything(t *testing.T) {
	const cases = 2048
	for _, shards := range []int{1, 4, 12, 16, 20, 64} {
		for shard := range shards {
			interleaved, walked, lawless, laws := 0, 0, 0, map[string]bool{}
			for place := range cases {
				k := kindOf(place*shards + shard)
				if k.interleaved {
					interleaved++
					continue
				}
				if k.law == nil {
					lawless++
				} else {
					laws[k.law.Name] = true
				}
				if k.rules {
					walked++
				}
			}
			assert.NotZero(t, lawless)
			assert.Len(t, laws, len(twin.Laws()), "laws in shard %d of %d", shard+1, shards)
			assert.InDelta(t, cases/interleavingEvery, interleaved, cases/interleavingEvery/2, "short sequences in shard %d of %d", shard+1, shards)
			assert.InDelta(t, cases/rulesEvery, walked, cases/rulesEvery*3/4, "rules looked at in shard %d of %d", shard+1, shards)
		}
	}
}

func TestFailuresThatLookAlikeAreToldAsOne(t *testing.T) {
	const decided = "source is not as expected, decided by -A KUBE-MARK-MASQ -j MARK --set-xmark"
	r := &Result{Version: 1, Seed: 7, Shard: 1, Shards: 1, Cases: 3, Failures: []Failure{
		{Clause: "client-address", Law: "S9", Text: "Who is called sees who calls.", Seed: 7, Case: 4, Want: "w", Got: "g", Broken: decided,
			File: "long file"},
		{Clause: "generated-cases-run", Case: 9, File: "a"},
		{Clause: "hairpin", Law: "S4", Seed: 7, Case: 2, Want: "w", Got: "g", Broken: decided, File: "file"},
		{Clause: "other-cause", Cause: "known", Broken: decided, File: "a"},
		{Clause: "unrunnable-too", Case: 11, File: "b"},
	}}
	bugs := r.Bugs()
	require.Len(t, bugs, 4)
	assert.Equal(t, "hairpin", bugs[0][0].Clause, "the smallest is told")
	var brief, all strings.Builder
	require.NoError(t, r.WriteText(&brief, false))
	require.NoError(t, r.WriteText(&all, true))
	for _, want := range []string{
		"FAIL  hairpin (S4)", decided, "again: chainwalk fuzz --seed 7 --case 2\n",
		"also breaks client-address: chainwalk fuzz --seed 7 --case 4\n", "5 failures, which look like 4\n",
	} {
		assert.Contains(t, brief.String(), want)
		assert.Contains(t, all.String(), want)
	}
	assert.NotContains(t, brief.String(), "clauses that must hold")
	assert.NotContains(t, brief.String(), "long file")
	assert.Contains(t, all.String(), "clauses that must hold: ")
	assert.Contains(t, all.String(), "long file")
}

func TestABriefTextIsOneScreen(t *testing.T) {
	r := &Result{}
	for i := range 40 {
		r.Failures = append(r.Failures, Failure{Clause: fmt.Sprint("clause-", i), File: strings.Repeat("line\n", 40)})
	}
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, false))
	assert.LessOrEqual(t, strings.Count(b.String(), "\n"), 40)
	assert.Contains(t, b.String(), "and 35 more (-v)")
}

// TestSmallerCasesAreOfTheSameCause: a smaller case that breaks the same clause by something else is not taken.
func TestSmallerCasesAreOfTheSameCause(t *testing.T) {
	size := func(same bool) (files, asked int) {
		r := found(t, Options{Seed: 3, Runs: 20, Shrinks: 50, Still: func(context.Context, *trial.Violation, string, Again) (bool, error) {
			asked++
			return same, nil
		}})
		for _, f := range r.Failures {
			files += len(f.File)
		}
		return files, asked
	}
	small, tried := size(true)
	large, refused := size(false)
	assert.Less(t, small, large)
	assert.Greater(t, tried, 1)
	assert.Greater(t, refused, tried)
}

// TestClausesOfAModeAreMissedInThatModeAlone: a long run must reach each clause of the mode that it ran, and none of another one.
func TestClausesOfAModeAreMissedInThatModeAlone(t *testing.T) {
	for mode, missed := range map[string]bool{"": false, string(oracle.NFTables): true, bothModes: true} {
		names := (&Result{Mode: mode, Cases: enough}).Missed(nil)
		of := map[oracle.Mode]int{}
		for _, c := range oracle.Clauses() {
			if c.Force != oracle.Must {
				continue
			}
			of[c.Mode]++
			assert.Equal(t, c.Mode == "" || missed, slices.Contains(names, c.Name), "%s in mode %q", c.Name, mode)
		}
		assert.NotZero(t, of[""])
		assert.NotZero(t, of[oracle.NFTables])
	}
	assert.Empty(t, (&Result{Cases: enough - 1}).Missed(nil), "a short run need not reach all")
}
