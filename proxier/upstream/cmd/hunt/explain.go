package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// asker asks what violations come of.
type asker struct {
	// except are clauses that are not looked at, mends those that can do something in the cases.
	except []*oracle.Clause
	mends  peers.Mends
}

// explain says what each violation of a case comes of: the mends that hold the clause. A violation that kube-proxy still shows with all
// mends has no known cause.
func (a *asker) explain(ctx context.Context, report *trial.Report, again fuzz.Again) error {
	e := &explanation{ctx: ctx, again: again, mends: a.mends, report: report}
	e.begin()
	rest, err := e.found(peers.AllMends(), trial.Options{Except: a.except})
	if err != nil {
		return err
	}
	for _, c := range e.clauses() {
		if err := e.causesOf(c); err != nil {
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
	ctx   context.Context
	again fuzz.Again
	mends peers.Mends
	// report has the violations to explain.
	report *trial.Report
	// placebos are what was found in plays with the placebo that looked at all clauses of the report.
	placebos [][]trial.Violation
	// looked counts those of them that were looked at for a violation, and came the plays with nothing mended, or something else, in which it
	// came up again.
	looked, came map[breach]int
	// byChance says of a violation that something held it in one play and not in the next.
	byChance map[breach]bool
}

func (e *explanation) begin() {
	e.looked, e.came, e.byChance = map[breach]int{}, map[breach]int{}, map[breach]bool{}
}

// breach is a clause, and the step after which it was broken.
type breach struct {
	clause *oracle.Clause
	step   int
}

func breachBy(f *trial.Violation) breach { return breach{f.Clause, f.Step} }

// in says that the clause is broken by one of some violations, as early or earlier.
func (b breach) in(violations []trial.Violation) bool {
	return slices.ContainsFunc(violations, func(o trial.Violation) bool { return o.Clause == b.clause && o.Step <= b.step })
}

// found are the violations with some things mended, in one more play.
func (e *explanation) found(set peers.Mends, o trial.Options) ([]trial.Violation, error) {
	o.Proxier = peers.Mended(set)
	report, err := e.again(e.ctx, o)
	if err != nil {
		return nil, err
	}
	return report.Violations, nil
}

// only has a trial look at some clauses up to a step, and at nothing else.
func only(step int, clauses ...*oracle.Clause) trial.Options {
	others := slices.DeleteFunc(oracle.Clauses(), func(c *oracle.Clause) bool { return slices.Contains(clauses, c) })
	return trial.Options{Except: others, Until: step}
}

// holds says that with some things mended a clause is not broken as it was, in as many plays: each has other orders of kube-proxy's maps.
// No other clause is looked at, as a play ends with the first violation and says nothing of what would have come.
func (e *explanation) holds(f *trial.Violation, set peers.Mends, plays int) (bool, error) {
	b := breachBy(f)
	for play := range plays {
		violations, err := e.found(set, only(f.Step, f.Clause))
		if err != nil {
			return false, err
		}
		if b.in(violations) {
			e.came[b]++
			e.byChance[b] = e.byChance[b] || play > 0
			return false, nil
		}
	}
	return true, nil
}

// A mend explains a violation if the violation is missing in so many plays with it.
const (
	plays       = 5  // usually
	chanceTries = 16 // if chance decides whether it comes up
	smallTries  = 2  // while the search shrinks the case
	costTries   = 2  // if it is of what costs time alone, in nearly every case, so that one that chance mistakes for another loses no finding
)

// A violation that chance does not decide about comes up in as many plays with the placebo or with mends that do not hold it.
const (
	comes     = 2 * plays
	costComes = costTries
)

// still says whether a violation of a smaller case comes of the same cause: the mends of the cause hold what is broken, or where no cause is
// known, all mends do not.
func still(ctx context.Context, smaller *trial.Violation, cause string, again fuzz.Again) (bool, error) {
	e := &explanation{ctx: ctx, again: again}
	e.begin()
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

// causesOf says what the violations of a clause come of: the same mend, if it holds them all, and otherwise each its own.
func (e *explanation) causesOf(c *oracle.Clause) error {
	var all []*trial.Violation
	for i := range e.report.Violations {
		if f := &e.report.Violations[i]; f.Clause == c {
			all = append(all, f)
		}
	}
	last := slices.MaxFunc(all, func(a, b *trial.Violation) int { return cmp.Compare(a.Step, b.Step) })
	common, err := e.cause(last)
	if err != nil {
		return err
	}
	single := common != "" && !strings.Contains(common, peers.And)
	for _, f := range all {
		if f.Cause = common; single || f.Step == last.Step {
			continue
		}
		if f.Cause, err = e.cause(f); err != nil {
			return err
		}
	}
	return nil
}

// cause is what a violation comes of, empty if that is not known. What a kube-proxy with nothing mended does not break either, however
// often it tries, is explained by nothing.
func (e *explanation) cause(f *trial.Violation) (string, error) {
	if cause, err := e.cost(f); err != nil || cause != "" {
		return cause, err
	}
	again, err := e.comesAgain(f, 1)
	if err != nil {
		return "", err
	}
	if again {
		cause, err := e.mended(f, plays)
		if err != nil || cause == "" {
			return "", err
		}
		if again, err = e.comesAgain(f, comes); err != nil || again {
			return cause, err
		}
	}
	if gone, err := e.holds(f, peers.Placebo, chanceTries); err != nil || gone {
		return "", err
	}
	return e.mended(f, chanceTries)
}

// cost is what a violation of a clause about costs comes of, if one of the mends of costs, which come first, holds it.
func (e *explanation) cost(f *trial.Violation) (string, error) {
	for _, m := range (peers.Breaking(f.Clause) & peers.Costs()).List() {
		again, err := e.comesAgain(f, costComes)
		if err != nil || !again {
			return "", err
		}
		if holds, err := e.holds(f, peers.MendsOf(m), costTries); err != nil || holds {
			return m.String(), err
		}
	}
	return "", nil
}

// mended is the mend that holds what is broken in so many plays, one of those that are there for its clause, or the fewest that it takes.
func (e *explanation) mended(f *trial.Violation, tries int) (string, error) {
	all := peers.Breaking(f.Clause) & e.mends
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

// comesAgain says that a violation comes up in as many plays, with the placebo in each that is still missing. All violations of the report
// share the plays with the placebo; where another one may have ended a play before, it is played again for this one alone.
func (e *explanation) comesAgain(f *trial.Violation, times int) (bool, error) {
	b := breachBy(f)
	for e.came[b] < times && !e.byChance[b] {
		play, err := e.placebo(e.looked[b])
		if err != nil {
			return false, err
		}
		e.looked[b]++
		if b.in(play) {
			e.came[b]++
			continue
		}
		if len(e.clauses()) == 1 {
			return false, nil
		}
		if gone, err := e.holds(f, peers.Placebo, 1); err != nil || gone {
			return false, err
		}
	}
	return !e.byChance[b], nil
}

// placebo is what was found in the play of this number with the placebo.
func (e *explanation) placebo(number int) ([]trial.Violation, error) {
	last := 0
	for i := range e.report.Violations {
		last = max(last, e.report.Violations[i].Step)
	}
	for len(e.placebos) <= number {
		violations, err := e.found(peers.Placebo, only(last, e.clauses()...))
		if err != nil {
			return nil, err
		}
		e.placebos = append(e.placebos, violations)
	}
	return e.placebos[number], nil
}

// clauses are those of the report, each once.
func (e *explanation) clauses() []*oracle.Clause {
	var out []*oracle.Clause
	for i := range e.report.Violations {
		if c := e.report.Violations[i].Clause; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
