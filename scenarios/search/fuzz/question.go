package fuzz

import (
	"context"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/search/twin"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// question is what is asked of a scenario: to hold the specification, or a law over it.
type question struct {
	scenario *scenarios.Scenario
	// rules says that it is looked which rules packets meet.
	rules bool
	law   *twin.Law // nil: the specification itself
	// sample draws the syncs after which the laws over rules that cost most are held; 0: all of them.
	sample uint64
}

// One of so many cases is held to one of the laws as well, is a short sequence of which all
// interleavings are walked, has it looked which rules its packets meet.
const (
	lawEvery          = 4
	interleavingEvery = 16
	rulesEvery        = 64
)

// kind is what is asked in a case.
type kind struct {
	interleaved, rules bool
	law                *twin.Law // nil: none as well
}

// kindOf is the kind of the case of a number.
func kindOf(number int) kind {
	if drawn(number, interleavingEvery) {
		return kind{interleaved: true}
	}
	k := kind{rules: drawn(number, rulesEvery)}
	if laws := twin.Laws(); drawn(number, lawEvery) {
		k.law = laws[mix(uint64(number))%uint64(len(laws))]
	}
	return k
}

// drawn says whether the case of a number is the one drawn of as many that follow each other. Its place among them is
// no pattern of numbers, so that the cases of each shard, which are a pattern, have of everything.
func drawn(number, every int) bool {
	group := uint64(number / every)
	return uint64(number%every) == mix(uint64(every)<<32+group)%uint64(every)
}

// questions are what is asked in the case of a number.
func (o *Options) questions(number int) []question {
	seed, k := caseSeed(o.Seed, number), kindOf(number)
	if o.try == nil && k.interleaved {
		small := gen.Small(uint64(number / interleavingEvery))
		orders := twin.Interleavings(small)
		if len(orders) == 0 { // a restart has its place among the events
			orders = append(orders, small)
		}
		var out []question
		for _, s := range orders {
			out = append(out, question{scenario: s, sample: seed})
		}
		return out
	}
	s := gen.Example(o.Gen, seed)
	out := []question{{scenario: s, rules: k.rules, sample: seed}}
	if o.try == nil && k.law != nil {
		out = append(out, question{scenario: s, law: k.law})
	}
	return out
}

// ask asks it of a scenario, which may be a smaller one than its own.
func (q question) ask(ctx context.Context, o *Options, s *scenarios.Scenario) (*trial.Report, error) {
	if o.try != nil {
		return o.try(ctx, s)
	}
	again := func(ctx context.Context, options trial.Options) (*trial.Report, error) {
		return q.with(ctx, options, s)
	}
	report, err := again(ctx, o.Trial)
	if err == nil && o.Explain != nil && len(report.Violations) > 0 {
		err = o.Explain(ctx, report, again)
	}
	return report, err
}

// with asks it with options.
func (q question) with(ctx context.Context, options trial.Options, s *scenarios.Scenario) (*trial.Report, error) {
	if q.law != nil {
		return trial.Hold(ctx, q.law, s, options)
	}
	options.Rules, options.Sample = options.Rules || q.rules, q.sample
	return trial.Run(ctx, s, options)
}

// caseSeed mixes the seed of a run with the number of a case.
func caseSeed(seed uint64, number int) uint64 {
	return mix(seed*0x9e3779b97f4a7c15 + uint64(number))
}

// mix is SplitMix64's finisher.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unrunnable is the clause of cases that cannot be run: the generator's own.
func unrunnable() *oracle.Clause {
	return &oracle.Clause{
		Name: "generated-cases-run", Force: oracle.Must,
		Text: "What the generator makes is in order, so that a trial can run it.",
	}
}
