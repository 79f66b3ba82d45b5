package live

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Effect is what a change of objects, of kube-proxy's configuration or of rules does to packets: every class of packets of every service,
// tried on the fake kernel before the change and after it. What a class is, package oracle says (Spec.Attempts).
type Effect struct {
	Version  int `json:"version"`  // of this form: 1
	Services int `json:"services"` // that are there before or after
	Packets  int `json:"packets"`  // classes that were tried on both sides
	// Changes are the classes that are treated differently, those to one destination that are treated alike together.
	Changes []Altered `json:"changes"`
	// Mistakes are what is likely to be wrong with the objects after the change and was not before it. Who reads the objects finds them
	// (package mistake).
	Mistakes []string `json:"mistakes,omitempty"`
	// Notes say what was assumed, and what could not be tried.
	Notes []string `json:"notes"`
}

// Altered are packets to one destination that have one fate before a change and another one after it.
type Altered struct {
	// Service is the service port that the packets are for, by the objects after the change, or before it; empty for those that are for
	// none.
	Service string `json:"service,omitempty"`
	// To is the destination as the client calls it: tcp 10.96.0.10:53.
	To string `json:"to"`
	// Pods, Nodes and Machines are the names of the clients. A machine is outside of the cluster: "M by N" sends to the node N first.
	Pods     []string `json:"pods,omitempty"`
	Nodes    []string `json:"nodes,omitempty"`
	Machines []string `json:"machines,omitempty"`
	Before   string   `json:"before"`
	After    string   `json:"after"`
}

// Side is a cluster before or after a change, with rules of others on its nodes.
type Side struct {
	Cluster *Cluster
	Rules   []scenarios.Preload
}

// side is a Side that packets can be sent through.
type side struct {
	cluster *scenarios.Cluster
	spec    *oracle.Spec
	world   *sim.World
}

// EffectOf says which packets are treated differently after a change. A service without a cluster IP or node port, as in files that are not
// applied yet, is given one, the same before and after. Services that select pods get their EndpointSlices where none are given.
func EffectOf(ctx context.Context, before, after Side) (*Effect, error) {
	out := &Effect{Version: 1, Changes: []Altered{}, Notes: []string{}}
	given := []Side{before, after}
	filled, err := fill(given)
	if err != nil {
		return nil, err
	}
	out.note(filled...)
	out.Services = countServices(given)
	if err := samePods(given); err != nil {
		return nil, err
	}
	var sides [2]*side
	var notes [2][]string
	for i, given := range given {
		if sides[i], notes[i], err = given.start(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", when(i), err)
		}
	}
	for i, of := range notes {
		for _, n := range of {
			if !slices.Contains(notes[1-i], n) {
				n = when(i) + " the change: " + n
			}
			out.note(n)
		}
	}
	return out, out.compare(ctx, sides[0], sides[1])
}

// when is the word for a side.
func when(side int) string { return [2]string{"before", "after"}[side] }

// samePods has the simulated clusters of all sides have the pods that any of them would have: which pods are clients depends on which
// serve.
func samePods(sides []Side) error {
	var kept []netip.Addr
	for i := range sides {
		s, err := sides[i].Cluster.survey()
		if err != nil {
			return fmt.Errorf("%s: %w", when(i), err)
		}
		for _, pod := range s.out.Pods {
			kept = append(kept, pod.Addresses...)
		}
	}
	for i := range sides {
		c := sides[i].Cluster
		c.ends = slices.Concat(c.ends, kept)
	}
	return nil
}

// note adds notes, each once.
func (e *Effect) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(e.Notes, n) {
			e.Notes = append(e.Notes, n)
		}
	}
}

// start makes the simulated cluster of a side, and has its proxies sync.
func (s Side) start(ctx context.Context) (*side, []string, error) {
	d, notes, err := s.Cluster.draft()
	if err != nil {
		return nil, nil, err
	}
	d.toSimulated()
	preload, left, err := s.Cluster.preload(d)
	if err != nil {
		return nil, nil, err
	}
	d.preload, notes = preload, append(notes, left...)
	draft, err := d.scenario("packets before and after a change")
	if err != nil {
		return nil, nil, err
	}
	draft.IPTables.Preload = append(draft.IPTables.Preload, s.Rules...)
	resolved, err := scenarios.ResolveWith(draft, controller.New)
	if err != nil {
		return nil, nil, err
	}
	world, err := sim.NewWorld(ctx, resolved.With(d.dialect(s.Cluster.Dialect)), sim.Options{})
	if err != nil {
		return nil, nil, err
	}
	for i := range resolved.Nodes {
		if err := world.Sync(ctx, []string{resolved.Nodes[i].Name}); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", resolved.Nodes[i].Name, err)
		}
	}
	return &side{resolved, oracle.New(promised(resolved)), world}, notes, nil
}

// compare tries every class of packets that either side has, on both.
func (e *Effect) compare(ctx context.Context, before, after *side) error {
	seen, gone := map[oracle.Attempt]bool{}, map[string]bool{}
	for _, a := range slices.Concat(after.spec.Attempts(), before.spec.Attempts()) {
		if seen[a] {
			continue
		}
		seen[a] = true
		if missing := before.lacks(a) + after.lacks(a); missing != "" {
			gone[missing] = true
			continue
		}
		e.Packets++
		was, err := before.fate(ctx, a)
		if err != nil {
			return fmt.Errorf("before: %w", err)
		}
		is, err := after.fate(ctx, a)
		if err != nil {
			return fmt.Errorf("after: %w", err)
		}
		if was != is {
			e.add(a, after, before, was, is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		e.note(name + " is there only before or only after the change: no packet that it sends, or that comes by it, is compared")
	}
	return nil
}

// add adds a class whose fate changes to those that are treated alike.
func (e *Effect) add(a oracle.Attempt, after, before *side, was, is string) {
	changed := Altered{Service: after.serviceOf(a), To: targetOf(a).String(), Before: was, After: is}
	if changed.Service == "" {
		changed.Service = before.serviceOf(a)
	}
	at := slices.IndexFunc(e.Changes, func(c Altered) bool {
		return c.Service == changed.Service && c.To == changed.To && c.Before == was && c.After == is
	})
	if at < 0 {
		e.Changes = append(e.Changes, changed)
		at = len(e.Changes) - 1
	}
	c := &e.Changes[at]
	list, name := &c.Machines, a.From
	switch {
	case after.cluster.Node(name) != nil:
		list = &c.Nodes
	case after.cluster.Pod(name) != nil:
		list = &c.Pods
	case a.Via != "" && len(after.cluster.Nodes) > 1:
		name += " by " + a.Via
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}
