package trial

import (
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
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
	// packets says that a clause is looked at that a first packet can break.
	packets bool
}

// playOf is what is played of a scenario.
func playOf(s *scenarios.Scenario, o Options) (*play, error) {
	cluster, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, err
	}
	p := &play{cluster: cluster.With(dialectOf(s, o)), steps: s.Steps, options: o, limit: maxWork}
	p.packets = p.looksAtPackets()
	return p, nil
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
