package trial

import (
	"context"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Options are how a trial is made. The zero value is ready for use.
type Options struct {
	// Tool is the variant of the iptables tools; the first that the scenario names, or
	// legacy, if not given.
	Dialect netfilter.Dialect
	// Proxier makes the nodes' proxiers; this project's own if not given.
	Proxier node.Proxier
	// Stop ends a trial after that many violations; 0: after the step that has the first ones.
	Stop int
	// Until ends a trial after that many steps, if it has more; 0: not. What is compared with a twin is played to its end.
	Until int
	// Rules has it looked which rules packets meet, which takes longer than all the rest.
	Rules bool
	// Sample draws the syncs after which the laws over rules that cost as much as a sync are held, one in eight; 0: all of them. At the
	// end of a case they are held always.
	Sample uint64
	// Except are clauses that are not looked at, such as those that another proxier does not promise. What can break no other clause is
	// left out, if it leaves the world as it was.
	Except []*oracle.Clause

	allPackets bool // of every node, and not of one in eight
}

// Run makes the steps of a scenario, one that was read from a file or made in Go, and judges
// after each. Expectations that its steps have are not looked at. The error says that the case
// cannot be run: it is not in order, or the context has ended. What goes wrong in a case that
// can run is a violation; so is a panic.
func Run(ctx context.Context, s *scenarios.Scenario, o Options) (*Report, error) {
	p, err := playOf(s, o)
	if err != nil {
		return nil, err
	}
	return p.run(ctx)
}
