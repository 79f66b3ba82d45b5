package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// Fault makes something go wrong on one node.
func (s *session) Fault(_ context.Context, f scenarios.Fault) error {
	n := s.nodes[f.Node]
	n.exec.RestoreFails += f.RestoreFails
	for _, table := range f.Flush {
		for _, family := range tools.Families(s.cluster.IPFamily) {
			for _, option := range []string{"-F", "-X"} {
				if _, err := n.run("", tools.Name(family, ""), "-t", table, option); err != nil {
					return fmt.Errorf("fault: %w", err)
				}
			}
		}
	}
	for _, line := range f.Run {
		if _, err := n.run("", strings.Fields(line)...); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}
