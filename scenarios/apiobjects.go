package scenarios

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// apiObjects are the objects that the API holds. The zero value holds none.
type apiObjects struct {
	all    []manifest.Object // with gaps where one was deleted
	places map[manifest.Ref]int
	nodes  map[string]*corev1.Node // as they were last, those that are deleted among them
}

// put adds objects, or replaces those of their names.
func (a *apiObjects) put(objects []manifest.Object) {
	if a.places == nil {
		a.places, a.nodes = map[manifest.Ref]int{}, map[string]*corev1.Node{}
	}
	for _, o := range objects {
		ref := o.Ref()
		place, ok := a.places[ref]
		if !ok {
			place = len(a.all)
			a.places[ref], a.all = place, append(a.all, manifest.Object{})
		}
		a.all[place] = o
		if node, ok := o.Object.(*corev1.Node); ok {
			a.nodes[node.Name] = node
		}
	}
}

// remove takes objects away.
func (a *apiObjects) remove(refs []manifest.Ref) {
	for _, ref := range refs {
		if place, ok := a.places[ref]; ok {
			a.all[place] = manifest.Object{}
			delete(a.places, ref)
		}
	}
}

// list are the objects, in the order in which their names came.
func (a *apiObjects) list() []manifest.Object {
	out := make([]manifest.Object, 0, len(a.places))
	for _, o := range a.all {
		if o.Object != nil {
			out = append(out, o)
		}
	}
	return out
}
