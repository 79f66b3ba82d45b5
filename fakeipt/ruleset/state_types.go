package ruleset

import (
	"slices"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/record"
)

// StateParts has a value of every type of match and target that the state of the tools can have: all that there are.
func StateParts() []any {
	own := []any{&xtables.OpaqueMatch{}, &xtables.OpaqueTarget{}, &xtables.Jump{}, &xtables.Queue{}, &xtables.TargetVerdict{}}
	return slices.Concat(own, match.Types(), target.Types())
}

// stateTypes are all types of the state.
var stateTypes = sync.OnceValue(func() *record.Types {
	values := append([]any{&tableState{}, &chainRules{}}, StateParts()...)
	return record.NewTypes([]record.Interface{record.InterfaceOf[xtables.Match](), record.InterfaceOf[xtables.Target]()}, values...)
})
