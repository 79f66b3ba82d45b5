package trial

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// notOfPackets are the clauses that no first packet of a connection can break: they are about rules, syncs and answers.
var notOfPackets = []*oracle.Clause{
	oracle.RulesReadBack, oracle.NoStaleChain, oracle.PartialEqualsFull, oracle.RestartEqualsFresh, oracle.SecondSyncWritesNothing,
	oracle.CostByChange, oracle.NoSyncForNothing, oracle.SyncWhenDue, oracle.HealthCheckAgrees, oracle.HealthTellsFailure,
	oracle.HealsAfterFaults,
}

// canBreak says whether one of some clauses is looked at. What can break none of those is left out, if it leaves the world as it was. A
// panic can come from anything.
func (p *play) canBreak(clauses ...*oracle.Clause) bool {
	return !slices.Contains(p.options.Except, oracle.NeverPanics) ||
		slices.ContainsFunc(clauses, func(c *oracle.Clause) bool { return !slices.Contains(p.options.Except, c) })
}

// looksAtPackets says whether a clause is looked at that a first packet can break.
func (p *play) looksAtPackets() bool {
	return len(p.options.Except) == 0 || slices.ContainsFunc(oracle.Clauses(), func(c *oracle.Clause) bool {
		return !slices.Contains(notOfPackets, c) && !slices.Contains(p.options.Except, c)
	})
}
