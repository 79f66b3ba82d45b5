package trial

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// Violation is something that the specification does not allow.
type Violation struct {
	// Clause is the clause that is broken.
	Clause *oracle.Clause
	// Cause is what it comes of, if somebody who asked the trial has found that out.
	Cause string
	// Step is the step after which it was seen, counted from 1; 0 is the first sync.
	Step int
	// Node is the node whose rules are at fault, empty where that is no single one.
	Node string
	// Point is the moment within the sync of Step at which it was seen; nil after the sync.
	Point *scenarios.Point
	// attempt is the first packet of the connection that shows it; its zero value where none does.
	attempt oracle.Attempt
	// Want and Got say in words what is allowed and what was seen.
	Want, Got string
	// Check are the steps that look at it, with the specification's expectation, to be made at
	// that moment. They are none where the format has no words for what is allowed.
	Check []scenarios.Step

	// mending are the steps by which the trial let the faults stop before it looked.
	mending []scenarios.Step
	// unsaid are syncs that went wrong and did not say so, which is what is to be mended.
	unsaid []unsaid
	// kept are the connections that the trial keeps by itself.
	kept []keptStep
	// bare says that the step itself fails; what comes after it only says that it must not.
	bare bool
	// twin is the scenario that shows it, if it is another one than the one that was tried.
	twin *scenarios.Scenario
	// ofCase says of a law that it is the case itself that is wrong, and not the twin.
	ofCase bool
}

// keptStep is a step that keeps a connection, and the step after which it is made.
type keptStep struct {
	after int
	step  scenarios.Step
}

// unsaid is the sync of a node after a step.
type unsaid struct {
	step int
	node string
}

// add notes a violation, and ends the run if there are enough.
func (r *run) add(f Violation) error {
	if r.broken[f.Clause] || slices.Contains(r.options.Except, f.Clause) {
		return nil
	}
	r.broken[f.Clause] = true
	f.Step, f.mending = r.step, slices.Clone(r.mending)
	for _, n := range r.nodes {
		if n.word > 0 && (f.Node == "" || f.Node == n.name) {
			f.unsaid = append(f.unsaid, unsaid{n.word, n.name})
		}
	}
	for _, flow := range r.kept.flows {
		if !flow.own {
			f.kept = append(f.kept, keptStep{flow.after, scenarios.Step{Connect: &flow.connect}})
		}
	}
	r.report.Violations = append(r.report.Violations, f)
	if r.options.Stop > 0 && len(r.report.Violations) >= r.options.Stop {
		return errEnough
	}
	return nil
}

// found notes what a new connection showed.
func (m *moment) found(v oracle.Violation) error {
	before, after := m.before.Expect(v.Attempt), m.after.Expect(v.Attempt)
	f := Violation{Clause: v.Clause, Node: after.Node, Point: m.point, attempt: v.Attempt, Want: v.Want, Got: v.Got}
	if m.point != nil {
		f.Node = cmp.Or(f.Node, m.point.Node)
	}
	switch {
	case m.settled() && m.r.kept.sticky:
		remembered := m.r.kept.affinity.Expect(m.after, v.Attempt, m.r.time())
		f.Check = checksOf(v.Attempt, &remembered)
	case m.settled():
		f.Check = checksOf(v.Attempt, &after)
	default:
		f.Check = checksOf(v.Attempt, either(before, after))
	}
	return m.r.add(f)
}

// either is what two answers allow.
func either(before, after oracle.Answer) *oracle.Answer {
	if before.String() != after.String() {
		others := before.Others
		before.Others = nil
		after.Others = append(append(slices.Clip(after.Others), before), others...)
	}
	return &after
}

