package trial

import (
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/controller"
)

// play is what is played in a world: a scenario's cluster, and what happens in it.
type play struct {
	cluster *scenarios.Cluster
	steps   []scenarios.Step
	options Options
	// quiet says that nothing is judged before the end, and that no connection is kept:
	// what packets meet in the end is all that is asked for.
	quiet bool
	// limit is how much work it may take.
	limit int
}

// playOf is what is played of a scenario.
func playOf(s *scenarios.Scenario, o Options) (*play, error) {
	cluster, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, err
	}
	return &play{cluster: cluster.With(dialectOf(s, o)), steps: s.Steps, options: o, limit: maxWork}, nil
}

func dialectOf(s *scenarios.Scenario, o Options) netfilter.Dialect {
	switch {
	case o.Dialect != "":
		return o.Dialect
	case len(s.IPTables.Dialects) > 0:
		return s.IPTables.Dialects[0]
	}
	return netfilter.Legacy
}

// withSteps is a scenario with other steps.
func withSteps(s *scenarios.Scenario, steps []scenarios.Step) *scenarios.Scenario {
	out := *s
	out.Steps = steps
	return &out
}

// withoutTraffic is a scenario without the steps that change nothing.
func withoutTraffic(s *scenarios.Scenario) *scenarios.Scenario {
	return withSteps(s, slices.DeleteFunc(slices.Clone(s.Steps), func(s scenarios.Step) bool { return s.Looks() }))
}
