package main

import (
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// explain says what each violation of a case comes of: the mends of kube-proxy without which there is none. What a kube-proxy with all
// mends breaks is of no known cause. Some clauses are not looked at.
func explain(ctx context.Context, report *trial.Report, again fuzz.Again, except []*oracle.Clause) error {
	e := &explanation{ctx: ctx, again: again, except: except}
	rest, err := e.found(peers.AllMends(), except)
	if err != nil {
		return err
	}
	for i := range report.Violations {
		f := &report.Violations[i]
		if f.Cause, err = e.cause(f); err != nil {
			return err
		}
	}
	for i := range rest {
		if !slices.ContainsFunc(report.Violations, func(f trial.Violation) bool { return f.Cause == "" && f.Clause == rest[i].Clause }) {
			report.Violations = append(report.Violations, rest[i])
		}
	}
	return nil
}

// explanation asks what becomes of a case with some things mended.
type explanation struct {
	ctx    context.Context
	again  fuzz.Again
	except []*oracle.Clause
}

// found are the findings with some things mended, in one more play.
func (e *explanation) found(set peers.Mends, except []*oracle.Clause) ([]trial.Violation, error) {
	report, err := e.again(e.ctx, trial.Options{Proxier: peers.Mended(set), Except: except})
	if err != nil {
		return nil, err
	}
	return report.Violations, nil
}

// holds says that with some things mended a clause is not broken as it was, in as many plays: each has other orders of kube-proxy's maps.
// No other clause is looked at, as a play ends with the first violation and says nothing of what would have come.
func (e *explanation) holds(f *trial.Violation, set peers.Mends, plays int) (bool, error) {
	others := slices.DeleteFunc(oracle.Clauses(), func(c *oracle.Clause) bool { return c == f.Clause })
	for range plays {
		findings, err := e.found(set, others)
		if err != nil || slices.ContainsFunc(findings, func(o trial.Violation) bool { return o.Clause == f.Clause && o.Step <= f.Step }) {
			return false, err
		}
	}
	return true, nil
}

// A mend explains a violation if the violation is missing in so many plays with it.
const (
	plays       = 5  // usually: the violation came up in as many plays with the placebo before and after them
	chanceTries = 16 // if chance decides whether it comes up
	smallTries  = 2  // while the search shrinks the case
)

// still says whether a violation of a smaller case comes of the same cause: the mends of the cause hold what is broken, or where no cause is
// known, all mends do not.
func still(ctx context.Context, smaller *trial.Violation, cause string, again fuzz.Again) (bool, error) {
	e := &explanation{ctx: ctx, again: again}
	if cause == "" {
		holds, err := e.holds(smaller, peers.AllMends(), smallTries)
		return !holds, err
	}
	set, err := peers.MendsNamed(cause)
	if err != nil {
		return false, err
	}
	return e.holds(smaller, set, smallTries)
}

// cause is what a violation comes of, empty if that is not known. What a kube-proxy with nothing mended does not break either, however
// often it tries, is explained by nothing.
func (e *explanation) cause(f *trial.Violation) (string, error) {
	again, err := e.comesAgain(f)
	if err != nil {
		return "", err
	}
	if again {
		cause, err := e.mended(f, plays)
		if err != nil || cause == "" {
			return "", err
		}
		if again, err = e.comesAgain(f); err != nil || again {
			return cause, err
		}
	}
	if gone, err := e.holds(f, peers.Placebo, chanceTries); err != nil || gone {
		return "", err
	}
	return e.mended(f, chanceTries)
}

// mended is the mend that holds what is broken in so many plays, one of those that are there for its clause, or the fewest that it takes.
func (e *explanation) mended(f *trial.Violation, tries int) (string, error) {
	all := peers.Breaking(f.Clause)
	for _, m := range all.List() {
		if holds, err := e.holds(f, peers.MendsOf(m), tries); err != nil || holds {
			return m.String(), err
		}
	}
	if holds, err := e.holds(f, all, tries); err != nil || !holds {
		return "", err
	}
	for _, m := range all.List() {
		less := all &^ peers.MendsOf(m)
		holds, err := e.holds(f, less, tries)
		if err != nil {
			return "", err
		}
		if holds {
			all = less
		}
	}
	return all.String(), nil
}

// comesAgain says that a violation comes up in each of some plays with the placebo.
func (e *explanation) comesAgain(f *trial.Violation) (bool, error) {
	for range plays {
		if gone, err := e.holds(f, peers.Placebo, 1); err != nil || gone {
			return false, err
		}
	}
	return true, nil
}
