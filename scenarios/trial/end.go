package trial

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
)

// end lets the faults stop, tells everybody everything, and judges all of it.
func (r *run) end(ctx context.Context) error {
	r.step = len(r.steps)
	if err := r.mend(ctx); err != nil || r.blind() {
		return err
	}
	m := r.moment()
	clear(r.broken)
	if r.quiet {
		return r.meet(&m)
	}
	if err := r.judge(m, m.after.Attempts()); err != nil {
		return err
	}
	if err := r.judgeMartians(ctx, &m); err != nil {
		return err
	}
	if err := r.judgeStrays(ctx, &m); err != nil {
		return err
	}
	if err := r.judgeWalks(ctx); err != nil {
		return err
	}
	if err := r.outOfWindow(&m); err != nil {
		return err
	}
	r.exercised(oracle.NeverPanics)
	r.countClauses(&m)
	if r.options.Rules {
		if err := r.countRules(ctx, &m); err != nil {
			return err
		}
	}
	if r.faults {
		r.exercised(oracle.HealsAfterFaults)
	}
	if len(r.report.Findings) > 0 {
		return nil // the laws would say the same
	}
	if err := r.toldAgain(ctx); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if err := r.laws(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// mend makes the steps after which everything must hold: at once if syncs only failed, with
// the next full sync if somebody changed the rules.
func (r *run) mend(ctx context.Context) error {
	everybody := &scenarios.NodeSet{All: true}
	var steps []scenarios.Step
	if r.faults {
		steps = append(steps, scenarios.Step{Fault: &scenarios.Fault{Heal: true}})
	}
	steps = append(steps, scenarios.Step{Hold: &scenarios.NodeSet{}, Sync: everybody, MayFail: r.blind()})
	for i := range steps {
		if err := r.mendBy(ctx, &steps[i]); err != nil {
			return err
		}
	}
	if !r.blind() && !r.unsaved {
		return nil
	}
	return r.mendBy(ctx, &scenarios.Step{Advance: &metav1.Duration{Duration: fullSyncPeriod}, Sync: everybody})
}

func (r *run) mendBy(ctx context.Context, s *scenarios.Step) error {
	r.mending = append(r.mending, *s)
	return r.one(ctx, s)
}

// syncFailed notes that a sync failed that nothing made fail.
func (r *run) syncFailed(n *nodeState, err error) error {
	clause := oracle.RulesReadBack
	if len(r.mending) > 0 {
		clause = oracle.HealsAfterFaults
	}
	return r.add(Finding{Clause: clause, Node: n.name, Want: "a sync that ends well", Got: err.Error(), bare: true})
}

// exercised notes that clauses were held against what was seen.
func (r *run) exercised(clauses ...*oracle.Clause) {
	if r.report.Figures.Clauses == nil {
		r.report.Figures.Clauses = map[string]int{}
	}
	for _, c := range clauses {
		r.report.Figures.Clauses[c.Name]++
	}
}

// countClauses notes which clauses decide.
func (r *run) countClauses(m *moment) {
	counts := map[string]int{}
	for _, a := range m.after.Attempts() {
		answer := m.after.Expect(a)
		if r.sticky {
			answer = r.affinity.Expect(m.after, a, r.time())
		}
		for _, clause := range answer.Clauses() {
			counts[clause.Name]++
		}
	}
	mergeCounts(&r.report.Figures.Clauses, counts)
}
