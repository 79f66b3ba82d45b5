package scenarios

import (
	"github.com/chainwalk/chainwalk/internal/document"
)

// Result is what came of one scenario on one backend.
type Result struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Backend string `json:"backend"`
	// Skipped says why the scenario was not run, empty if it was.
	Skipped string  `json:"skipped,omitempty"`
	Checks  []Check `json:"checks"`
}

// Failed reports whether anything was not as expected.
func (r *Result) Failed() bool {
	for i := range r.Checks {
		if !r.Checks[i].Passed {
			return true
		}
	}
	return false
}

// Check is one expectation that was looked at, or a step that could not be made.
type Check struct {
	Position document.Position `json:"-"`
	At       string            `json:"at"` // file:line:column of the expectation
	Tool     Tool              `json:"tool"`
	Step     int               `json:"step"` // counted from 1; 0 is the start of the cluster
	Name     string            `json:"name"`
	Passed   bool              `json:"passed"`
	// Packet is what was sent, in the words of the scenario.
	Packet   string `json:"packet,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Got is what was seen; Wrong says what of it is not as expected.
	Got   string `json:"got,omitempty"`
	Wrong string `json:"wrong,omitempty"`
	// Ways are the ways that the packet took; reports show those of failures, and
	// of others where they are asked to.
	Ways []Way `json:"ways,omitempty"`

	faulty int // the place in Ways of the one that is at fault, -1 for none
}
