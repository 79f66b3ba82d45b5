package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
)

// buildThatPrints is a program in the place of a build of chainwalk.
func buildThatPrints(t *testing.T, name, out string, status int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "out"), []byte(out), 0o600))
	program := filepath.Join(dir, name)
	script := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = \"run -o json --ways all --run  -- s.yaml\" ] || { echo \"called with: $*\" >&2; exit 2; }\n"+
		"cat %q\nexit %d\n", filepath.Join(dir, "out"), status)
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700)) //nolint:gosec // a program
	return program
}

// TestRunDiffSaysWhichPacketsChange between what two builds print of the same scenario: the second one has an endpoint less, and keeps
// the source.
func TestRunDiffSaysWhichPacketsChange(t *testing.T) {
	report := func(text string) string {
		_, out, errOut := call(text, "run", "-", "-o", "json", "--ways", "all")
		require.True(t, json.Valid([]byte(out)), errOut)
		return out
	}
	other := strings.Replace(small, "addresses: [10.244.2.2]", "addresses: [10.244.2.9]", 1)
	before := buildThatPrints(t, "before", report(small), exitHeld)
	same := buildThatPrints(t, "same", report(small), exitHeld)
	after := buildThatPrints(t, "after", report(other), exitNotHeld)

	status, out, errOut := call("", "run", "--diff", before, same, "s.yaml")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Equal(t, "no packet changes: 2 checks in 1 scenario\n", out)

	status, out, errOut = call("", "run", "--diff", before, after, "s.yaml")
	assert.Equal(t, exitNotHeld, status, errOut)
	for _, want := range []string{
		"1 change in 1 of 1 scenario\n\n<stdin>:15:61: tcp 172.30.0.41:80 from client (iptables-legacy and -nft)\n",
		"  sent: tcp 172.30.0.41:80 from client\n", "  " + before + ": reaches 10.244.2.2:8080",
		"  " + after + ": not as expected: reaches 10.244.2.9:8080",
		"    decided by -A KUBE-SEP-", "--to-destination 10.244.2.9:8080\n",
	} {
		assert.Contains(t, out, want)
	}
	status, out, errOut = call("", "run", "--diff", before, after, "s.yaml", "-o", "json")
	assert.Equal(t, exitNotHeld, status, errOut)
	var found scenarios.Comparison
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	require.Len(t, found.Changes, 1)
	assert.Equal(t, []any{1, 2, 1, "legacy and -nft", true, false},
		[]any{found.Version, found.Checks, found.Files, found.Changes[0].Tools, found.Changes[0].Before.Passed, found.Changes[0].After.Passed})
}

func TestRunDiffRefuses(t *testing.T) {
	good := buildThatPrints(t, "good", `{"version": 1, "results": []}`, exitHeld)
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"one build":                 {[]string{good, "s.yaml"}, "--diff BUILD1 BUILD2 PATH...: give two programs"},
		"standard input":            {[]string{good, good, "-"}, "standard input cannot be read twice"},
		"a page":                    {[]string{good, good, "s.yaml", "-o", "html"}, "-o html: with --diff want text or json"},
		"a real kernel":             {[]string{good, good, "s.yaml", "--on", "netns"}, "each build runs its own simulation"},
		"watching":                  {[]string{good, good, "s.yaml", "--watch"}, "leave out --watch"},
		"no program":                {[]string{"/does/not/exist", good, "s.yaml"}, "/does/not/exist is to be a build of chainwalk"},
		"a program that is another": {[]string{buildThatPrints(t, "x", "hello", exitHeld), good, "s.yaml"}, "no report of chainwalk run -o json"},
		"another version":           {[]string{buildThatPrints(t, "x", `{"version": 9}`, exitHeld), good, "s.yaml"}, "a report of version 9"},
		"no such file there":        {[]string{good, buildThatPrints(t, "x", "", exitUsage), "s.yaml"}, "exit status 2"},
		"nothing to compare":        {[]string{good, good, "s.yaml"}, "no scenario was run"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"run", "--diff"}, row.args...)...)
			assert.Equal(t, exitUsage, status, errOut)
			assert.Empty(t, out)
			assert.Contains(t, errOut, row.want)
		})
	}
}
