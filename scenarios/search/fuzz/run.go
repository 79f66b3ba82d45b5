package fuzz

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Options are what to look for, and how.
type Options struct {
	// Seed chooses the cases. Shard and Shards (from 1; 0: one of one) are this run's part
	// of them: no two shards have a case in common.
	Seed          uint64
	Shard, Shards int
	// First is the number of the first case that is looked at, for one case again.
	First int
	// Runs ends the run after that many cases, and Time when so much time has passed; 0: when the context of Run is done.
	Runs int
	Time time.Duration
	// UntilFound ends the run after the first case that fails.
	UntilFound bool
	// Workers are how many cases are judged at the same time; 1 if 0.
	Workers int
	// Shrinks bounds the trials that make one failure small; 1000 if 0, none if less.
	Shrinks int
	Gen     gen.Options
	Trial   trial.Options
	// try judges a scenario; trial.Run with the options of Trial if nil. Laws and interleavings are left out then.
	try func(context.Context, *scenarios.Scenario) (*trial.Report, error)
	// Explain, if given, says of what a trial found what it comes of (Violation.Cause), by which failures are told apart then. It may add
	// violations. Again asks the same with other options.
	Explain func(ctx context.Context, report *trial.Report, again Again) error
	// Still says, while a case is shrunk, whether a violation of a smaller case has a given cause. Without it the shrinker asks Explain.
	Still func(ctx context.Context, smaller *trial.Violation, cause string, again Again) (bool, error)
	// Progress is called with the figures so far after each case, and after each failure that was shrunk; nil: nobody asks.
	Progress func(Progress)
	// Commit is the version of the program, for the heads of files, and Program how it is called; chainwalk fuzz if not given.
	Commit, Program string
}

// Again asks the question of a trial again, with other options.
type Again func(context.Context, trial.Options) (*trial.Report, error)

const (
	defaultShrinks = 1000
	defaultProgram = "chainwalk fuzz"
)

// Run judges as many cases as asked for. Then it shrinks the first case that broke each clause, or that has each cause where causes are
// known. If the context ends, Run shrinks nothing more and returns what it has found so far (Result.Interrupted).
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Shards == 0 {
		o.Shard, o.Shards = 1, 1
	}
	if o.Shard < 1 || o.Shard > o.Shards {
		return nil, fmt.Errorf("fuzz: there is no shard %d of %d", o.Shard, o.Shards)
	}
	if o.Shrinks == 0 {
		o.Shrinks = defaultShrinks
	}
	ctx = klog.NewContext(ctx, klog.New(nil)) // what proxiers say of odd objects is nothing that anybody asked for
	o.Program = cmp.Or(o.Program, defaultProgram)
	r := &run{options: o, first: map[string]failing{}, next: o.First, found: Found{}}
	marks := &mark.Recorder{}
	if r.options.Trial.Proxier == nil {
		r.options.Trial.Proxier = node.Counted(marks)
	}
	inTime := ctx
	if o.Time > 0 {
		var stop context.CancelFunc
		inTime, stop = context.WithTimeout(ctx, o.Time)
		defer stop()
	}
	var workers sync.WaitGroup
	for range max(o.Workers, 1) {
		workers.Go(func() { r.work(inTime) })
	}
	workers.Wait()
	r.countMarks(marks)
	return r.result(ctx)
}

// run is a run of the fuzzer.
type run struct {
	options Options

	mu      sync.Mutex
	next    int // how many cases were begun
	figures trial.Figures
	first   map[string]failing // the failing case with the lowest number, by cause or clause
	found   Found
}

// failing is a case that failed.
type failing struct {
	number    int
	question  question
	scenario  *scenarios.Scenario
	violation trial.Violation
}

// work judges one case after the other. A case that was begun is judged to its end.
func (r *run) work(ctx context.Context) {
	for {
		number, ok := r.begin(ctx)
		if !ok {
			return
		}
		for _, q := range r.options.questions(number) {
			r.note(number, q, r.options.answer(context.WithoutCancel(ctx), q, q.scenario))
		}
		r.progress(0)
	}
}

// progress tells how far the run has come, if somebody asks.
func (r *run) progress(shrunk int) {
	if r.options.Progress != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		figures := r.figures
		figures.Cases = r.next - r.options.First // the figures count a case each time that it is played
		r.options.Progress(Progress{Figures: figures, Failures: len(r.first), Shrunk: shrunk})
	}
}

// begin takes the next case of the shard.
func (r *run) begin(ctx context.Context) (number int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := r.next - r.options.First
	if ctx.Err() != nil || r.options.Runs > 0 && place >= r.options.Runs || r.options.UntilFound && len(r.first) > 0 {
		return 0, false
	}
	r.next++
	return r.options.First + place*r.options.Shards + r.options.Shard - 1, true
}

// note counts what a trial looked at, and keeps what it found.
func (r *run) note(number int, q question, report *trial.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures.Merge(&report.Figures)
	for _, f := range report.Violations {
		r.found.add(f.Cause, f.Clause.Name)
		kind := cmp.Or(f.Cause, f.Clause.Name)
		if known, ok := r.first[kind]; !ok || number < known.number {
			r.first[kind] = failing{number: number, question: q, scenario: q.scenario, violation: f}
		}
	}
}

// countMarks puts the marks reached to the figures. Those of several trials at the same time cannot be told apart.
func (r *run) countMarks(marks *mark.Recorder) {
	r.figures.Marks = map[string]int{}
	for _, m := range mark.All() {
		if n := marks.Count(m); n > 0 {
			r.figures.Marks[m.String()] = n
		}
	}
}

// answer asks a question of a scenario. A case that cannot be run is a violation: the
// generator should not have made it.
func (o *Options) answer(ctx context.Context, q question, s *scenarios.Scenario) *trial.Report {
	report, err := q.ask(ctx, o, s)
	if err != nil {
		return &trial.Report{Violations: []trial.Violation{{Clause: unrunnable(), Want: "a case that can be run", Got: err.Error()}}}
	}
	return report
}
