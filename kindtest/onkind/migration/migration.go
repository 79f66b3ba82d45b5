// Package migration changes kube-proxy's mode on kind clusters, and holds what chainwalk migrate foretells of the change against what
// happens.
//
// It is the tests that make migrate-e2e runs, and the scenario that they play. docs/migrate.md describes the command.
package migration

import (
	_ "embed" // of the scenario
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

//go:embed testdata/switch.yaml
var switching string

// Modes are the two modes, the first one first.
var Modes = []struct{ From, To string }{{"iptables", "nftables"}, {"nftables", "iptables"}}

// Scenario is testdata/switch.yaml for a change from a mode to the other, and back. Its error names the line.
func Scenario(from, to string) (*scenarios.Scenario, error) {
	text := strings.NewReplacer("FROM", from, "TO", to).Replace(switching)
	return scenarios.Read("testdata/switch.yaml", strings.NewReader(text))
}
