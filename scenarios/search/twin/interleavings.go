package twin

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// maxInterleaved is how many events there may be for all their orders to be tried.
const maxInterleaved = 3

// Interleavings are the scenarios in which the events of a short one are told in every order
// in which an API may tell them: those of one kind of objects in their order, the kinds in any.
// All nodes hear of each at the same time; or one of them hears of nothing until the others
// know everything, each in turn. What is told is synced at once. There are none of a scenario
// that has more than three events, or other steps.
func Interleavings(s *scenarios.Scenario) []*scenarios.Scenario {
	s = s.WithoutLooks()
	for i := range s.Steps {
		if !free(&s.Steps[i]) {
			return nil
		}
	}
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil || len(s.Steps) == 0 || len(s.Steps) > maxInterleaved {
		return nil
	}
	var out []*scenarios.Scenario
	for _, order := range merges(pieces(s.Steps)) {
		everybody := nodeNames(c)
		out = append(out, told(s, order, everybody))
		for i := range everybody {
			if len(everybody) > 1 {
				out = append(out, told(s, order, slices.Delete(slices.Clone(everybody), i, i+1), everybody[i:i+1]))
			}
		}
	}
	return out
}

func nodeNames(c *scenarios.Cluster) []string {
	var out []string
	for i := range c.Nodes {
		out = append(out, c.Nodes[i].Name)
	}
	return out
}

// piece are the changes of one kind of objects that an event makes.
type piece struct {
	kind  scenarios.Watched
	count int
}

// pieces are the pieces of events, by kind, in their order.
func pieces(steps []scenarios.Step) map[scenarios.Watched][]piece {
	out := map[scenarios.Watched][]piece{}
	for i := range steps {
		counts := map[scenarios.Watched]int{}
		for _, o := range steps[i].Apply {
			counts[watched(o.Ref())]++
		}
		for _, r := range steps[i].Delete {
			counts[watched(r.Ref)]++
		}
		if steps[i].Node != nil {
			counts[scenarios.WatchedNodes]++
		}
		for kind, count := range counts {
			if kind != "" {
				out[kind] = append(out[kind], piece{kind, count})
			}
		}
	}
	return out
}

// watched is the kind of an object that proxiers are told of; empty if they are not.
func watched(r manifest.Ref) scenarios.Watched {
	switch r.Kind {
	case "Service":
		return scenarios.WatchedServices
	case "EndpointSlice":
		return scenarios.WatchedEndpointSlices
	case "Node":
		return scenarios.WatchedNodes
	}
	return ""
}

// merges are all orders of the pieces in which those of one kind keep theirs.
func merges(left map[scenarios.Watched][]piece) [][]piece {
	var out [][]piece
	for _, kind := range []scenarios.Watched{scenarios.WatchedServices, scenarios.WatchedEndpointSlices, scenarios.WatchedNodes} {
		if len(left[kind]) == 0 {
			continue
		}
		first := left[kind][0]
		left[kind] = left[kind][1:]
		for _, rest := range merges(left) {
			out = append(out, append([]piece{first}, rest...))
		}
		left[kind] = append([]piece{first}, left[kind]...)
	}
	if out == nil {
		return [][]piece{nil}
	}
	return out
}

// told is the scenario in which all nodes are held while everything happens, and then each group
// of nodes in turn is told all of it in the order.
func told(s *scenarios.Scenario, order []piece, groups ...[]string) *scenarios.Scenario {
	steps := []scenarios.Step{{Hold: &scenarios.NodeSet{All: true}}}
	for _, step := range s.Steps {
		step.Sync = &scenarios.NodeSet{}
		steps = append(steps, step)
	}
	for _, nodes := range groups {
		for _, p := range order {
			steps = append(steps, scenarios.Step{
				Deliver: &scenarios.Delivery{Nodes: nodes, Kinds: []scenarios.Watched{p.kind}, Count: p.count},
				Sync:    &scenarios.NodeSet{Names: nodes},
			})
		}
	}
	return s.WithSteps(append(steps, scenarios.Step{Hold: &scenarios.NodeSet{}, Sync: &scenarios.NodeSet{All: true}}))
}
