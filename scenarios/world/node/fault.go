package node

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Faulty reports whether a command of the proxier is still to fail.
func (n *Node) Faulty() bool { return n.tools.Faults.Pending() }

// Failures are how many commands are still to fail without which a sync has not done its work.
func (n *Node) Failures() int { return n.tools.Faults.Failures() }

// FailingRestores are how many of them write rules.
func (n *Node) FailingRestores() int { return n.tools.Faults.Restores() }

// fault makes something go wrong behind the proxier's back. The tools that it runs are called what name makes of them.
func (n *Node) fault(f scenarios.Fault, families []scenarios.IPFamily, name func(string) string) error {
	n.tools.Faults.Add(f)
	if f.Family != "" {
		families = []scenarios.IPFamily{f.Family}
	}
	for _, line := range append(n.flushes(f.Flush, families), fieldsOf(f.Run)...) {
		line[0] = name(line[0])
		if _, err := n.Run("", line...); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}

// flushes are the command lines that remove tables of iptables, and, of a proxier in mode nftables, its own table.
func (n *Node) flushes(tables []string, families []scenarios.IPFamily) (lines [][]string) {
	if len(tables) == 0 {
		return nil
	}
	for _, family := range families {
		for _, table := range tables {
			tool := tools.Name(family, "")
			lines = append(lines, []string{tool, "-t", table, "-F"}, []string{tool, "-t", table, "-X"})
		}
		if n.process.Configuration.Mode == manifest.ModeNFTables {
			// To delete what is not there would be an error.
			own := []string{"table", tools.NFTFamily(family), tools.NFTTable}
			lines = append(lines, append([]string{"nft", "add"}, own...), append([]string{"nft", "delete"}, own...))
		}
	}
	return lines
}

func fieldsOf(lines []string) (out [][]string) {
	for _, line := range lines {
		out = append(out, strings.Fields(line))
	}
	return out
}
