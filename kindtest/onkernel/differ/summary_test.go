package differ

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ended and printed are events of a test.
func ended(action, test string) string {
	return fmt.Sprintf(`{"Action": %q, "Package": "p", "Test": %q}`, action, test)
}

func printed(test, text string) string {
	return fmt.Sprintf(`{"Action": "output", "Package": "p", "Test": %q, "Output": %q}`, test, text)
}

func TestSummaryAddsUp(t *testing.T) {
	events := []string{
		printed("TestA", "a word\n"),
		printed("TestA", `differ-json {"walk": {"dialect": "legacy", "family": 4, "rulesets": 3, "rules": 30, "packets": 20, "steps": 100,`),
		printed("TestA", ` "chance": {"draws": 5}, "endedEarly": {"no socket": 1}}}`+"\n"), // long lines come in pieces
		printed("TestA", `differ-json {"text": {"dialect": "legacy", "family": 4, "textCases": 40, "excused": {"help": 2}}}`+"\n"),
		printed("TestA", `differ-json {"walk": {"dialect": "nft", "family": 6, "rulesets": 2, "rules": 7, "packets": 8, "steps": 9, `+
			`"endedEarly": {"no socket": 1}, "leftOut": [{"piece": "match x", "reason": "no"}]}}`+"\n"),
		printed("TestA", `differ-json {"replay": {"cases": 1, "packets": 2, "steps": 3}}`+"\n"),
		printed("TestA", `differ-json {"options": {"all": 9, "asked": 7, "missing": ["-m mark --mark", "-j LOG --log-uid"]}}`+"\n"),
		ended("pass", "TestA"),
		ended("pass", "TestKernelTextCases/one"),
		ended("pass", ""),
		ended("skip", ""), // a package without test files
	}
	var out strings.Builder
	s := summary{out: &out}
	for _, e := range events {
		require.NoError(t, s.add(e))
	}
	assert.True(t, s.held(true))
	assert.Empty(t, out.String(), "what passed is not shown")
	s.print(12 * time.Second)
	for _, want := range []string{
		"in 12 s", "legacy IPv4 3 30 20 100 5 40 0", "nft IPv6 2 7 8 9 0 0 0", "recorded walk cases 1 0 2 3 0 0 0",
		"recorded text cases 0 0 0 0 0 1 0", "together 6 37 30 112 5 41 0",
		"2 times rulesets not compared to their end: no socket", "2 times text cases excused: help", "1 times left out: match x: no",
		"in rules that the tools were asked about: 7 of 9 not asked about: -m mark --mark not asked about: -j LOG --log-uid",
		"tests: 2 passed, 0 failed, 0 skipped",
	} {
		assert.Contains(t, strings.Join(strings.Fields(out.String()), " "), want)
	}
}

func TestSummaryDoesNotHold(t *testing.T) {
	for what, event := range map[string]string{
		"a failed test": ended("fail", "TestX"), "a failed part of a test": ended("fail", "TestX/y"),
		"a package that is not built": `{"Action": "fail", "Package": "p", "FailedBuild": "p"}`,
		"a skipped test":              ended("skip", "TestX"),
		"a disagreement":              printed("TestX", `differ-json {"text": {"disagreements": [{"what": "x"}]}}`+"\n"),
	} {
		t.Run(what, func(t *testing.T) {
			var out strings.Builder
			s := summary{out: &out, passed: 1}
			require.NoError(t, s.add(printed("TestX", "why\n")))
			require.NoError(t, s.add(event))
			assert.False(t, s.held(true))
			if strings.HasPrefix(what, "a failed test") || strings.HasPrefix(what, "a skipped") {
				assert.Equal(t, "why\n", out.String())
			}
		})
	}
	var out strings.Builder
	s := summary{out: &out}
	assert.False(t, s.held(true), "nothing ran")
	assert.False(t, s.held(false), "nothing was compared")
	require.NoError(t, s.add("no event"))
	assert.Equal(t, "no event\n", out.String())
	assert.Error(t, s.add(printed("TestX", "differ-json {\n")))
}
