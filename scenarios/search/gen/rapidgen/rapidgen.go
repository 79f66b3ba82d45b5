// Package rapidgen gives rapid the scenarios of package gen: rapid searches for failures among them, and Go's coverage-guided fuzzing
// steers their draws (rapid.MakeFuzz). Only tests link it. rapid makes large tables when a program starts, so gen itself does without it.
package rapidgen

import (
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
)

// Scenario makes scenarios, as gen.Draw describes them.
func Scenario(o gen.Options) *rapid.Generator[*scenarios.Scenario] {
	bit := rapid.Bool()
	return rapid.Custom(func(t *rapid.T) *scenarios.Scenario {
		return gen.Draw(o, func() bool { return bit.Draw(t, "") })
	})
}
