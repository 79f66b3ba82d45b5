package trial

import (
	"context"
	"errors"

	"github.com/chainwalk/chainwalk/scenarios"
)

// Law says of a case that something about it does not matter: what happened in another
// order, with restarts in between, with other tools, names or addresses, comes to the same.
type Law struct {
	// Name is how reports and the command line call it, such as "restarts".
	Name string
	// Text is the law in one sentence.
	Text string
}

// Laws are the metamorphic laws, in the order of reports.
func Laws() []*Law { return nil }

// Hold runs the case and its twins, and compares what packets meet in the end. What it
// finds is like the findings of Run, each of a twin: Run the scenario itself for its own.
func (l *Law) Hold(ctx context.Context, s *scenarios.Scenario, o Options) (*Report, error) {
	return nil, errors.New("trial: no law is looked at yet")
}

// Interleavings are the scenarios in which the events of a short one are delivered in every
// order that an API may deliver them: over nodes, and over the kinds of objects.
// It is empty for a scenario of more than three events.
func Interleavings(s *scenarios.Scenario) []*scenarios.Scenario { return nil }
