package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/dom"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/page"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// RunOptions say what the page of a run shows beside the verdicts.
type RunOptions struct {
	// Ways says which packets to show the way of, beside those of failures.
	Ways scenarios.Ways
	// Source is the text of a scenario's file; empty if it is not known.
	Source func(r *scenarios.Result) string
}

// Run writes the page of a run: the scenarios with their verdicts, what failed with its way, and each scenario's file.
func Run(w io.Writer, results []*scenarios.Result, o RunOptions) error {
	r := runOf(results, o)
	return page.Write(w, &page.Page{Title: r.Sentence, What: "run", Body: r.body()})
}

// RunBody writes what Run has in its page, for a page that has a style and a script of its own.
func RunBody(w io.Writer, results []*scenarios.Result, o RunOptions) error {
	return dom.Write(w, runOf(results, o).body())
}

// roomLines and roomSource are how many lines of ways, and bytes of files, a page has room for, so that a browser opens it at once.
// What is beyond is left out, and said to be.
const (
	roomLines  = 20_000
	roomSource = 2 << 20
)

// run is a run as the page shows it.
type run struct {
	Sentence  string
	Figures   []figure
	Failures  []*check
	Groups    []scenarios.FailureGroup // of several scenarios that failed
	Scenarios []*scenario
	Timed     bool
	// LeftOut is how many ways were to be shown and had no room.
	LeftOut int

	lines int // of ways that there is room for
	bytes int // bytes of files that there is room for
}

// figure is a number with what it counts.
type figure struct {
	Number int
	What   string
}

// scenario is what came of one.
type scenario struct {
	*scenarios.Result
	ID      string
	Verdict string // ok, FAIL or skip
	Time    string
	Failing []*check
	Passed  []*check
	Source  []sourceLine
	// NoRoom says that its file is left out.
	NoRoom bool
}

// sourceLine is a line of a scenario's file.
type sourceLine struct {
	ID   string // of those that a failed check is at
	Text string
}

// check is an expectation, with the tools that agree about it.
type check struct {
	*scenarios.Check
	ID       string
	Scenario string
	Tools    string
	Way      *page.Way
	// Foretold are the ways that were predicted.
	Foretold *page.Way
	// More are the ways that are left out.
	More int
	Line string // the identifier of the line of the file
}

func runOf(results []*scenarios.Result, o RunOptions) *run {
	r := &run{lines: roomLines, bytes: roomSource}
	told := o.Ways.Told(results)
	held, failed, skipped, checks, bad := 0, 0, 0, 0, 0
	for i, result := range results {
		s := r.scenario(result, told[i], "r"+strconv.Itoa(i+1), o)
		r.Scenarios = append(r.Scenarios, s)
		r.Timed = r.Timed || s.Time != ""
		r.Failures = append(r.Failures, s.Failing...)
		switch s.Verdict {
		case verdictFailed:
			failed++
		case verdictSkipped:
			skipped++
		default:
			held++
		}
		for j := range result.Checks {
			switch c := &result.Checks[j]; {
			case c.Skipped != "":
			case !c.Passed:
				checks, bad = checks+1, bad+1
			default:
				checks++
			}
		}
	}
	if failed > 1 {
		r.Groups = scenarios.FailureGroups(results)
	}
	r.Figures = []figure{
		figureOf(len(results), "scenario"), {held, "held"}, {failed, "failed"}, {skipped, "skipped"}, figureOf(checks, "check"),
		{bad, "of them failed"},
	}
	r.Sentence = sentenceOf(len(results), failed, skipped)
	return r
}

func sentenceOf(all, failed, skipped int) string {
	ran := all - skipped
	switch {
	case failed > 0:
		return fmt.Sprintf("%d of %s failed", failed, plural(ran, "scenario"))
	case ran == 0:
		return "no scenario was run"
	}
	return plural(ran, "scenario") + " held"
}

// figureOf is a number of things.
func figureOf(n int, what string) figure {
	_, what, _ = strings.Cut(plural(n, what), " ")
	return figure{n, what}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// The verdicts.
const (
	verdictHeld    = "ok"
	verdictFailed  = "FAIL"
	verdictSkipped = "skip"
)

func (r *run) scenario(result *scenarios.Result, told []scenarios.Told, id string, o RunOptions) *scenario {
	s := &scenario{Result: result, ID: id, Verdict: verdictHeld}
	switch {
	case result.Skipped != "":
		s.Verdict = verdictSkipped
	case result.Failed():
		s.Verdict = verdictFailed
	}
	if result.Duration > 0 {
		s.Time = fmt.Sprintf("%.2f s", result.Duration.Seconds())
	}
	for i := range told {
		one := r.check(&told[i], fmt.Sprintf("%sc%d", id, i+1))
		one.Scenario = result.Name
		if one.Passed {
			s.Passed = append(s.Passed, one)
			continue
		}
		s.Failing = append(s.Failing, one)
	}
	r.source(s, o)
	return s
}

// source fills in the scenario's file by its lines, if it is known and there is room for it. Lines that nothing refers to are joined.
func (r *run) source(s *scenario, o RunOptions) {
	if o.Source == nil {
		return
	}
	text := o.Source(s.Result)
	if s.NoRoom = len(text) > r.bytes; s.NoRoom {
		return
	}
	r.bytes -= len(text)
	number := 0
	for line := range strings.Lines(text) {
		number++
		id := s.refer(number)
		if n := len(s.Source); id == "" && n > 0 && s.Source[n-1].ID == "" {
			s.Source[n-1].Text += line
			continue
		}
		s.Source = append(s.Source, sourceLine{ID: id, Text: line})
	}
}

// refer has the failed checks of a line of the file refer to it, and returns its identifier; empty if there are none.
func (s *scenario) refer(line int) (id string) {
	for _, c := range s.Failing {
		if c.Position.Line == line {
			id = fmt.Sprintf("%sy%d", s.ID, line)
			c.Line = id
		}
	}
	return id
}

func (r *run) check(told *scenarios.Told, id string) *check {
	c := told.Check
	one := &check{Check: c, ID: id, Tools: told.Tools}
	if len(told.Ways) == 0 {
		return one
	}
	t := teller{knownOf(c.Names)}
	one.More = len(c.Ways) - len(told.Ways)
	if s := t.check(c, told.Ways); r.room(s) {
		one.Way = page.NewWay(s, id+"w")
	}
	if !c.Passed && len(c.PredictedWays) > 0 {
		if s := t.ways(c.PredictedWays[:min(len(c.PredictedWays), fewPredicted)]); r.room(s) {
			one.Foretold = page.NewWay(s, id+"p")
		}
	}
	return one
}

// room takes the room that a story needs, if there is enough left.
func (r *run) room(s *story.Story) bool {
	lines := page.Lines(s)
	if lines > r.lines {
		r.LeftOut++
		return false
	}
	r.lines -= lines
	return true
}

// fewPredicted is as many predicted ways as are shown.
const fewPredicted = 3