// foundInFlow notes what a later packet showed.
func (m *moment) foundInFlow(flow *flow, later oracle.Later, allowed *oracle.Answer, v oracle.Violation) error {
	f := Violation{Clause: v.Clause, Node: allowed.Node, Point: m.point, attempt: flow.attempt, Want: v.Want, Got: v.Got}
	packet := scenarios.FlowPacket{Of: flow.name, From: sideOf(later), Send: kindOf(later)}
	expect, ok := scenarios.ExpectOf(allowed)
	if ok {
		packet.Expect = laterExpect(expect)
		f.Check = []scenarios.Step{{Flow: &packet}}
	}
	return m.r.add(f)
}

// laterExpect is an expectation of a later packet: it meets no rule that changes its source, and has no answer.
func laterExpect(e scenarios.Expect) scenarios.Expect {
	e.Source, e.OneWay = scenarios.Source{}, false
	e.AnyOf = slices.Clone(e.AnyOf)
	for i := range e.AnyOf {
		e.AnyOf[i] = laterExpect(e.AnyOf[i])
	}
	return e
}

// Witness is the scenario up to the step of the violation, and then its checks: an ordinary
// scenario that fails as long as the fault is there, on every backend. It is nil if the
// format has no words for what is allowed.
func (f *Violation) Witness(s *scenarios.Scenario) *scenarios.Scenario {
	if len(f.Check) == 0 && !f.bare {
		return nil
	}
	if f.twin != nil {
		s = f.twin
	}
	steps := mayFail(s.Steps[:f.Step])
	if len(f.unsaid) > 0 {
		return s.WithSteps(f.mustFail(steps))
	}
	steps = append(f.keep(steps), f.mending...)
	switch {
	case f.Point == nil:
		steps = append(steps, f.Check...)
	case f.Step == 0 && len(f.mending) == 0:
		first := s.WithSteps([]scenarios.Step{{Sync: &scenarios.NodeSet{All: true}}})
		first.During = []scenarios.During{duringOf(f.Point, f.Check)}
		return first
	default:
		last := &steps[len(steps)-1]
		last.During = append(slices.Clip(last.During), duringOf(f.Point, f.Check))
	}
	if len(f.Check) == 0 {
		healthy := true
		steps = append(steps, scenarios.Step{Healthz: &scenarios.HealthzCheck{Healthy: &healthy}})
	}
	return s.WithSteps(steps)
}

// mustFail are steps after which the syncs that went wrong say so, so that they are made again.
func (f *Violation) mustFail(steps []scenarios.Step) []scenarios.Step {
	for _, sync := range f.unsaid {
		s := &steps[sync.step-1]
		s.MayFail, s.SyncError = false, sync.node+": "
	}
	return f.keep(steps)
}

// keep adds the connections that the trial kept by itself after the steps.
func (f *Violation) keep(steps []scenarios.Step) []scenarios.Step {
	var out []scenarios.Step
	for i := range len(steps) + 1 {
		if i > 0 {
			out = append(out, steps[i-1])
		}
		for _, kept := range f.kept {
			if kept.after == i {
				out = append(out, kept.step)
			}
		}
	}
	return out
}

// mayFail are steps whose syncs may fail as long as faults last.
func mayFail(steps []scenarios.Step) []scenarios.Step {
	out := slices.Clone(steps)
	faulty := false
	for i := range out {
		s := &out[i]
		if s.Fault != nil {
			faulty = !s.Fault.Heal
		}
		syncs := s.Sync != nil && (s.Sync.All || len(s.Sync.Names) > 0) ||
			s.Sync == nil && (s.Tells() || s.Restart != nil || s.Deliver != nil)
		s.MayFail = s.MayFail || faulty && syncs && s.SyncError == ""
	}
	return out
}

// duringOf are checks at a point within a sync.
func duringOf(p *scenarios.Point, checks []scenarios.Step) scenarios.During {
	d := scenarios.During{Node: p.Node, Table: p.Table, Nth: p.Nth, Steps: checks}
	if p.After {
		d.After = p.Command
	} else {
		d.Before = p.Command
	}
	return d
}
