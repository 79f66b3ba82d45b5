package trial

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// end lets the faults stop, tells everybody everything, and judges all of it.
func (r *run) end(ctx context.Context) error {
	r.step = len(r.steps)
	if err := r.mend(ctx); err != nil || r.nodes.blind() {
		return err
	}
	m := r.moment()
	clear(r.broken)
	if r.quiet {
		return m.meet()
	}
	if err := m.judge(m.after.Attempts()); err != nil {
		return err
	}
	if err := m.judgeMartians(ctx); err != nil {
		return err
	}
	if err := m.judgeStrays(ctx); err != nil {
		return err
	}
	if err := r.judgeWalks(ctx); err != nil {
		return err
	}
	if err := m.outOfWindow(); err != nil {
		return err
	}
	r.exercised(oracle.NeverPanics)
	if r.packets {
		m.countClauses()
	}
	if r.options.Rules {
		if err := r.countRules(ctx, &m); err != nil {
			return err
		}
	}
	if r.faults {
		r.exercised(oracle.HealsAfterFaults)
	}
	if len(r.report.Violations) > 0 {
		return nil // the laws would say the same
	}
	if err := r.unusedGone(ctx); err != nil || len(r.report.Violations) > 0 {
		return err
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
	steps = append(steps, scenarios.Step{Hold: &scenarios.NodeSet{}, Sync: everybody, MayFail: r.nodes.blind()})
	for i := range steps {
		if err := r.mendBy(ctx, &steps[i]); err != nil {
			return err
		}
	}
	if !r.nodes.blind() && !r.unsaved {
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
	return r.add(Violation{Clause: clause, Node: n.name, Want: "a sync that ends well", Got: err.Error(), bare: true})
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
func (m *moment) countClauses() {
	counts := map[string]int{}
	for _, a := range m.after.Attempts() {
		answer := m.after.Expect(a)
		if m.r.kept.sticky {
			answer = m.r.kept.affinity.Expect(m.after, a, m.r.time())
		}
		for _, clause := range answer.Clauses() {
			counts[clause.Name]++
		}
	}
	mergeCounts(&m.r.report.Figures.Clauses, counts)
}
