package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// missed is a result that failed since a rule led to the wrong endpoint.
func missed(file, rule, difference string) *Result {
	return &Result{Name: file, File: file, Backend: "sim", Checks: []Check{
		{Name: "a", Wrong: "x", difference: difference, Ways: []Way{{Rule: rule}}},
		{Name: "b", Wrong: "y", difference: difference, Ways: []Way{{Rule: rule}}},
	}}
}

func TestFailuresAreGroupedByWhatDecided(t *testing.T) {
	const to = ` -p tcp -m comment --comment "shop/web has no" -m tcp -j DNAT --to-destination 10.0.0.`
	results := []*Result{
		missed("d/a.yaml", "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", "source is not as expected"),
		missed("d/b.yaml", "-A KUBE-SEP-AAAAAAAAAAAAAAAA"+to+"1:80", "reject expected, and it was delivered"),
		{Name: "held", File: "d/c.yaml", Backend: "sim", Checks: []Check{{Passed: true}}},
		missed("d/d.yaml", "-A KUBE-SEP-BBBBBBBBBBBBBBBB"+to+"2:80", "reject expected, and it was delivered"),
		{Name: "d/e.yaml", File: "d/e.yaml", Unread: true, Checks: []Check{{Error: true, Name: "read the scenario", Wrong: "e.yaml:1:1: no"}}},
		missed("d/f.yaml", "filter:FORWARD:policy:3", "reject expected, and it was delivered"),
	}
	var lines []string
	for _, g := range FailureGroups(results) {
		lines = append(lines, g.String())
	}
	want := []string{
		"2 files: reject expected, and it was delivered, decided by -A KUBE-SEP -p -m -m -j DNAT --to-destination: d/b.yaml, d/d.yaml",
		"1 file: source is not as expected, decided by -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000: d/a.yaml",
		"1 file: could not be read: d/e.yaml",
		"1 file: reject expected, and it was delivered, decided by filter:FORWARD:policy:3: d/f.yaml",
	}
	assert.Equal(t, want, lines)

	var b strings.Builder
	require.NoError(t, WriteText(&b, results, WaysNone))
	assert.Contains(t, b.String(), "failed:\n  "+strings.Join(want, "\n  ")+"\n6 scenarios, 5 failed")
	b.Reset()
	require.NoError(t, WriteText(&b, results[:1], WaysNone))
	assert.NotContains(t, b.String(), "failed:\n", "one failure is told above")
}

func TestGroupsNameTheFirstFilesOnly(t *testing.T) {
	g := FailureGroup{What: "w", Files: []string{"a", "b", "c", "d", "e"}}
	assert.Equal(t, "5 files: w: a, b, c and 2 more", g.String())
}

// TestFoldersAreOneLine: what held is counted by folder, and each is named where that is asked for.
func TestFoldersAreOneLine(t *testing.T) {
	held := func(file string) *Result {
		return &Result{Name: file, File: file, Backend: "sim", Checks: []Check{{Passed: true}, {Passed: true}, {Passed: true, Skipped: "blind"}}}
	}
	results := []*Result{held("d/a"), held("e/a"), held("d/b"), missed("d/c", "", "x"), held("f/a"), held("f/b"),
		{Name: "not here", File: "f/c", Skipped: "runs on kind only"}}
	text := func(d Detail) string {
		var b strings.Builder
		report := NewTextReport(&b, WaysNone, d)
		for _, r := range results {
			require.NoError(t, report.Add(r))
		}
		require.NoError(t, report.End())
		return b.String()
	}
	assert.True(t, strings.HasPrefix(text(Normal), "FAIL  d/c (d/c on sim)\n"))
	assert.Contains(t, text(Normal), "\nskip  not here (f/c): runs on kind only\n"+
		"ok    d: 2 of 3 scenarios on sim, 4 checks\nok    e/a (e/a on sim, 2 checks, 1 skipped)\nok    f: 2 scenarios on sim, 4 checks\n"+
		"7 scenarios, 1 failed, 1 skipped")
	for _, d := range []Detail{Each, Verbose} {
		assert.Equal(t, 5, strings.Count("\n"+text(d), "\nok    "))
	}
	assert.NotContains(t, text(Quiet), "ok    ")
}

// TestWhatWasLoggedIsToldOfFailuresOnly, the first lines of it.
func TestWhatWasLoggedIsToldOfFailuresOnly(t *testing.T) {
	bad := missed("a", "", "x")
	bad.Log = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10\nmore", "11", "12"}
	good := &Result{Name: "b", File: "b", Log: []string{"nothing of interest"}}
	var b strings.Builder
	require.NoError(t, WriteText(&b, []*Result{bad, good}, WaysNone))
	assert.Contains(t, b.String(), "  logged: 1\n")
	assert.Contains(t, b.String(), "  logged: 10\n    more\n  and 2 lines more logged\n")
	assert.NotContains(t, b.String(), "of interest")
}
