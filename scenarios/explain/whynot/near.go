package whynot

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	stories "github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// nearly adds the rules that nearly matched: those of a service, or of one of its ports, that the packet came to, that are for the address
// that it calls, and of which another condition failed in all outcomes.
func (w *asked) nearly(service string) {
	outcomes, err := w.Host.WalkWith(w.In, packetsim.WalkOptions{Missed: true})
	if err != nil {
		return // the packet meets an unknown rule: the trace itself says so
	}
	matched, seen := map[string]bool{}, map[string]bool{}
	for i := range outcomes {
		for k := range outcomes[i].Steps {
			matched[outcomes[i].Steps[k].Text()] = true
		}
	}
	for i := range outcomes {
		for k := range outcomes[i].Events {
			look := outcomes[i].Events[k].Rule
			if outcomes[i].Events[k].Kind != packetsim.EventMissed || matched[look.Rule.Text] || seen[look.Rule.Text] || !isNear(look) {
				continue
			}
			object := w.Book.Rule(look.Table, look.Chain, &look.Rule.Fact)
			if name, ok := strings.CutPrefix(object, "service "); ok && (name == service || strings.HasPrefix(name, service+":")) {
				seen[look.Rule.Text] = true
				w.out.Unreached = append(w.out.Unreached, stories.Unreached{
					What: fmt.Sprintf("%s (%s)", look, object), Why: fmt.Sprintf("nearly matched, but for %q: %s", look.Failed, look.Rule.Text),
				})
			}
		}
	}
}

// isNear says whether a rule is for the packet's destination, and leads somewhere: not whether to masquerade, and not where chance or a
// remembered client lead.
func isNear(look *packetsim.RuleLook) bool {
	f, failed := &look.Rule.Fact, &look.FailedAt
	otherAddress := failed.Dst.IsValid() || failed.AsksFor("destination")
	return !otherAddress && f.HasTarget() && !provenance.MarksForMasquerade(f.Jump) && !failed.AsksFor("statistic") &&
		!failed.AsksFor("recent")
}
