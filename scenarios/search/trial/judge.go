package trial

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// judge tries attempts, and notes what is not allowed.
func (m *moment) judge(attempts []oracle.Attempt) error {
	m.r.report.Figures.States++
	if !m.r.packets {
		return nil
	}
	for _, a := range attempts {
		a = anew(a)
		ways, err := m.r.world.Reach(a)
		if err != nil {
			return err
		}
		m.r.report.Figures.Connections++
		if err := m.r.spend(len(ways)); err != nil {
			return err
		}
		wrong, err := m.violations(a, ways)
		if err != nil {
			return err
		}
		for _, v := range wrong {
			if err := m.found(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxWork is how many ways may be looked at in one case, and specifications made for what several syncs that failed may have left. The
// most that a generated case takes is a fortieth of it.
const maxWork = 5_000_000

// spend counts work. A case that takes far too much of it is none that can be run, on a slow machine and on a fast one alike.
func (r *run) spend(work int) error {
	if r.work += work; r.work > r.limit {
		return fmt.Errorf("the case takes more than %d ways to judge, at step %d", r.limit, r.step)
	}
	return nil
}

func (m *moment) violations(a oracle.Attempt, ways []oracle.Way) ([]oracle.Violation, error) {
	switch {
	case !m.settled():
		m.r.exercised(oracle.Transition)
		if m.point == nil {
			m.r.exercised(oracle.FailedRestoreChangesNothing)
		}
		return m.between(a, ways)
	case m.r.kept.sticky:
		return m.r.kept.affinity.Judge(m.after, a, m.r.time(), ways), nil
	}
	return m.after.Judge(a, ways), nil
}

// between judges within a sync, or after one that failed. After several that failed, what
// any of them may have left is allowed.
func (m *moment) between(a oracle.Attempt, ways []oracle.Way) ([]oracle.Violation, error) {
	wrong := m.before.Between(m.after, a, ways)
	if len(wrong) == 0 || m.r.kept.sticky && (m.r.nodes.remember(m.before, a) || m.r.nodes.remember(m.after, a)) {
		return nil, nil
	}
	for _, views := range m.r.nodes.mixtures() {
		if err := m.r.spend(1); err != nil {
			return nil, err
		}
		mixed := m.r.specs.of(views)
		if len(mixed.Between(m.after, a, ways)) == 0 || len(m.before.Between(mixed, a, ways)) == 0 || m.r.kept.sticky &&
			m.r.nodes.remember(mixed, a) {
			return nil, nil
		}
		if allowed, err := m.halfApplied(views, mixed, a, ways); allowed || err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// halfApplied reports whether ways are allowed if a node has one table of a mixture and another of what a later sync of it tried, which
// committed no more: the one after that may have failed too.
func (m *moment) halfApplied(views []*view, mixed *oracle.Spec, a oracle.Attempt, ways []oracle.Way) (bool, error) {
	for i, n := range m.r.nodes {
		all := n.allTried()
		for _, later := range all[slices.Index(all, views[i])+1:] {
			if err := m.r.spend(1); err != nil {
				return false, err
			}
			half := slices.Clone(views)
			half[i] = later
			if len(mixed.Between(m.r.specs.of(half), a, ways)) == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// judgeRemembered tries the services that remember clients: time has passed, and what they remember ends by that alone.
func (r *run) judgeRemembered() error {
	if r.quiet || !r.kept.sticky || r.nodes.blind() {
		return nil
	}
	var services []types.NamespacedName
	for _, v := range r.nodes.ruled() {
		for _, s := range v.Services {
			if s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
				services = append(services, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
			}
		}
	}
	if len(services) == 0 {
		return nil
	}
	m := r.moment()
	return m.judge(m.after.Concerning(services...))
}

// of are the attempts that a node decides, of one family.
func (m *moment) of(attempts []oracle.Attempt, node string, v6 bool) []oracle.Attempt {
	var out []oracle.Attempt
	for _, a := range attempts {
		if a.To.Addr().Is6() == v6 && (m.decides(m.before, a, node) || m.decides(m.after, a, node)) {
			out = append(out, a)
		}
	}
	return out
}

// decides reports whether a node decides about an attempt, or none does.
func (m *moment) decides(spec *oracle.Spec, a oracle.Attempt, node string) bool {
	decides := spec.Expect(a).Node
	return decides == node || decides == ""
}
