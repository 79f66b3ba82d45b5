package main

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/sim"
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
	_, err = faultOf("gremlins")
	assert.ErrorContains(t, err, `no fault "gremlins"`)
}

func TestFourOfFiveScenariosHaveToRun(t *testing.T) {
	assert.True(t, (&totals{all: 186, ran: 149}).enough())
	assert.False(t, (&totals{all: 186, ran: 148}).enough())
	assert.True(t, (&totals{}).enough(), "who runs none is not held to it")
	assert.True(t, (&totals{all: 186, ran: 140, ofIPTables: 9}).enough())
	assert.False(t, (&totals{all: 186, ran: 140, ofIPTables: 8}).enough())
}

// TestScenariosOfOneConfigurationRunTogether, and the report has them as they are listed.
func TestScenariosOfOneConfigurationRunTogether(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for name, config := range map[string]string{"a": "", "b": "kubeProxy: {iptables: {masqueradeAll: true}}", "c": "", "d": "kubeProxy: {iptables: {masqueradeAll: true}}"} {
		file := filepath.Join(folder, name+".yaml")
		require.NoError(t, os.WriteFile(file, []byte("name: "+name+"\n"+config+"\nsteps: [{sync: true}]\n"), 0o600))
		files = append(files, file)
	}
	slices.Sort(files)
	all, err := scenarios.Load(files...)
	require.NoError(t, err)
	var ran, told []string
	rows := rowsOf(all, func(s *scenarios.Scenario) *scenarioRow {
		ran = append(ran, s.Name)
		if s.Name == "b" {
			return nil
		}
		return &scenarioRow{Name: s.Name}
	})
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
				{At: "cases/dns.yaml:3:1", Name: "to dns", Packet: "udp 1.2.3.4:53 from a", Wrong: "lost | for ever", Predicted: "nothing: no rules", Outcomes: []string{"silent"}},
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
	table, err := os.ReadFile(filepath.Join(folder, "sample.md"))
	require.NoError(t, err)
	assert.Equal(t, `| scenario | chainwalk iptables (iptables-nft) |
| --- | --- |
| cases/web.yaml | ok (1 probes) |
| cases/dns.yaml | **failed** (1 of 1 probes) |
| cases/late.yaml | not run: time cannot be moved |
| under traffic: a zone | ok |
`, string(table))
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nfoo: 2\n"), 0o644))
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
probes: 2, of which 1 were predicted; disagreements: 1
other checks: 1, not as expected: 1
false alarm: at most 0 (counts held against their probabilities)
changes under traffic: 1 of 1 held
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

// TestTheMissingRuleIsNamed: of a proxier without the hairpin's masquerade, in a cluster of other addresses.
func TestTheMissingRuleIsNamed(t *testing.T) {
	all, err := scenarios.Load("../../scenarios/testdata/cases/hairpin.yaml")
	require.NoError(t, err)
	sound := scenarios.Run(t.Context(), all[0], sim.Backend{})
	require.False(t, sound.Failed())
	here := *sound
	c := here.Checks[0]
	removed := ""
	for i := range c.Ways {
		w := c.Ways[i]
		w.Forward = append([]scenarios.Hop(nil), w.Forward...)
		for j := range w.Forward {
			var steps []scenarios.TraceStep
			for _, s := range w.Forward[j].Steps {
				if strings.Contains(s.Rule, "-A KUBE-SEP-") && strings.Contains(s.Rule, "KUBE-MARK-MASQ") {
					removed = w.Forward[j].Host + " lacks " + s.Rule
					continue
				}
				steps = append(steps, s)
			}
			w.Forward[j].Steps = steps
		}
		c.PredictedWays = append(c.PredictedWays, w)
	}
	require.NotEmpty(t, removed, "the first check of the file is a hairpin")
	assert.Equal(t, []string{removed}, rulesBetween(&c, sound))
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
