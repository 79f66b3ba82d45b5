package trial

import (
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
)

// Report is what came of a trial.
type Report struct {
	Findings []Finding
	Figures  Figures
}

// Finding is something that the specification does not allow.
type Finding struct {
	// Clause is the clause that is broken.
	Clause *oracle.Clause
	// Step is the step after which it was seen, counted from 1; 0 is the first sync.
	Step int
	// Node is the node whose rules are at fault, empty where that is no single one.
	Node string
	// After is the command within the sync of Step after which it was seen; empty after the sync.
	After string
	// Attempt is the first packet of the connection that shows it; its zero value where none does.
	Attempt oracle.Attempt
	// Want and Got say in words what is allowed and what was seen.
	Want, Got string
	// Check are steps with the specification's expectation, to be made after Step.
	Check []scenarios.Step
}

// Witness is the scenario up to the step of the finding, and then its checks: an ordinary
// scenario that fails as long as the fault is there, on every backend.
func (f *Finding) Witness(s *scenarios.Scenario) *scenarios.Scenario {
	out := *s
	out.Steps = append(append([]scenarios.Step{}, s.Steps[:f.Step]...), f.Check...)
	return &out
}
