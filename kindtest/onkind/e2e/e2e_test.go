package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/command"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/trackrecord"
)

func TestUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"one report is not joined": {"-join", "a.yaml"},
		"no such part":             {"-only", "docs"},
		"a fault of another proxy": {"-fault", "hairpin", "-proxy", "kube-proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			assert.Equal(t, command.Broken, newCommand().Run(t.Context(), args, &out, &out))
			assert.Contains(t, out.String(), "Usage")
		})
	}
}

func TestAFaultIsFoundByHowItBegins(t *testing.T) {
	found, err := faultOf("hairpin")
	require.NoError(t, err)
	assert.Equal(t, "hairpin-keeps-source", found)
	_, err = faultOf("udp-flows")
	assert.ErrorContains(t, err, `the fault "udp-flows" is one of udp-flows-to-gone-endpoints-kept, `)
	found, err = faultOf("uneven")
	require.NoError(t, err)
	assert.Equal(t, unevenShares, found)
	_, err = faultOf("gremlins")
	assert.ErrorContains(t, err, `no fault "gremlins"`)
}

// TestEveryFaultCanBeMade: the text that it changes is there.
func TestEveryFaultCanBeMade(t *testing.T) {
	root, err := overlay.Root()
	require.NoError(t, err)
	for _, name := range []string{unevenShares, trackrecord.Faults()[0].Name} {
		o, err := overlayOf(root, name)
		require.NoError(t, err, name)
		assert.NotEmpty(t, o.Files(), name)
	}
}

// TestReportsHaveRelativePaths, from wherever the files are named.
func TestReportsHaveRelativePaths(t *testing.T) {
	race.OneGoroutine(t)
	here, err := os.Getwd()
	require.NoError(t, err)
	file := filepath.Join("testdata", "web.yaml")
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("testdata", 0o755))
	require.NoError(t, os.WriteFile(file, []byte("name: web\nsteps: [{sync: true}]\n"), 0o600))
	inside, err := os.Getwd()
	require.NoError(t, err)
	for _, given := range []string{file, filepath.Join(inside, file)} {
		all, err := load([]string{given})
		require.NoError(t, err)
		assert.Equal(t, file, all[0].Pos.File)
	}
	t.Chdir(filepath.Join(here, "..", "..", ".."))
	all, err := load(nil)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(all[0].Pos.File, shipped), all[0].Pos.File)
}

func TestNineOfTenScenariosHaveToRun(t *testing.T) {
	assert.True(t, (&totals{Scenarios: 186, Ran: 168}).enough())
	assert.False(t, (&totals{Scenarios: 186, Ran: 167}).enough())
	assert.True(t, (&totals{}).enough(), "who runs none is not held to it")
	assert.True(t, (&totals{Scenarios: 186, Ran: 150, OfOtherMode: 20}).enough(), "150 of 166")
	assert.False(t, (&totals{Scenarios: 186, Ran: 149, OfOtherMode: 20}).enough(), "149 of 166")
	assert.True(t, (&totals{Scenarios: 2, OfOtherMode: 2}).enough())
}

// TestScenariosOfOneConfigurationRunTogether, and the report has them as they are listed.
func TestScenariosOfOneConfigurationRunTogether(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for name, config := range map[string]string{"a": "", "b": "kubeProxy: {iptables: {masqueradeAll: true}}", "c": "",
		"d": "kubeProxy: {iptables: {masqueradeAll: true}}"} {
		file := filepath.Join(folder, name+".yaml")
		require.NoError(t, os.WriteFile(file, []byte("name: "+name+"\n"+config+"\nsteps: [{sync: true}]\n"), 0o600))
		files = append(files, file)
	}
	slices.Sort(files)
	all, err := scenarios.Load(files...)
	require.NoError(t, err)
	var ran, told []string
	rows := rowsOf(all, []place{{2, func(s *scenarios.Scenario) *scenarioRow {
		ran = append(ran, s.Name)
		if s.Name == "b" {
			return nil
		}
		return &scenarioRow{Name: s.Name}
	}}})
	for i := range rows {
		told = append(told, rows[i].Name)
	}
	assert.Equal(t, []string{"a", "c", "b", "d"}, ran)
	assert.Equal(t, []string{"a", "c", "d"}, told, "without the one that came to no end")
}

