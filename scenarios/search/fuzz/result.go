package fuzz

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Result is what a run, or several of them, came to. There is no time in it: the same
// cases come to the same result.
type Result struct {
	Version  int           `json:"version"`           // of this format: 1
	Program  string        `json:"program,omitempty"` // if it is another one than chainwalk fuzz
	Mode     string        `json:"mode,omitempty"`    // of kube-proxy: nftables, both, or empty for iptables
	Commit   string        `json:"commit"`
	Seed     uint64        `json:"seed"`
	Shard    int           `json:"shard"`
	Shards   int           `json:"shards"`
	Cases    int           `json:"cases"`
	Figures  trial.Figures `json:"figures"`
	Found    Found         `json:"found,omitempty"`
	Failures []Failure     `json:"failures"`
	// Interrupted says that somebody ended the run before all cases were judged and all failures shrunk.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Found counts violations by their cause, empty if nobody looked for one, and by the clause that they break.
type Found map[string]map[string]int

func (f Found) add(cause, clause string) {
	if f[cause] == nil {
		f[cause] = map[string]int{}
	}
	f[cause][clause]++
}

// resultVersion is the version of the format of a Result.
const resultVersion = 1

// Failure is a scenario that breaks a clause, shrunk.
type Failure struct {
	Clause string `json:"clause"`
	Cause  string `json:"cause,omitempty"`
	Law    string `json:"law"`
	Text   string `json:"text"`
	// Seed and Case are how it was found, Twins the metamorphic law that it was found by.
	Seed  uint64 `json:"seed"`
	Case  int    `json:"case"`
	Twins string `json:"twins,omitempty"`
	// What happened: the step, the node and the moment within the sync at which it was seen, what was wanted and what was seen.
	Step   int    `json:"step"`
	Node   string `json:"node,omitempty"`
	Within string `json:"within,omitempty"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	// Broken is how it fails when it is run again: how what happens differs from what is expected, and the kind of the rule that decides.
	// Failures with the same are told as one. It is empty if no rule decides.
	Broken string `json:"broken,omitempty"`
	// File is the scenario with the expectation that fails.
	File string `json:"file"`
}

// bothModes is the mode of a run in which cases draw theirs.
const bothModes = "both"

// Name is the name of the failure's file.
func (f *Failure) Name() string { return fmt.Sprintf("%s-%x-%d.yaml", f.kind(), f.Seed, f.Case) }

// kind is what failures are told apart by.
func (f *Failure) kind() string { return cmp.Or(f.Cause, f.Clause) }

// result shrinks the failures, unless the context has ended, and puts all together.
func (r *run) result(ctx context.Context) (*Result, error) {
	o := &r.options
	out := &Result{
		Version: resultVersion, Commit: o.Commit, Seed: o.Seed, Shard: o.Shard, Shards: o.Shards,
		Cases: r.next - o.First, Figures: r.figures, Found: r.found, Failures: []Failure{},
	}
	if o.Program != defaultProgram {
		out.Program = o.Program
	}
	switch {
	case o.Gen.Modes:
		out.Mode = bothModes
	case o.Gen.NFTables:
		out.Mode = string(scenarios.ModeNFTables)
	}
	for i, kind := range slices.Sorted(maps.Keys(r.first)) {
		f, err := o.small(ctx, r.first[kind])
		if err != nil {
			return nil, err
		}
		out.Failures = append(out.Failures, *f)
		r.progress(i + 1)
	}
	out.Interrupted = ctx.Err() != nil
	return out, nil
}

// small shrinks a failure. When the context ends, it stops and returns the smallest scenario so far.
func (o *Options) small(ctx context.Context, f failing) (*Failure, error) {
	interrupted := ctx.Done()
	ctx = context.WithoutCancel(ctx)
	violation := f.violation // of the smallest scenario so far: a proxier that chance decides about may not show it again
	scenario := gen.Shrink(f.scenario, func(s *scenarios.Scenario) bool {
		select {
		case <-interrupted:
			return false
		default:
		}
		smaller, ok := o.breaks(ctx, f, s)
		if ok {
			violation = *smaller
		}
		return ok
	}, o.Shrinks)
	out := &Failure{
		Clause: violation.Clause.Name, Cause: violation.Cause, Law: violation.Clause.Law, Text: violation.Clause.Text, Seed: o.Seed,
		Case: f.number,
		Step: violation.Step, Node: violation.Node, Within: pointOf(violation.Point), Want: violation.Want, Got: violation.Got,
	}
	if f.question.law != nil {
		out.Twins = f.question.law.Name
	}
	file, err := out.file(o, scenario, &violation)
	if err != nil {
		return nil, err
	}
	out.File = file
	if replayed, err := out.Replay(ctx, sim.Backend{}); err == nil {
		out.Broken = replayed.BrokenBy()
	}
	return out, nil
}

// breaks reports how a scenario breaks the clause that another one broke.
func (o *Options) breaks(ctx context.Context, f failing, s *scenarios.Scenario) (*trial.Violation, bool) {
	q := f.question
	q.sample = 0 // what a smaller case draws is another matter
	bare := *o
	if o.Still != nil {
		bare.Explain = nil
	}
	report := bare.answer(ctx, q, s)
	i := slices.IndexFunc(report.Violations, func(other trial.Violation) bool {
		return other.Clause.Name == f.violation.Clause.Name && (o.Still != nil || other.Cause == f.violation.Cause)
	})
	if i >= 0 && o.Still != nil {
		smaller := &report.Violations[i]
		smaller.Cause = f.violation.Cause
		again := func(ctx context.Context, options trial.Options) (*trial.Report, error) {
			return q.with(ctx, options, s)
		}
		if same, err := o.Still(ctx, smaller, smaller.Cause, again); err != nil || !same {
			return nil, false
		}
	}
	if i < 0 || f.violation.Clause.Name == unrunnable().Name && !sameError(report.Violations[i].Got, f.violation.Got) {
		return nil, false
	}
	return &report.Violations[i], true
}

// sameError reports whether two errors say the same, but for names and numbers.
func sameError(a, b string) bool {
	words := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }), " ")
	}
	return words(a) == words(b)
}

// file is the scenario with the expectation that fails, headed by what happened.
func (f *Failure) file(o *Options, s *scenarios.Scenario, violation *trial.Violation) (string, error) {
	var b strings.Builder
	witness := *s
	if w := violation.Witness(s); w != nil {
		witness = *w
	}
	witness.Name = strings.ReplaceAll(f.kind(), "-", " ")
	head := []string{
		fmt.Sprintf("%s (%s): %s", f.Clause, cmp.Or(f.Law, "no law"), f.Text),
		fmt.Sprintf("Found by %s --seed %d, case %d, at commit %s%s.", o.Program, f.Seed, f.Case, cmp.Or(o.Commit, "unknown"), f.byTwins()),
		fmt.Sprintf("%s: want %s, got %s.", f.Where(), f.Want, f.Got),
	}
	err := scenarios.Write(&b, &witness, head...)
	return b.String(), err
}

func (f *Failure) byTwins() string {
	if f.Twins == "" {
		return ""
	}
	return ", by the law " + f.Twins
}

// pointOf says in words when within a sync something was seen; nothing for after it.
func pointOf(p *scenarios.Point) string {
	if p == nil {
		return ""
	}
	return p.String()
}

// Again is the command that finds the failure again: a call of the program that found it (Result.Program).
func (f *Failure) Again(program string) string {
	return fmt.Sprintf("%s --seed %d --case %d", cmp.Or(program, defaultProgram), f.Seed, f.Case)
}

// Where says in words when and where a failure was seen.
func (f *Failure) Where() string {
	out := "after the first sync"
	if f.Step > 0 {
		out = fmt.Sprintf("after step %d", f.Step)
	}
	if f.Within != "" {
		out += ", within its sync, " + f.Within
	}
	if f.Node != "" {
		out += ", on " + f.Node
	}
	return out
}

// Replay runs the failure's scenario. It fails there as well, unless what ran the case was another program, or what it had found is within
// a sync that goes otherwise now.
func (f *Failure) Replay(ctx context.Context, b scenarios.Backend) (*scenarios.Result, error) {
	s, err := scenarios.Read(f.Name(), strings.NewReader(f.File))
	if err != nil {
		return nil, err
	}
	return scenarios.Run(klog.NewContext(ctx, klog.New(nil)), s, b), nil
}
