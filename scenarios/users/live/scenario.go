package live

import (
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// ScenarioOptions say what a scenario of a cluster is to be.
type ScenarioOptions struct {
	// Name is the scenario's.
	Name string
	// Anonymise gives nodes, pods, services, namespaces, zones and port names other names, and everything other addresses:
	// the same everywhere, and such that what was in a network still is. Port numbers stay.
	Anonymise bool
	// Key decides which addresses these are.
	Key anonymise.Key
}

// Scenario makes a scenario of the cluster: its topology, its kube-proxy configuration, its services and endpoint slices
// without what decides about no packet, the rules of nodes with a snapshot that are not kube-proxy's, and a connection of every packet
// class with what the oracle expects of it.
// The notes say what was assumed.
func (c *Cluster) Scenario(o ScenarioOptions) (s *scenarios.Scenario, notes []string, err error) {
	d, notes, err := c.draft()
	if err != nil {
		return nil, nil, err
	}
	d.toSimulated()
	preload, left, err := c.preload(d)
	if err != nil {
		return nil, nil, err
	}
	d.preload, notes = preload, append(notes, left...)
	if o.Anonymise {
		if d, err = d.anonymised(o.Key); err != nil {
			return nil, nil, err
		}
	}
	if s, err = d.scenario(o.Name); err != nil {
		return nil, nil, err
	}
	resolved, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, nil, err
	}
	s.Steps = steps(oracle.New(promised(resolved)))
	return s, notes, nil
}

// promised is what the objects promise of a cluster. Rules of others on its nodes, other than a policy of DROP, are no reason not to keep
// it: what they stop is to be found.
func promised(c *scenarios.Cluster) *oracle.Cluster {
	out := plan.Of(c).Oracle(c.Objects)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.Filters = n.Filters && slices.ContainsFunc(c.Preload, func(p scenarios.Preload) bool { return p.IsFor(n.Name) && preloadDrops(&p) })
	}
	return out
}

// steps are the attempts of a state with the oracle's expectations: a step for each service, and one for what is for none.
func steps(spec *oracle.Spec) []scenarios.Step {
	var out []scenarios.Step
	places := map[string]int{}
	for _, a := range spec.Attempts() {
		answer := spec.Expect(a)
		expect, ok := scenarios.ExpectOf(&answer)
		if !ok {
			continue
		}
		name := "no service"
		if answer.Service.Name != "" {
			name = answer.Service.String()
		}
		place, known := places[name]
		if !known {
			place = len(out)
			places[name] = place
			out = append(out, scenarios.Step{Name: name})
		}
		out[place].Cases = append(out[place].Cases, connectStep(a, expect))
	}
	return out
}