// sampleReport is a report of one probe in each of two scenarios, and a third that did not run.
func sampleReport(proxy string, outcomes ...string) *report {
	return &report{
		Version: reportVersion, Proxy: proxy, Mode: "iptables", Tool: "nft", Family: "dual", Seconds: 61,
		Scenarios: []scenarioRow{
			{Name: "web", File: "cases/web.yaml", Result: resultHeld, Probes: []probeRow{
				{At: "cases/web.yaml:3:1", Name: "to the port", Packet: "tcp 1.2.3.4:80 from a", Predicted: "reaches x", Outcomes: outcomes},
			}},
			{Name: "dns", File: "cases/dns.yaml", Result: resultFailed, Probes: []probeRow{
				{At: "cases/dns.yaml:3:1", Name: "to dns", Packet: "udp 1.2.3.4:53 from a", Predicted: "silent", InPart: true,
					Outcomes:      []string{"silent"},
					Disagreements: []disagreement{{scenarios.ExpectedGot, "lost | for ever"}, {scenarios.ExpectedPredicted, "silent"}},
					Rules:         []string{"node1 lacks -A X"}},
				{At: "cases/dns.yaml:4:1", Name: "again", Packet: "udp 1.2.3.4:53 from a", Predicted: "nothing: no rules",
					Outcomes: []string{"silent"}},
			}, Others: []otherRow{{At: "cases/dns.yaml:5:1", Name: "rules", Wrong: "none"}}},
			{Name: "late", File: "cases/late.yaml", Result: resultNotRun, Why: "time cannot be moved"},
		},
		Changes: []changeRow{{Name: "a zone", Result: resultHeld, Told: "fine"}},
	}
}

func TestReportsAreReadAsTheyWereWritten(t *testing.T) {
	folder := t.TempDir()
	want := sampleReport("chainwalk", "answered by x at 1.1.1.1:1, from 2.2.2.2")
	path, err := want.writeFiles(folder, "sample")
	require.NoError(t, err)
	got, err := readReport(path)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, 1, got.Totals.Failed, "sums are in the file")
	assert.Equal(t, "lost | for ever", got.Failures[0].Why)
	table, err := os.ReadFile(filepath.Join(folder, "sample.md"))
	require.NoError(t, err)
	assert.Equal(t, `# chainwalk iptables (iptables-nft), dual

- scenarios: 2 of 3 ran (66 of 100), 1 failed
  - not run: 1: time cannot be moved
- probes: 3, of which 2 were predicted (1 without how often)
- probes whose columns disagree: 1 (expected and got: 1, predicted and got: 0, expected and predicted: 1)
- other checks: 1, not as expected: 1
- changes under traffic: 1 of 1 held
- false alarm: at most 0 (counts held against their probabilities)
- time: 61 s

## What failed

- dns: to dns (cases/dns.yaml:3:1): expected and got: lost | for ever
  - node1 lacks -A X
- dns: to dns (cases/dns.yaml:3:1): expected and predicted: silent
- dns: rules (cases/dns.yaml:5:1): none

| scenario | chainwalk iptables (iptables-nft) |
| --- | --- |
| cases/web.yaml | ok (1 probes) |
| cases/dns.yaml | **failed** (1 of 2 probes) |
| cases/late.yaml | not run: time cannot be moved |
| under traffic: a zone | ok |
`, string(table))
	require.NoError(t, os.WriteFile(path, []byte("version: 2\nfoo: 2\n"), 0o644))
	_, err = readReport(path)
	assert.ErrorContains(t, err, "foo")
	require.NoError(t, os.WriteFile(path, []byte("version: 9\n"), 0o644))
	_, err = readReport(path)
	assert.ErrorContains(t, err, "version is 9")
}

