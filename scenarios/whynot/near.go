package whynot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/names"
	stories "github.com/chainwalk/chainwalk/scenarios/story"
)

// nearly adds the rules that nearly matched: those of a service, or of one of its ports, that the packet came to, that are for the address
// that it calls, and of which another condition failed in all outcomes.
func (w *asked) nearly(service string) {
	outcomes, err := w.Host.WalkWith(w.In, packetsim.WalkOptions{Missed: true})
	if err != nil {
		return // the packet meets a rule that nobody knows: the trace itself says so
	}
	matched, seen := map[string]bool{}, map[string]bool{}
	for i := range outcomes {
		for k := range outcomes[i].Steps {
			matched[outcomes[i].Steps[k].Text] = true
		}
	}
	for i := range outcomes {
		for k := range outcomes[i].Events {
			look := outcomes[i].Events[k].Rule
			if outcomes[i].Events[k].Kind != packetsim.EventMissed || matched[look.Text] || seen[look.Text] || !isNear(look) {
				continue
			}
			object := w.Book.Rule(look.Table, look.Chain, look.Text)
			if name, ok := strings.CutPrefix(object, "service "); ok && (name == service || strings.HasPrefix(name, service+":")) {
				seen[look.Text] = true
				w.out.Unreached = append(w.out.Unreached, stories.Unreached{
					What: fmt.Sprintf("%s (%s)", look, object), Why: fmt.Sprintf("nearly matched, but for %q: %s", look.Failed, look.Text),
				})
			}
		}
	}
}

// isNear says whether a rule is for the packet's destination, and leads somewhere: not whether to masquerade, and not where chance or a
// remembered client lead.
func isNear(look *packetsim.RuleLook) bool {
	target := names.TargetOf(look.Text)
	return !strings.Contains(look.Failed, "-d ") && target != "KUBE-MARK-MASQ" && target != "" &&
		!slices.ContainsFunc([]string{"statistic", "recent"}, func(m string) bool { return strings.Contains(look.Failed, "-m "+m) })
}
