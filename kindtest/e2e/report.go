package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/kindtest/predict"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
)

// reportVersion is raised when a field of the report changes its meaning.
const reportVersion = 1

// report is what came of a run.
type report struct {
	Version int     `yaml:"version"`
	Proxy   string  `yaml:"proxy"`
	Mode    string  `yaml:"mode"`
	Tool    string  `yaml:"tool"`
	Family  string  `yaml:"family"`
	Image   string  `yaml:"image,omitempty"`
	Fault   string  `yaml:"fault,omitempty"`
	Seconds float64 `yaml:"seconds"`
	// FalseAlarm is a bound for the probability that a count is called wrong though it came of its probability.
	FalseAlarm float64       `yaml:"falseAlarm"`
	Scenarios  []scenarioRow `yaml:"scenarios"`
	Changes    []changeRow   `yaml:"changes,omitempty"`
}

// The results.
const (
	resultHeld   = "ok"
	resultFailed = "failed"
	resultNotRun = "not run"
	// resultDiffers: all that is not as expected is allowed in the proxy's mode.
	resultDiffers = "differs"
)

// scenarioRow is a scenario in a report.
type scenarioRow struct {
	Name   string `yaml:"name"`
	File   string `yaml:"file"`
	Result string `yaml:"result"`
	// Why says why it was not run, OfIPTables that this is because of the proxy's mode alone.
	Why        string     `yaml:"why,omitempty"`
	OfIPTables bool       `yaml:"ofIPTables,omitempty"`
	Probes     []probeRow `yaml:"probes,omitempty"`
	// Others are checks that are no probes: what rules, connections and health checks are like.
	Others []otherRow `yaml:"others,omitempty"`
}

// probeRow is a connection or a packet with its three columns.
type probeRow struct {
	At        string `yaml:"at"`
	Name      string `yaml:"name"`
	Packet    string `yaml:"packet"`
	Expected  string `yaml:"expected"`
	Predicted string `yaml:"predicted,omitempty"`
	Happened  string `yaml:"happened"`
	// Outcomes are what the two ends could know of it, without how often.
	Outcomes []string `yaml:"outcomes,omitempty"`
	Wrong    string   `yaml:"wrong,omitempty"`
	// Clauses are what it asks about where modes are known to differ, Allowed what allows that it is not as expected.
	Clauses []clause   `yaml:"clauses,omitempty"`
	Allowed *allowance `yaml:"allowed,omitempty"`
	// Rules are those that a packet meets in one of this cluster and the simulated one, and not in the other, where it went wrong.
	Rules []string `yaml:"rules,omitempty"`
}

type otherRow struct {
	At    string `yaml:"at"`
	Name  string `yaml:"name"`
	Wrong string `yaml:"wrong,omitempty"`
	// Skipped says why it was not looked at.
	Skipped string `yaml:"skipped,omitempty"`
	// Allowed is what allows that it is not as expected.
	Allowed *allowance `yaml:"allowed,omitempty"`
}

// changeRow is a change under traffic.
type changeRow struct {
	Name   string `yaml:"name"`
	Result string `yaml:"result"`
	Told   string `yaml:"told"`
}

// rowOf is what came of a scenario with a proxy in a mode. sound is what came of it in memory, for what went wrong; nil if nothing did.
func rowOf(r, sound *scenarios.Result, mode string, clauses map[moment][]clause) scenarioRow {
	row := scenarioRow{Name: r.Name, File: r.File, Result: resultHeld}
	if r.Skipped != "" {
		row.Result, row.Why = resultNotRun, r.Skipped
		return row
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		about := clauses[moment{c.Step, c.At}]
		if c.Packet == "" {
			o := otherRow{At: c.At, Name: c.Name, Wrong: c.Wrong, Skipped: c.Skipped}
			if !c.Passed {
				o.Allowed = missedBy(mode, about)
			}
			row.Result = worse(row.Result, c.Passed, o.Allowed)
			row.Others = append(row.Others, o)
			continue
		}
		p := probeRow{
			At: c.At, Name: c.Name, Packet: c.Packet, Expected: c.Expected, Predicted: c.Predicted, Happened: c.Got, Wrong: c.Wrong,
			Outcomes: predict.Outcomes(protoOf(c.Packet), c.Ways), Clauses: about,
		}
		if !c.Passed {
			p.Allowed = allowedBy(mode, c.Packet, about, p.Outcomes)
		}
		if !c.Passed && p.Allowed == nil && sound != nil {
			p.Rules = rulesBetween(c, sound)
		}
		row.Result = worse(row.Result, c.Passed, p.Allowed)
		row.Probes = append(row.Probes, p)
	}
	return row
}

// worse is the result of a scenario with one check more.
func worse(result string, passed bool, allowed *allowance) string {
	switch {
	case passed || result == resultFailed:
		return result
	case allowed != nil:
		return resultDiffers
	}
	return resultFailed
}

