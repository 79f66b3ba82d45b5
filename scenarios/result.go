package scenarios

import (
	"time"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// Result is what came of one scenario on one backend.
type Result struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Backend string `json:"backend"`
	// Skipped says why the scenario was not run, empty if it was.
	Skipped string `json:"skipped,omitempty"`
	// Unread says that the file could not be read as a scenario; the one check says why.
	Unread bool    `json:"unread,omitempty"`
	Checks []Check `json:"checks"`
	// Started is when the run began, and Duration how long it took, with all variants of the tools together. Both are zero without a clock.
	Started  time.Time     `json:"-"`
	Duration time.Duration `json:"-"`
	// Log is what the proxies of the nodes said, each line once.
	Log []string `json:"-"`
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
	// Mode is the mode of kube-proxy on every node; empty in mode iptables, and in a scenario with nodes of several modes.
	Mode Mode `json:"mode,omitempty"`
	// Dialect is the one of the tools of iptables; empty in mode nftables on nodes without rules of iptables.
	Dialect netfilter.Dialect `json:"tool"`
	Step    int               `json:"step"` // counted from 1; 0 is the start of the cluster
	Name    string            `json:"name"`
	Passed  bool              `json:"passed"`
	// Error says that nothing could be looked at: the step itself failed, or the scenario was not read. The check has not passed then.
	Error bool `json:"error,omitempty"`
	// Skipped says why nothing was looked at, empty if something was. The check has passed then.
	Skipped string `json:"skipped,omitempty"`
	// OfMode is what of the expectation was not looked at, since it is about rules that another mode writes.
	OfMode []string `json:"ofOtherMode,omitempty"`
	// Documented says which document allows the mode to differ from what was expected; nil where what was expected came. The check has passed
	// then.
	Documented *Documented `json:"documented,omitempty"`
	// Packet is what was sent, in the words of the scenario.
	Packet   string `json:"packet,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Predicted is what a simulation of the same cluster says, where the backend has one.
	Predicted string `json:"predicted,omitempty"`
	// PredictedInPart says that Predicted has what can happen, and not how often.
	PredictedInPart bool `json:"predictedInPart,omitempty"`
	// Got is what was seen; Wrong says what of it is not as expected, or not as predicted.
	Got   string `json:"got,omitempty"`
	Wrong string `json:"wrong,omitempty"`
	// Disagreements are the disagreements of Expected, Predicted and Got that make Wrong, if the backend has a prediction.
	Disagreements []Disagreement `json:"disagreements,omitempty"`
	// Names are the objects behind the addresses of Packet, Expected and Got, if the check has failed.
	Names []Named `json:"names,omitempty"`
	// Unreached are the endpoints of the service, and its rules, that could have been expected and are in none of Ways, with the reason: of
	// the first packet of a failed check, by the objects that there are at the step, where the backend can tell.
	Unreached []story.Unreached `json:"unreached,omitempty"`
	// Notes are about what was reached, though by the objects it should not be.
	Notes []string `json:"notes,omitempty"`
	// Ways are the ways that the packet took; reports show those of failures, and
	// of others where they are asked to.
	Ways []Way `json:"ways,omitempty"`
	// PredictedWays are the predicted ways; reports show them if a check failed.
	PredictedWays []Way `json:"predictedWays,omitempty"`

	// Rules are the lines of iptables-save on a node as they were at the check, without counters; nil where the backend does not keep them.
	Rules func(node string) []string `json:"-"`

	// Duration is the time since the check before, or since the run began.
	Duration time.Duration `json:"-"`

	difference string // the kind of what is wrong, for reports that show one of each; empty: a kind of its own
	faulty     int    // the place in Ways of the one that is at fault, -1 for none
}
