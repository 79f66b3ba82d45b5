package kind

import (
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// OfOtherMode reports whether a scenario does not run for the proxies' mode, whatever else the cluster lacks: it names another mode; or it
// names none, and changes rules of iptables, or looks at nothing but those, and the proxies write none.
func (b *Backend) OfOtherMode(s *scenarios.Scenario) bool {
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return false // it says so itself when it runs
	}
	if s.NotFor(scenarios.Mode(b.facts.Mode), c) != "" {
		return true
	}
	if noRules(b.facts.Mode) == "" || c.Mode() == scenarios.ModeNFTables {
		return false
	}
	return changesIPTables(s, c) || looksOnlyAtIPTables(s, b.facts.Mode)
}

// changesIPTables reports whether a scenario has rules of iptables on its nodes that are not kube-proxy's, or their tools fail.
func changesIPTables(s *scenarios.Scenario, c *scenarios.Cluster) bool {
	return slices.ContainsFunc(c.Preload, func(p scenarios.Preload) bool { return p.NFT == "" }) ||
		slices.ContainsFunc(s.Steps, func(step scenarios.Step) bool { return step.Fault != nil && faultOfIPTables(step.Fault) })
}

func faultOfIPTables(f *scenarios.Fault) bool {
	return len(f.Flush) > 0 || f.RestoreFails > 0 || f.SaveFails > 0 || f.LockHeld > 0 || f.RestoreTakes != nil ||
		slices.ContainsFunc(f.Run, runsIPTables)
}

// runsIPTables reports whether a command line runs a tool of iptables.
func runsIPTables(line string) bool {
	words := strings.Fields(line)
	return len(words) > 0 && iptablesTool().MatchString(words[0])
}

// looksOnlyAtIPTables reports whether nothing is left to look at without rules of iptables.
func looksOnlyAtIPTables(s *scenarios.Scenario, mode string) bool {
	found := false
	for i := range s.Steps {
		switch step := &s.Steps[i]; {
		case overlooked(step, mode) == noRules(mode):
			found = true
		case step.Looks() && overlooked(step, mode) == "":
			return false
		}
	}
	return found
}