// protoOf is the protocol that a probe's packet begins with, 0 if it does not say it.
func protoOf(packet string) packetsim.Proto {
	word, _, _ := strings.Cut(packet, " ")
	return map[string]packetsim.Proto{"tcp": packetsim.TCP, "udp": packetsim.UDP, "sctp": packetsim.SCTP}[word]
}

// totals are the sums of a report.
type totals struct {
	all, ran, failed         int
	probes, predicted, wrong int
	allowed                  int // probes and other checks that are not as expected, and may be
	others, othersWrong      int
	othersSkipped            int
	ofIPTables               int // scenarios that are not run because they are of rules of iptables alone
	changes, changesHeld     int
	reasons                  map[string]int // why scenarios were not run
}

func (r *report) totals() totals {
	t := totals{reasons: map[string]int{}, all: len(r.Scenarios), changes: len(r.Changes)}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Result == resultNotRun {
			t.reasons[s.Why]++
			if s.OfIPTables {
				t.ofIPTables++
			}
			continue
		}
		t.ran++
		if s.Result == resultFailed {
			t.failed++
		}
		for j := range s.Probes {
			t.probes++
			if s.Probes[j].Predicted != "" && !strings.HasPrefix(s.Probes[j].Predicted, "nothing:") {
				t.predicted++
			}
			switch {
			case s.Probes[j].Allowed != nil:
				t.allowed++
			case s.Probes[j].Wrong != "":
				t.wrong++
			}
		}
		for j := range s.Others {
			switch {
			case s.Others[j].Skipped != "":
				t.othersSkipped++
				continue
			case s.Others[j].Allowed != nil:
				t.allowed++
			case s.Others[j].Wrong != "":
				t.othersWrong++
			}
			t.others++
		}
	}
	for i := range r.Changes {
		if r.Changes[i].Result == resultHeld {
			t.changesHeld++
		}
	}
	return t
}

// leastShare is how many of 100 shipped scenarios have to run.
const leastShare = 80

// enough reports whether so many scenarios ran as have to, or would with a proxy in mode iptables: a cluster that refuses more is too little of one.
func (t *totals) enough() bool { return (t.ran+t.ofIPTables)*100 >= t.all*leastShare }

// writeSummary prints the sums for a person.
func (r *report) writeSummary(out io.Writer) {
	t := r.totals()
	fmt.Fprintf(out, "\n%s, mode %s, iptables-%s, %s\n", r.Proxy, r.Mode, r.Tool, r.Family)
	if t.all > 0 {
		fmt.Fprintf(out, "scenarios: %d of %d ran (%d of 100), %d failed\n", t.ran, t.all, t.ran*100/t.all, t.failed)
		if t.ofIPTables > 0 {
			fmt.Fprintf(out, "  of rules of iptables alone, and not missed: %d\n", t.ofIPTables)
		}
		for _, why := range slices.SortedFunc(keysOf(t.reasons), func(a, b string) int {
			return cmp.Or(cmp.Compare(t.reasons[b], t.reasons[a]), cmp.Compare(a, b))
		}) {
			fmt.Fprintf(out, "  not run: %d: %s\n", t.reasons[why], why)
		}
		fmt.Fprintf(out, "probes: %d, of which %d were predicted; disagreements: %d\n", t.probes, t.predicted, t.wrong)
		fmt.Fprintf(out, "other checks: %d, not as expected: %d\n", t.others, t.othersWrong)
		if t.othersSkipped > 0 {
			fmt.Fprintf(out, "  passed over, as there are no rules of iptables: %d\n", t.othersSkipped)
		}
		if t.allowed > 0 {
			fmt.Fprintf(out, "other than expected, as documents allow for mode %s: %d\n", r.Mode, t.allowed)
		}
		fmt.Fprintf(out, "false alarm: at most %.2g (counts held against their probabilities)\n", r.FalseAlarm)
	}
	if t.changes > 0 {
		fmt.Fprintf(out, "changes under traffic: %d of %d held\n", t.changesHeld, t.changes)
	}
	fmt.Fprintf(out, "time: %.0f s\n", r.Seconds)
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// writeFiles writes the report into a folder, as YAML and as a Markdown table, and says where.
func (r *report) writeFiles(folder, name string) (path string, err error) {
	path = filepath.Join(folder, name+".yaml")
	text, err := yaml.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", err
	}
	var table strings.Builder
	writeTable(&table, []*report{r})
	return path, os.WriteFile(filepath.Join(folder, name+".md"), []byte(table.String()), 0o644)
}

// readReport reads a report that was written before.
func readReport(path string) (*report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	r := &report{}
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != reportVersion {
		return nil, fmt.Errorf("%s: the report's version is %d, and this program reads version %d: run it again", path, r.Version, reportVersion)
	}
	return r, nil
}

// title is the proxy of a report in a few words.
func (r *report) title() string {
	title := fmt.Sprintf("%s %s (iptables-%s)", r.Proxy, r.Mode, r.Tool)
	if r.Fault != "" {
		title += " with " + r.Fault
	}
	return title
}
