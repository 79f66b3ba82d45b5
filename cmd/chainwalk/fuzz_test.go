package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

func TestFuzzPrintsTheSameForTheSameSeed(t *testing.T) {
	runs := strconv.Itoa(6 / max(race.Every(2), sample.Every(2)))
	args := []string{"fuzz", "--seed", "9", "--runs", runs, "--shrinks", "20"}
	status, out, errOut := call("", args...)
	assert.LessOrEqual(t, status, exitNotHeld, errOut)
	assert.Contains(t, out, "seed 9, shard 1 of 1")
	assert.Contains(t, out, runs+" cases: ")
	assert.Contains(t, errOut, "connections a second")
	_, again, _ := call("", append(args, "--workers", "1")...)
	assert.Equal(t, out, again)
	_, other, _ := call("", "fuzz", "--seed", "10", "--runs", runs, "--shrinks", "20")
	assert.NotEqual(t, out, other)
}

func TestFuzzShardsAreJoined(t *testing.T) {
	folder := t.TempDir()
	for _, shard := range []string{"1/2", "2/2"} {
		_, out, errOut := call("", "fuzz", "--seed", "9", "--runs", "2", "--shrinks", "1", "--shard", shard, "--out",
			filepath.Join(folder, shard[:1]), "-o", "json")
		assert.Contains(t, out, `"cases": 2`, errOut)
	}
	joined := filepath.Join(folder, "joined")
	_, out, errOut := call("", "fuzz", "merge", folder, "--out", joined)
	assert.Contains(t, out, "seed 9, several shards", errOut)
	assert.Contains(t, out, "4 cases: ")
	assert.FileExists(t, filepath.Join(joined, "merged.json"))

	_, whole, _ := call("", "fuzz", "--seed", "9", "--runs", "4", "--shrinks", "1", "-o", "json")
	one, two := write(t, "whole.json", whole), filepath.Join(joined, "merged.json")
	assert.Equal(t, figuresIn(t, one), figuresIn(t, two), "two shards have the same cases as one process")
}

// TestFuzzSaysHowToFindACaseAgain: the command has all flags that choose what is drawn.
func TestFuzzSaysHowToFindACaseAgain(t *testing.T) {
	for want, o := range map[string]fuzzOptions{
		"chainwalk fuzz":                 {mode: "iptables"},
		"chainwalk fuzz --mode nftables": {mode: "nftables"},
		"chainwalk fuzz --mode both --without dual-stack,policies": {mode: "both", without: []string{"dual-stack", "policies"}},
	} {
		assert.Equal(t, want, o.program())
	}
}

// TestFuzzMayMissWhatItsModeLacks: what a mode cannot reach is asked of the others alone.
func TestFuzzMayMissWhatItsModeLacks(t *testing.T) {
	clauses, marks := map[string]bool{}, map[string]bool{}
	for _, c := range oracle.Clauses() {
		clauses[c.Name] = true
	}
	for _, m := range mark.All() {
		marks[m.String()] = true
	}
	for name := range trial.UnreachedInNFTables() {
		assert.True(t, clauses[name] || marks[name], name)
		assert.True(t, rare("nftables")[name], name)
		assert.False(t, rare("both")[name] || rare("")[name], name)
	}
}

// TestFuzzPageHasTheWaysOfWhatWasFound: what is stored is run once more for its page.
func TestFuzzPageHasTheWaysOfWhatWasFound(t *testing.T) {
	folder := t.TempDir()
	failing := strings.Replace(small, "source: kept", "source: masqueraded", 1)
	stored, err := os.Create(filepath.Join(folder, "result-1-1-of-1.json"))
	require.NoError(t, err)
	require.NoError(t, (&fuzz.Result{Version: 1, Seed: 1, Shard: 1, Shards: 1, Failures: []fuzz.Failure{
		{Clause: "client-address", Law: "S9", Text: "Who is called sees who calls.", Want: "masqueraded", Got: "kept", File: failing},
	}}).WriteJSON(stored))
	require.NoError(t, stored.Close())
	status, out, errOut := call("", "fuzz", "merge", folder, "-o", "html")
	assert.Equal(t, exitNotHeld, status, errOut)
	for _, want := range []string{"1 finding against the specification", "client-address", "Who is called sees who calls.",
		"nat:KUBE-SERVICES:rule:1", "name: a small scenario"} {
		assert.True(t, strings.Contains(out, want), want)
	}
	status, _, errOut = call("", "fuzz", "merge", folder, "-o", "page")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "want text, json or html")
}

func figuresIn(t *testing.T, path string) *fuzz.Result {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // nothing was written
	r, err := fuzz.ReadResult(file)
	require.NoError(t, err)
	return &fuzz.Result{Cases: r.Cases, Figures: r.Figures}
}

func TestFuzzRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a shard of none":       {[]string{"--shard", "3/2"}, "want I/N"},
		"no shard":              {[]string{"--shard", "two"}, "want I/N"},
		"an output":             {[]string{"-o", "xml"}, "want text, json or html"},
		"a feature":             {[]string{"--without", "nothing"}, `no feature "nothing"`},
		"fewer runs than none":  {[]string{"--runs", "-1"}, "want more than 0"},
		"an argument":           {[]string{"more"}, "unknown command"},
		"nothing to join":       {[]string{"merge", t.TempDir()}, "no result to join"},
		"a folder that is none": {[]string{"merge", "/nowhere"}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, errOut := call("", append([]string{"fuzz"}, tc.args...)...)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, errOut, tc.want)
		})
	}
}

func TestFuzzJudgesStoredScenarios(t *testing.T) {
	status, out, errOut := call("", "fuzz", "judge", write(t, "scenario.yaml", small))
	assert.Equal(t, exitHeld, status, out+errOut)
	assert.Contains(t, out, "1 scenarios: ")
	assert.Contains(t, out, "0 findings")
}

// TestFuzzThatIsInterruptedSaysSo: it prints what it has found, and its status is neither that of a search that held nor that of one that
// failed.
func TestFuzzThatIsInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	err := runFuzz(ctx, streams{out: &out, errOut: &errOut},
		fuzzOptions{seed: 9, runs: 3, shard: "1/1", first: -1, output: "text", mode: "iptables"})
	require.EqualError(t, err, "interrupted: 0 cases were judged")
	assert.NotErrorIs(t, err, errNotHeld)
	assert.Contains(t, out.String(), "interrupted: this is what was found so far")
}
