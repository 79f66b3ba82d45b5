package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/kindtest/onkind/predict"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// reportVersion is raised when a field of the report changes its meaning.
const reportVersion = 2

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
	FalseAlarm float64 `yaml:"falseAlarm"`
	// Totals and Failures are of all that follows.
	Totals    totals        `yaml:"totals"`
	Failures  []failure     `yaml:"failures,omitempty"`
	Scenarios []scenarioRow `yaml:"scenarios"`
	Changes   []changeRow   `yaml:"changes,omitempty"`
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
	// Why says why it was not run, OfOtherMode that it is of another mode than the proxy's.
	Why         string     `yaml:"why,omitempty"`
	OfOtherMode bool       `yaml:"ofOtherMode,omitempty"`
	Probes      []probeRow `yaml:"probes,omitempty"`
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
	// InPart says that how often was not predicted.
	InPart   bool   `yaml:"inPart,omitempty"`
	Happened string `yaml:"happened"`
	// Outcomes are what the two ends could know of it, without how often.
	Outcomes []string `yaml:"outcomes,omitempty"`
	// Disagreements are between its columns.
	Disagreements []disagreement `yaml:"disagreements,omitempty"`
	// Clauses are what it asks about where modes are known to differ, Allowed what allows that it is not as expected.
	Clauses []clause   `yaml:"clauses,omitempty"`
	Allowed *allowance `yaml:"allowed,omitempty"`
	// Rules are the rules that a failed packet meets only in this cluster, or only in the simulated one.
	Rules []string `yaml:"rules,omitempty"`
}

// wrong reports whether its columns disagree, and may not.
func (p *probeRow) wrong() bool { return len(p.Disagreements) > 0 && p.Allowed == nil }

// disagreement says how two columns are not the same.
type disagreement struct {
	Between scenarios.Pair `yaml:"between"`
	Why     string         `yaml:"why"`
}

// disagreementsOf are the disagreements of a check. Without a prediction, what is wrong is a disagreement of expectation and result.
func disagreementsOf(c *scenarios.Check) []disagreement {
	var out []disagreement
	for _, d := range c.Disagreements {
		out = append(out, disagreement{d.Between, d.Why})
	}
	if len(out) == 0 && c.Wrong != "" {
		out = append(out, disagreement{scenarios.ExpectedGot, c.Wrong})
	}
	return out
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
			At: c.At, Name: c.Name, Packet: c.Packet, Expected: c.Expected, Predicted: c.Predicted, InPart: c.PredictedInPart, Happened: c.Got,
			Disagreements: disagreementsOf(c), Outcomes: predict.Outcomes(protoOf(c.Packet), c.Ways), Clauses: about,
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
func protoOf(packet string) inet.Proto {
	word, _, _ := strings.Cut(packet, " ")
	return map[string]inet.Proto{"tcp": inet.TCP, "udp": inet.UDP, "sctp": inet.SCTP}[word]
}

// writeSummary prints the sums for a person.
func (r *report) writeSummary(out io.Writer) {
	fmt.Fprintf(out, "\n%s, mode %s, iptables-%s, %s\n", r.Proxy, r.Mode, r.Tool, r.Family)
	for _, line := range r.summary() {
		fmt.Fprintln(out, line)
	}
}

// summary are the sums, a line for each.
func (r *report) summary() []string {
	t := r.sum()
	out := t.lines(r.Mode)
	if t.Scenarios > 0 {
		out = append(out, fmt.Sprintf("false alarm: at most %.2g (counts held against their probabilities)", r.FalseAlarm))
	}
	return append(out, fmt.Sprintf("time: %.0f s", r.Seconds))
}

// writeFiles writes the report into a folder, as YAML and as a Markdown table, and says where.
func (r *report) writeFiles(folder, name string) (path string, err error) {
	r.Totals, r.Failures = r.sum(), r.failuresOf()
	path = filepath.Join(folder, name+".yaml")
	text, err := yaml.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", err
	}
	var table strings.Builder
	r.writeMarkdown(&table)
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