func TestTheSummaryHasAllSums(t *testing.T) {
	var out strings.Builder
	sampleReport("chainwalk", "silent").writeSummary(&out)
	assert.Equal(t, `
chainwalk, mode iptables, iptables-nft, dual
scenarios: 2 of 3 ran (66 of 100), 1 failed
  not run: 1: time cannot be moved
probes: 3, of which 2 were predicted (1 without how often)
probes whose columns disagree: 1 (expected and got: 1, predicted and got: 0, expected and predicted: 1)
other checks: 1, not as expected: 1
changes under traffic: 1 of 1 held
false alarm: at most 0 (counts held against their probabilities)
time: 61 s
`, out.String())
}

func TestReportsAreJoined(t *testing.T) {
	folder := t.TempDir()
	write := func(r *report) string {
		path, err := r.writeFiles(folder, r.Proxy)
		require.NoError(t, err)
		return path
	}
	ours := write(sampleReport("chainwalk", "answered by x at 1.1.1.1:1, from 2.2.2.2"))
	theirs := write(sampleReport("kube-proxy", "refused with tcp-reset"))
	var out bytes.Buffer
	assert.Equal(t, command.Failed, newCommand().Run(t.Context(), []string{"-join", ours, theirs}, &out, &out))
	assert.Contains(t, out.String(), "| cases/web.yaml | ok (1 probes) | ok (1 probes) |")
	assert.Contains(t, out.String(), `1 differences, 1 of them findings

- web: to the port (tcp 1.2.3.4:80 from a)
  - chainwalk iptables (iptables-nft): answered by x at 1.1.1.1:1, from 2.2.2.2
  - kube-proxy iptables (iptables-nft): refused with tcp-reset
  - a finding: no document allows it
`)
	out.Reset()
	assert.Equal(t, command.Held, newCommand().Run(t.Context(), []string{"-join", ours, ours}, &out, &out))
	assert.Contains(t, out.String(), "0 differences, 0 of them findings\n")
}

// TestManyEndpointsAreComparedByKind: a hundred tries may miss one of many.
func TestManyEndpointsAreComparedByKind(t *testing.T) {
	var many []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		many = append(many, "answered by "+name+" at 1.1.1.1:1, from 2.2.2.2")
	}
	assert.Empty(t, differencesOf([]*report{sampleReport("a", many...), sampleReport("b", many[:7]...)}))
	assert.Len(t, differencesOf([]*report{sampleReport("a", many...), sampleReport("b", append(many[:6:6], "silent")...)}), 1)
}

// metOn is a way on which a packet meets these rules of node1.
func metOn(rules ...string) []scenarios.Way {
	hop := scenarios.Hop{Host: "node1"}
	for _, r := range rules {
		hop.Steps = append(hop.Steps, scenarios.TraceStep{Rule: r})
	}
	return []scenarios.Way{{Forward: []scenarios.Hop{hop}}}
}

