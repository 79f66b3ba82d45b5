package scenarios

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// apiObjects are the objects that the API holds. The zero value holds none.
type apiObjects struct {
	manifest.Held
	nodes map[string]*corev1.Node // as they were last, those that are deleted among them
}

// put adds objects, or replaces those of their names.
func (a *apiObjects) put(objects []manifest.Object) {
	a.Put(objects...)
	for _, o := range objects {
		if node, ok := o.Object.(*corev1.Node); ok {
			if a.nodes == nil {
				a.nodes = map[string]*corev1.Node{}
			}
			a.nodes[node.Name] = node
		}
	}
}
