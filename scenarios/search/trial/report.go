package trial

import "github.com/chainwalk/chainwalk/scenarios"

// Report is what came of a trial.
type Report struct {
	Violations []Violation
	Figures    Figures

	// met is what packets meet in the end, for plays that are compared.
	met []met
	// mending are the steps by which the faults stopped.
	mending []scenarios.Step
}