// TestCausesComeBeforeWhatFollows: of a proxier without the hairpin's masquerade, in a cluster of other addresses. Only the rule that is
// not there is said to be missing.
func TestCausesComeBeforeWhatFollows(t *testing.T) {
	const jump, mark, masquerade = "-A KUBE-SEP-%s -s 10.244.1.1/32 -j KUBE-MARK-MASQ", "-A KUBE-MARK-MASQ -j MARK",
		"-A KUBE-POSTROUTING -j MASQUERADE"
	const unmarked = "-A KUBE-POSTROUTING -j RETURN"
	here, there := strings.Repeat("A", 16), strings.Repeat("B", 16)
	twin := scenarios.Check{At: "f:1:1", Step: 1, Ways: metOn(fmt.Sprintf(jump, there), mark, masquerade)}
	twin.Rules = func(string) []string { return []string{fmt.Sprintf(jump, there), mark, unmarked, masquerade} }
	sound := &scenarios.Result{Checks: []scenarios.Check{twin}}
	c := scenarios.Check{At: "f:1:1", Step: 1, PredictedWays: metOn(unmarked)}
	for name, tc := range map[string]struct {
		rules []string
		want  []string
	}{
		"the jump is not there": {
			[]string{mark, unmarked, masquerade},
			[]string{
				"node1 lacks " + fmt.Sprintf(jump, there), "the packet does not meet on node1: " + mark,
				"the packet does not meet on node1: " + masquerade,
				"the packet meets on node1: " + unmarked,
			},
		},
		"the jump is there, and the packet does not come to it": {
			[]string{fmt.Sprintf(jump, here), mark, unmarked, masquerade},
			[]string{
				"the packet does not meet on node1: " + fmt.Sprintf(jump, there), "the packet does not meet on node1: " + mark,
				"the packet does not meet on node1: " + masquerade, "the packet meets on node1: " + unmarked,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.Rules = func(string) []string { return tc.rules }
			assert.Equal(t, tc.want, rulesBetween(&c, sound))
		})
	}
	const extra = "-A KUBE-SERVICES -j REJECT"
	c.PredictedWays, c.Rules = metOn(extra), func(string) []string { return []string{extra, fmt.Sprintf(jump, here), mark, masquerade} }
	assert.Equal(t, "node1 has "+extra, rulesBetween(&c, sound)[0],
		"a rule that should not be there comes before those that the packet misses for it")
	c.Rules = nil
	for _, text := range rulesBetween(&c, sound) {
		assert.NotContains(t, text, "lacks", "the rules are not known")
	}
}

// TestTheSoundTwinKeepsItsRules, as they are at each check.
func TestTheSoundTwinKeepsItsRules(t *testing.T) {
	all, err := scenarios.Load("../../../scenarios/testdata/cases/hairpin.yaml")
	require.NoError(t, err)
	sound := scenarios.Run(t.Context(), all[0], soundBackend{})
	require.False(t, sound.Failed())
	for _, r := range rulesOf(sound.Checks[0].Ways) {
		assert.True(t, slices.Contains(sound.Checks[0].Rules(r.node), r.text), "%s: %s", r.node, r.text)
	}
}

func TestChainsOfOtherAddressesAreTheSame(t *testing.T) {
	a := rule{"node1", "-A KUBE-SEP-AAAAAAAAAAAAAAAA -j DNAT"}
	assert.True(t, a.is(rule{"node1", "-A KUBE-SEP-BBBBBBBBBBBBBBBB -j DNAT"}))
	assert.False(t, a.is(rule{"node2", "-A KUBE-SEP-AAAAAAAAAAAAAAAA -j DNAT"}))
	assert.False(t, a.is(rule{"node1", "-A KUBE-SVC-AAAAAAAAAAAAAAAA -j DNAT"}))
}

// TestRowsHaveWhatTheTwoEndsKnow of each probe.
func TestRowsHaveWhatTheTwoEndsKnow(t *testing.T) {
	server := netip.MustParseAddrPort("10.244.1.2:80")
	r := &scenarios.Result{Name: "n", File: "f", Checks: []scenarios.Check{
		{At: "f:1:1", Name: "probe", Packet: "udp 1.2.3.4:80 from a", Passed: false, Wrong: "w", Got: "g", Predicted: "p", Ways: []scenarios.Way{
			{End: scenarios.Refused, Heard: true, Server: server},
		}},
		{At: "f:2:1", Name: "rules", Passed: true},
	}}
	row := rowOf(r, nil, "iptables", nil)
	assert.Equal(t, resultFailed, row.Result)
	assert.Equal(t, []string{"refused with icmp-port-unreachable"}, row.Probes[0].Outcomes)
	assert.Equal(t, "p", row.Probes[0].Predicted)
	assert.Equal(t, []otherRow{{At: "f:2:1", Name: "rules"}}, row.Others)
	assert.Equal(t, "why", rowOf(&scenarios.Result{Skipped: "why"}, nil, "iptables", nil).Why)
}
