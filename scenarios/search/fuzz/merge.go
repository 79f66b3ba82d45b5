package fuzz

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Merge joins the results of several shards. Of each cause, or clause where none is known, the smallest failure is kept.
func Merge(results []*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, errors.New("fuzz: there is no result to join")
	}
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(a, b *Result) int { return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Shard, b.Shard)) })
	out := &Result{
		Version: resultVersion, Program: results[0].Program, Mode: results[0].Mode, Commit: results[0].Commit, Seed: results[0].Seed,
		Shards: results[0].Shards, Found: Found{}, Failures: []Failure{},
	}
	best := map[string]Failure{}
	for i, r := range results {
		switch {
		case r.Version != resultVersion:
			return nil, fmt.Errorf("fuzz: a result of version %d (this program joins version %d)", r.Version, resultVersion)
		case r.Commit != out.Commit:
			return nil, fmt.Errorf("fuzz: results of different commits, %s and %s", out.Commit, r.Commit)
		case r.Program != out.Program:
			return nil, fmt.Errorf("fuzz: results of different searches, %s and %s", cmp.Or(out.Program, defaultProgram),
				cmp.Or(r.Program, defaultProgram))
		case i > 0 && r.Seed == results[i-1].Seed && r.Shard == results[i-1].Shard:
			return nil, fmt.Errorf("fuzz: shard %d of seed %d is there twice", r.Shard, r.Seed)
		}
		out.Cases += r.Cases
		out.Interrupted = out.Interrupted || r.Interrupted
		out.Figures.Merge(&r.Figures)
		out.Found.merge(r.Found)
		for _, f := range r.Failures {
			if known, ok := best[f.kind()]; !ok || len(f.File) < len(known.File) {
				best[f.kind()] = f
			}
		}
	}
	for _, f := range best {
		out.Failures = append(out.Failures, f)
	}
	slices.SortFunc(out.Failures, func(a, b Failure) int { return cmp.Compare(a.kind(), b.kind()) })
	return out, nil
}

func (f Found) merge(other Found) {
	for cause, clauses := range other {
		for clause, n := range clauses {
			f.add(cause, clause)
			f[cause][clause] += n - 1
		}
	}
}
