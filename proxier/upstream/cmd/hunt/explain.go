package main

import (
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/trial"
)

// restoresForNothing is the cause of broken clauses of costs: kube-proxy restores both tables in each sync, whatever has changed.
const restoresForNothing = "restores-for-nothing"

// syncsForNothing is the cause of syncs that are due though nothing has changed: kube-proxy compares whole EndpointSlices, with their
// annotations.
const syncsForNothing = "syncs-for-nothing"

// costs are the clauses of costs, which a kube-proxy with all mends breaks too.
var costs = []*oracle.Clause{oracle.SecondSyncWritesNothing, oracle.CostByChange, oracle.NoSyncForNothing}

// explain says what each violation of a case comes of: the mends of kube-proxy without which there is none. What a kube-proxy with all
// mends breaks is of no known cause. Some clauses are not looked at.
func explain(ctx context.Context, report *trial.Report, again fuzz.Again, except []*oracle.Clause) error {
	e := &explanation{ctx: ctx, again: again, except: except, known: map[peers.Mends][]trial.Finding{}}
	rest, err := e.found(peers.AllMends())
	if err != nil {
		return err
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Cause, err = e.cause(f); err != nil {
			return err
		}
	}
	for i := range rest {
		if !slices.ContainsFunc(report.Findings, func(f trial.Finding) bool { return f.Cause == "" && f.Clause == rest[i].Clause }) {
			report.Findings = append(report.Findings, rest[i])
		}
	}
	return nil
}

// explanation are the findings of one case, with some things mended.
type explanation struct {
	ctx    context.Context
	again  fuzz.Again
	except []*oracle.Clause
	known  map[peers.Mends][]trial.Finding
}

// found are the findings with some things mended.
func (e *explanation) found(set peers.Mends) ([]trial.Finding, error) {
	if findings, ok := e.known[set]; ok {
		return findings, nil
	}
	o := trial.Options{Proxier: peers.Mended(set), Except: e.except}
	if set == peers.AllMends() {
		o.Except = slices.Concat(e.except, costs)
	}
	report, err := e.again(e.ctx, o)
	if err != nil {
		return nil, err
	}
	e.known[set] = report.Findings
	return report.Findings, nil
}

// holds says that with some things mended a clause is not broken as it was.
func (e *explanation) holds(f *trial.Finding, set peers.Mends) (bool, error) {
	findings, err := e.found(set)
	return err == nil && !slices.ContainsFunc(findings, func(o trial.Finding) bool { return o.Clause == f.Clause && o.Step <= f.Step }), err
}

// cause is what a violation comes of, empty if that is not known: what chance decides, one mend, or the fewest that it takes.
func (e *explanation) cause(f *trial.Finding) (string, error) {
	if holds, err := e.holds(f, peers.AllMends()); err != nil || !holds {
		return "", err
	}
	chance := peers.ByChance()
	if holds, err := e.holds(f, chance); err != nil || holds {
		return e.chance(f), err
	}
	for _, m := range (peers.AllMends() &^ chance).List() {
		if holds, err := e.holds(f, chance|peers.MendsOf(m)); err != nil || holds {
			return m.String(), err
		}
	}
	switch {
	case f.Clause == oracle.NoSyncForNothing:
		return syncsForNothing, nil
	case slices.Contains(costs, f.Clause):
		return restoresForNothing, nil
	}
	fewest := peers.AllMends()
	for _, m := range (fewest &^ chance).List() {
		less := fewest &^ peers.MendsOf(m)
		holds, err := e.holds(f, less)
		if err != nil {
			return "", err
		}
		if holds {
			fewest = less
		}
	}
	return (fewest &^ chance).String(), nil
}

// chanceTries is how often a violation must not come up that chance decides about.
const chanceTries = 12

// chance says which order of a map a violation comes of.
func (e *explanation) chance(f *trial.Finding) string {
	for _, m := range peers.ByChance().List() {
		holds := true
		for range chanceTries {
			delete(e.known, peers.MendsOf(m))
			again, err := e.holds(f, peers.MendsOf(m))
			if holds = again && err == nil; !holds {
				break
			}
		}
		if holds {
			return m.String()
		}
	}
	return peers.ByChance().String()
}
