package gen

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// course is what happens, one step after the other.
type course struct {
	mixture
	cluster *cluster
	steps   []scenarios.Step
}

func everyNode() *scenarios.NodeSet { return &scenarios.NodeSet{All: true} }

func (c *course) step(s scenarios.Step) { c.steps = append(c.steps, s) }

// change adds a step that changes something, after which all nodes sync, some, or none.
func (c *course) change(s scenarios.Step) {
	if c.has.Has(PartialSync) {
		switch c.below(6) {
		case 4:
			s.Sync = &scenarios.NodeSet{} // none: it waits for the next one
		case 5:
			s.Sync = &scenarios.NodeSet{Names: []string{pick(c.draw, c.cluster.nodes...).name}}
		}
	}
	c.step(s)
}

// apply adds a step that creates or replaces objects.
func (c *course) apply(objects ...manifest.Object) {
	if len(objects) > 0 {
		c.change(scenarios.Step{Apply: objects})
	}
}

// remove adds a step that deletes objects.
func (c *course) remove(objects ...manifest.Object) {
	if len(objects) == 0 {
		return
	}
	var refs []scenarios.Ref
	for _, o := range objects {
		refs = append(refs, scenarios.Ref{Ref: o.Ref()})
	}
	c.change(scenarios.Step{Delete: refs})
}

// oneOrAll is a node, or every node.
func (c *course) oneOrAll() *scenarios.NodeSet {
	if c.in(1, 2) {
		return &scenarios.NodeSet{Names: []string{pick(c.draw, c.cluster.nodes...).name}}
	}
	return everyNode()
}

func (c *course) wait(d time.Duration) {
	c.step(scenarios.Step{Advance: &metav1.Duration{Duration: d}})
}

func sliceObjects(list ...*discoveryv1.EndpointSlice) []manifest.Object {
	var out []manifest.Object
	for _, s := range list {
		out = append(out, object(s))
	}
	return out
}
