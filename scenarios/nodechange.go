package scenarios

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// NodeChange changes a Node object.
type NodeChange struct {
	document.Located
	Name   string             `json:"name" required:"true" doc:"The node."`
	Labels map[string]*string `json:"labels" required:"true" doc:"Labels to set; null takes one away."`
}

// note remembers the Node objects that were applied.
func (r *runner) note(objects []manifest.Object) {
	for _, o := range objects {
		if node, ok := o.Object.(*corev1.Node); ok {
			r.nodes[node.Name] = node
		}
	}
}

func (c *checker) nodeChange(s *Step) { c.nodes(s.Node.Pos, []string{s.Node.Name}) }

func (r *runner) changeNode(ctx context.Context, s *Step) error {
	change := s.Node
	node := r.nodes[change.Name].DeepCopy()
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for key, value := range change.Labels {
		if value == nil {
			delete(node.Labels, key)
		} else {
			node.Labels[key] = *value
		}
	}
	r.nodes[change.Name] = node
	return r.session.Apply(ctx, []manifest.Object{{Object: node, Pos: change.Pos}})
}
