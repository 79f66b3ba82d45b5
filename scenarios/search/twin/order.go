package twin

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// free reports whether a step is an event after which every node syncs: one that may be
// joined to others, or come in another order.
func free(s *scenarios.Step) bool { return s.Tells() && s.Sync == nil }

// holds reports whether events are held back somewhere, so that their order is what the case is about.
func holds(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Steps, func(s scenarios.Step) bool { return s.Hold != nil || s.Deliver != nil })
}

// batched has no sync between events that follow one another.
func batched(s *scenarios.Scenario) *scenarios.Scenario {
	steps := slices.Clone(s.Steps)
	any := false
	for i := range len(steps) - 1 {
		if free(&steps[i]) && steps[i+1].Tells() {
			steps[i].Sync, any = &scenarios.NodeSet{}, true
		}
	}
	if !any {
		return nil
	}
	return s.WithSteps(steps)
}

// apart has a sync after every object.
func apart(s *scenarios.Scenario) *scenarios.Scenario {
	steps := oneByOne(s.Steps)
	if len(steps) == len(s.Steps) {
		return nil
	}
	return s.WithSteps(steps)
}

// oneByOne are steps with one object each, where every node syncs after them.
func oneByOne(given []scenarios.Step) []scenarios.Step {
	var steps []scenarios.Step
	for _, step := range given {
		if step.Sync != nil || len(step.Apply)+len(step.Delete) < 2 {
			steps = append(steps, step)
			continue
		}
		for i := range step.Apply {
			steps = append(steps, scenarios.Step{Located: step.Located, Apply: step.Apply[i : i+1]})
		}
		for i := range step.Delete {
			steps = append(steps, scenarios.Step{Located: step.Located, Delete: step.Delete[i : i+1]})
		}
	}
	return steps
}

// reordered tells of nodes first, then of slices, and of services last, where events follow
// one another. Within a kind the order stays, so that it comes to the same.
func reordered(s *scenarios.Scenario) *scenarios.Scenario {
	if holds(s) {
		return nil
	}
	steps := oneByOne(s.Steps)
	any := false
	for from := 0; from < len(steps); {
		to := from
		for to < len(steps) && free(&steps[to]) {
			to++
		}
		run := steps[from:to]
		byTurn := func(a, b scenarios.Step) int { return cmp.Compare(turn(&a), turn(&b)) }
		any = any || !slices.IsSortedFunc(run, byTurn)
		slices.SortStableFunc(run, byTurn)
		from = to + 1
	}
	if !any {
		return nil
	}
	return s.WithSteps(steps)
}

// turn is the place of an event of one object among those of other kinds.
func turn(s *scenarios.Step) int {
	kind := "Node"
	switch {
	case len(s.Apply) > 0:
		kind = s.Apply[0].Ref().Kind
	case len(s.Delete) > 0:
		kind = s.Delete[0].Kind
	}
	return slices.Index([]string{"Node", "EndpointSlice", "Service"}, kind)
}

// restarted has proxiers that start anew after every event.
func restarted(s *scenarios.Scenario) *scenarios.Scenario {
	if holds(s) {
		return nil // a new proxier knows everything
	}
	var steps []scenarios.Step
	for i := range s.Steps {
		steps = append(steps, s.Steps[i])
		if free(&s.Steps[i]) {
			steps = append(steps, scenarios.Step{Located: s.Steps[i].Located, Restart: &scenarios.NodeSet{All: true}})
		}
	}
	if len(steps) == len(s.Steps) {
		return nil
	}
	return s.WithSteps(steps)
}

// otherTool has the other variant of the tools.
func otherTool(s *scenarios.Scenario) *scenarios.Scenario {
	if len(s.IPTables.Preload) > 0 ||
		slices.ContainsFunc(s.Steps, func(s scenarios.Step) bool { return s.Fault != nil && s.Fault.LockHeld > 0 }) {
		return nil // rules that only one of them takes; a lock that only one of them has
	}
	out := *s
	if dialectOf(s) == netfilter.NFT {
		out.IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy}
	} else {
		out.IPTables.Dialects = []netfilter.Dialect{netfilter.NFT}
	}
	return &out
}

// dialectOf is the variant of the tools that a scenario is tried with first.
func dialectOf(s *scenarios.Scenario) netfilter.Dialect {
	if len(s.IPTables.Dialects) > 0 {
		return s.IPTables.Dialects[0]
	}
	return netfilter.Legacy
}
