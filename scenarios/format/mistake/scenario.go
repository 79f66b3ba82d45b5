package mistake

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// InScenario finds the mistakes in a scenario and its objects, but for those that it says to be its point. What objects have in common is
// looked at after each step; what refers to something is in order if that is there at any time.
func InScenario(s *scenarios.Scenario) []Mistake {
	f := newFinder()
	resolved, err := scenarios.Resolve(s)
	if err != nil {
		f.note(Mistake{Position: document.FirstPosition(err), Msg: err.Error()})
		return f.found
	}
	ever := f.states(s)
	f.alone(ever)
	c := newCluster(ever)
	c.nodes = nil
	for _, o := range resolved.Objects {
		if n, ok := o.Object.(*corev1.Node); ok {
			c.nodes = append(c.nodes, nodeOf(n))
		}
	}
	c.laterNodes(s)
	f.together(c)
	if !s.Checks() {
		f.note(Mistake{Position: s.Pos, Kind: NothingChecked, Msg: "no step checks anything"})
	}
	return f.but(s)
}

// states looks at the objects as they are after each step, and returns all that there are at some time.
func (f *finder) states(s *scenarios.Scenario) []manifest.Object {
	var now manifest.Held
	var ever []manifest.Object
	apply := func(objects []manifest.Object) {
		f.twice(objects)
		now.Put(objects...)
		ever = append(ever, objects...)
		f.conflicts(now.List())
	}
	apply(s.Objects)
	for i := range s.Steps {
		for _, ref := range s.Steps[i].Delete {
			now.Remove(ref.Ref)
		}
		apply(s.Steps[i].Apply)
	}
	return ever
}

// laterNodes adds what nodes become by steps: their zones and addresses.
func (c *cluster) laterNodes(s *scenarios.Scenario) {
	for i := range s.Steps {
		change := s.Steps[i].Node
		if change == nil {
			continue
		}
		later := node{name: change.Name, addresses: change.Addresses}
		if zone := change.Labels[corev1.LabelTopologyZone]; zone != nil {
			later.zone = *zone
		}
		c.nodes = append(c.nodes, later)
	}
}

// but leaves out the mistakes that are the scenario's point, and finds those that it names and does not have.
func (f *finder) but(s *scenarios.Scenario) []Mistake {
	there := map[Kind]bool{}
	for _, m := range f.found {
		there[m.Kind] = true
	}
	meant := func(kind Kind) bool {
		return slices.Contains(s.Mistakes, string(kind)) && slices.Contains(kinds(), kind)
	}
	f.found = slices.DeleteFunc(f.found, func(m Mistake) bool { return meant(m.Kind) })
	var known []string
	for _, kind := range kinds() {
		known = append(known, string(kind))
	}
	for _, word := range s.Mistakes {
		switch {
		case !slices.Contains(known, word):
			f.note(Mistake{Position: s.Pos, Kind: NotThere, Msg: fmt.Sprintf("mistakes: unknown word %q%s", word, document.Suggest(word, known))})
		case !there[Kind(word)]:
			f.note(Mistake{Position: s.Pos, Kind: NotThere, Msg: fmt.Sprintf("mistakes: there is no %s in it (take the word out)", word)})
		}
	}
	return f.sorted()
}
