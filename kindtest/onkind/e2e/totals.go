package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

// totals are the sums of a report.
type totals struct {
	Scenarios int `yaml:"scenarios"`
	Ran       int `yaml:"ran"`
	Failed    int `yaml:"failed"`
	// OfOtherMode are the scenarios that are not run because they are of another mode than the proxies'.
	OfOtherMode int `yaml:"ofOtherMode,omitempty"`
	// NotRun says how many scenarios of the mode were not run, by the reason.
	NotRun map[string]int `yaml:"notRun,omitempty"`

	Probes int `yaml:"probes"`
	// Predicted are the probes that have a prediction, PredictedInPart those among them of which only what can happen is known, and not how
	// often.
	Predicted       int `yaml:"predicted"`
	PredictedInPart int `yaml:"predictedInPart"`
	// Wrong are the probes of which not all columns agree, Disagreements how often which two do not.
	Wrong         int                    `yaml:"wrong"`
	Disagreements map[scenarios.Pair]int `yaml:"disagreements"`
	// Allowed are the probes and other checks that are not as expected, and may be.
	Allowed int `yaml:"allowed,omitempty"`

	Others        int `yaml:"otherChecks"`
	OthersWrong   int `yaml:"otherChecksWrong"`
	OthersSkipped int `yaml:"otherChecksSkipped,omitempty"`

	Changes     int `yaml:"changes"`
	ChangesHeld int `yaml:"changesHeld"`
}

// sum adds up what is in a report.
func (r *report) sum() totals {
	t := totals{Scenarios: len(r.Scenarios), Changes: len(r.Changes), Disagreements: map[scenarios.Pair]int{}, NotRun: map[string]int{}}
	for _, pair := range scenarios.Pairs() {
		t.Disagreements[pair] = 0
	}
	for i := range r.Scenarios {
		t.addScenario(&r.Scenarios[i])
	}
	for i := range r.Changes {
		if r.Changes[i].Result == resultHeld {
			t.ChangesHeld++
		}
	}
	return t
}

func (t *totals) addScenario(s *scenarioRow) {
	if s.Result == resultNotRun {
		if s.OfOtherMode {
			t.OfOtherMode++
		} else {
			t.NotRun[s.Why]++
		}
		return
	}
	t.Ran++
	if s.Result == resultFailed {
		t.Failed++
	}
	for i := range s.Probes {
		t.addProbe(&s.Probes[i])
	}
	for i := range s.Others {
		t.addOther(&s.Others[i])
	}
}

func (t *totals) addProbe(p *probeRow) {
	t.Probes++
	if p.Predicted != "" && !strings.HasPrefix(p.Predicted, "nothing:") {
		t.Predicted++
	}
	if p.InPart {
		t.PredictedInPart++
	}
	switch {
	case p.Allowed != nil:
		t.Allowed++
	case p.wrong():
		t.Wrong++
		for _, d := range p.Disagreements {
			t.Disagreements[d.Between]++
		}
	}
}

func (t *totals) addOther(o *otherRow) {
	switch {
	case o.Skipped != "":
		t.OthersSkipped++
		return
	case o.Allowed != nil:
		t.Allowed++
	case o.Wrong != "":
		t.OthersWrong++
	}
	t.Others++
}

// leastShare is how many of 100 shipped scenarios of the mode have to run.
const leastShare = 90

// ofMode is how many scenarios are there that the proxies' mode can run.
func (t *totals) ofMode() int { return t.Scenarios - t.OfOtherMode }

// enough reports whether so many of them ran as have to: a cluster that refuses more is too little of one.
func (t *totals) enough() bool { return t.Ran*100 >= t.ofMode()*leastShare }

// lines are the sums for a person, of a proxy in a mode.
func (t *totals) lines(mode string) []string {
	var out []string
	say := func(format string, values ...any) { out = append(out, fmt.Sprintf(format, values...)) }
	if t.Scenarios > 0 {
		say("scenarios: %d of %d ran (%d of 100), %d failed", t.Ran, t.ofMode(), t.Ran*100/max(t.ofMode(), 1), t.Failed)
		if t.OfOtherMode > 0 {
			say("  of the other mode, and not counted: %d", t.OfOtherMode)
		}
		for _, why := range slices.SortedFunc(maps.Keys(t.NotRun), func(a, b string) int {
			return cmp.Or(cmp.Compare(t.NotRun[b], t.NotRun[a]), cmp.Compare(a, b))
		}) {
			say("  not run: %d: %s", t.NotRun[why], why)
		}
		say("probes: %d, of which %d were predicted (%d without how often)", t.Probes, t.Predicted, t.PredictedInPart)
		say("probes whose columns disagree: %d%s", t.Wrong, t.byPair())
		say("other checks: %d, not as expected: %d", t.Others, t.OthersWrong)
		if t.OthersSkipped > 0 {
			say("  passed over, as they cannot be seen here: %d", t.OthersSkipped)
		}
		if t.Allowed > 0 {
			say("other than expected, as documents allow for mode %s: %d", mode, t.Allowed)
		}
	}
	if t.Changes > 0 {
		say("changes under traffic: %d of %d held", t.ChangesHeld, t.Changes)
	}
	return out
}

// byPair says how often which columns disagree.
func (t *totals) byPair() string {
	var texts []string
	for _, pair := range scenarios.Pairs() {
		texts = append(texts, fmt.Sprintf("%s: %d", pair, t.Disagreements[pair]))
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// failure is one thing that failed.
type failure struct {
	At   string `yaml:"at,omitempty"`
	Name string `yaml:"name"`
	// Between are the columns that disagree; empty for what is no probe.
	Between scenarios.Pair `yaml:"between,omitempty"`
	Why     string         `yaml:"why"`
	// Rules are the rules that make the difference, causes first.
	Rules []string `yaml:"rules,omitempty"`
}

// failuresOf are all things that failed, in the order of the report.
func (r *report) failuresOf() []failure {
	var out []failure
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for j := range s.Probes {
			p := &s.Probes[j]
			if !p.wrong() {
				continue
			}
			for n, d := range p.Disagreements {
				f := failure{At: p.At, Name: s.Name + ": " + p.Name, Between: d.Between, Why: d.Why}
				if n == 0 {
					f.Rules = p.Rules
				}
				out = append(out, f)
			}
		}
		for j := range s.Others {
			if o := &s.Others[j]; o.Wrong != "" && o.Allowed == nil {
				out = append(out, failure{At: o.At, Name: s.Name + ": " + o.Name, Why: o.Wrong})
			}
		}
	}
	for _, c := range r.Changes {
		if c.Result != resultHeld {
			out = append(out, failure{Name: "under traffic: " + c.Name, Why: c.Told})
		}
	}
	return out
}
