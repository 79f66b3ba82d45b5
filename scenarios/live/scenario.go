package live

import (
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// ScenarioOptions say what a scenario of a cluster is to be.
type ScenarioOptions struct {
	// Name is the scenario's.
	Name string
	// Anonymise gives nodes, pods, services, namespaces, zones and port names other names, and everything other addresses:
	// the same everywhere, and such that what was in a network still is. Port numbers stay.
	Anonymise bool
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
		d.anonymise()
	}
	if s, err = d.scenario(o.Name); err != nil {
		return nil, nil, err
	}
	resolved, err := scenarios.Resolve(s)
	if err != nil {
		return nil, nil, err
	}
	spec := oracle.New(plan.Of(resolved).Oracle(resolved.Objects))
	s.Steps = steps(spec)
	return s, notes, nil
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
