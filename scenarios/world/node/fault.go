package node

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Faulty reports whether a command of the proxier is still to fail.
func (n *Node) Faulty() bool { return n.tools.Faults.Pending() }

// Failures are how many commands are still to fail without which a sync has not done its work.
func (n *Node) Failures() int { return n.tools.Faults.Failures() }

// fault makes something go wrong behind the proxier's back. The tools that it runs are called what name makes of them.
func (n *Node) fault(f scenarios.Fault, families []scenarios.IPFamily, name func(string) string) error {
	n.tools.Faults.Add(f)
	if f.Family != "" {
		families = []scenarios.IPFamily{f.Family}
	}
	var lines [][]string
	for _, table := range f.Flush {
		for _, family := range families {
			tool := tools.Name(family, "")
			lines = append(lines, []string{tool, "-t", table, "-F"}, []string{tool, "-t", table, "-X"})
		}
	}
	for _, line := range f.Run {
		lines = append(lines, strings.Fields(line))
	}
	for _, line := range lines {
		line[0] = name(line[0])
		if _, err := n.Run("", line...); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}
