package trial

import (
	"context"
	"errors"

	"github.com/chainwalk/chainwalk/scenarios"
)

// Options are how a trial is made. The zero value is ready for use.
type Options struct {
	// Tool is the variant of the iptables tools; the first that the scenario names, or
	// legacy, if not given.
	Tool scenarios.Tool
	// Stop ends a trial after that many findings; 0: after the step that has the first ones.
	Stop int
}

// Run makes the steps of a scenario, one that was read from a file or made in Go, and judges after each. Expectations that its
// steps have are not looked at. The error says that the case cannot be run: it is not in
// order, or the context has ended. What goes wrong in a case that can is a finding, a panic
// among it.
func Run(ctx context.Context, s *scenarios.Scenario, o Options) (*Report, error) {
	return nil, errors.New("trial: nothing runs a case yet")
}
