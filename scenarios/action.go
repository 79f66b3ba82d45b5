package scenarios

import (
	"context"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// action is something that a step can do, and all that follows from it.
type action struct {
	name  string
	given func(*Step) bool
	does  effect
	// needs is what a backend must be able to do for it, beyond what every backend can.
	needs Need
	// check finds what the types cannot refuse; nil where that is nothing.
	check func(*checker, *Step)
	act   func(*runner, context.Context, *Step) error
	// title says in a few words what it does; nil where the name does.
	title func(*Step) string
}

// effect is what an action does to the cluster.
type effect uint8

const (
	acts      effect = iota // changes something of which proxiers are not told, or not now
	changes                 // every node syncs after it, if the file does not say
	tells                   // changes what the API holds, and every node syncs after it
	looks                   // changes nothing, so that it can stand within a sync
	looksBack               // changes nothing, and is about syncs that have ended
)

// Need is something that not every backend can do.
type Need string

// The needs.
const (
	NeedOrder  Need = "order"  // say in which order a proxy gets changes
	NeedWrites Need = "writes" // see what a proxy gives to the tools
)

// syncs says that every node syncs after it, if the file does not say.
func (e effect) syncs() bool { return e == changes || e == tells }

// nothing says that the cluster stays as it is.
func (e effect) nothing() bool { return e == looks || e == looksBack }

// actions are all actions, in the order in which they are listed.
func actions() []action {
	return []action{
		{
			name: "apply", given: func(s *Step) bool { return s.Apply != nil }, does: tells,
			check: (*checker).applied, act: (*runner).apply,
			title: func(s *Step) string {
				return "apply " + listOf(s.Apply, func(o manifest.Object) string { return o.Ref().String() })
			},
		},
		{
			name: "delete", given: func(s *Step) bool { return s.Delete != nil }, does: tells,
			check: (*checker).deleted, act: (*runner).remove,
			title: func(s *Step) string { return "delete " + listOf(s.Delete, func(r Ref) string { return r.String() }) },
		},
		{
			name: "node", given: func(s *Step) bool { return s.Node != nil }, does: tells,
			check: (*checker).nodeChange, act: (*runner).changeNode,
			title: func(s *Step) string { return "change node " + s.Node.Name },
		},
		{
			name: "advance", given: func(s *Step) bool { return s.Advance != nil },
			check: (*checker).advance, act: (*runner).advance,
			title: func(s *Step) string { return "advance " + s.Advance.Duration.String() },
		},
		{name: "restart", given: func(s *Step) bool { return s.Restart != nil }, does: changes, act: (*runner).restart},
		{name: "hold", given: func(s *Step) bool { return s.Hold != nil }, check: (*checker).hold, act: (*runner).hold},
		{
			name: "deliver", given: func(s *Step) bool { return s.Deliver != nil }, does: changes, needs: NeedOrder,
			check: (*checker).deliver, act: (*runner).deliver,
		},
		{
			name: "start", given: func(s *Step) bool { return s.Start != nil }, check: (*checker).start, act: (*runner).start,
			title: func(s *Step) string { return "start " + listOf(s.Start, func(p Pod) string { return p.Name }) },
		},
		{
			name: "stop", given: func(s *Step) bool { return s.Stop != nil }, check: (*checker).stop, act: (*runner).stop,
			title: func(s *Step) string { return "stop " + strings.Join(s.Stop, ", ") },
		},
		{
			name: "connect", given: func(s *Step) bool { return s.Connect != nil }, does: looks,
			check: (*checker).connections, act: (*runner).connections,
		},
		{
			name: "cases", given: func(s *Step) bool { return s.Cases != nil }, does: looks,
			check: (*checker).connections, act: (*runner).connections,
		},
		{name: "flow", given: func(s *Step) bool { return s.Flow != nil }, does: looks, check: (*checker).flow, act: (*runner).follow},
		{name: "send", given: func(s *Step) bool { return s.Send != nil }, does: looks, check: (*checker).send, act: (*runner).send},
		{name: "rules", given: func(s *Step) bool { return s.Rules != nil }, does: looks, check: (*checker).rules, act: (*runner).rules},
		{name: "health", given: func(s *Step) bool { return s.Health != nil }, does: looks, check: (*checker).health, act: (*runner).health},
		{
			name: "healthz", given: func(s *Step) bool { return s.Healthz != nil }, does: looks,
			check: (*checker).healthz, act: (*runner).healthz,
		},
		{
			name: "conntrack", given: func(s *Step) bool { return s.Conntrack != nil }, does: looks,
			check: (*checker).conntrack, act: (*runner).conntrack,
		},
		{
			name: "writes", given: func(s *Step) bool { return s.Writes != nil }, does: looksBack, needs: NeedWrites,
			check: (*checker).writes, act: (*runner).writes,
		},
		{name: "fault", given: func(s *Step) bool { return s.Fault != nil }, check: (*checker).fault, act: (*runner).fault},
	}
}

// onlySync is the action of a step that does nothing but to sync.
const onlySync = "sync"

// checkingActions are the names of the actions that check something.
func checkingActions() []string {
	return actionNames(slices.DeleteFunc(actions(), func(a action) bool { return !a.does.nothing() }))
}

func actionNames(actions []action) []string {
	names := make([]string, len(actions))
	for i := range actions {
		names[i] = actions[i].name
	}
	return names
}

// actions are the actions that the step gives.
func (s *Step) actions() []action {
	return slices.DeleteFunc(actions(), func(a action) bool { return !a.given(s) })
}

// action is the one that is given; a file with several is refused when it is read.
func (s *Step) action() action {
	if given := s.actions(); len(given) > 0 {
		return given[0]
	}
	return action{name: onlySync, act: func(*runner, context.Context, *Step) error { return nil }}
}

// describe says in a few words what a step does, for reports.
func (s *Step) describe() string {
	if s.Name != "" {
		return s.Name
	}
	a := s.action()
	if a.title == nil {
		return a.name
	}
	return a.title(s)
}
