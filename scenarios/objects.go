package scenarios

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Objects are Kubernetes objects, written out or in files beside the scenario.
type Objects []manifest.Object

// UnmarshalDocument reads a list whose items are objects, list objects, or
// {file: NAME}.
func (o *Objects) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		d.Errorf(n, "want a list of Kubernetes objects")
		return
	}
	for _, item := range n.Content {
		item = document.Resolve(item)
		if item.Kind == yaml.MappingNode && len(item.Content) == 2 && item.Content[0].Value == "file" {
			*o = append(*o, readReferred(d, item.Content[1])...)
			continue
		}
		*o = append(*o, served(d, item, manifest.DecodeObjects(d, item))...)
	}
}

// served are objects without the NetworkPolicies among them, which kube-proxy does not read: one in a scenario would promise what nothing
// here holds.
func served(d *document.Decoder, n *yaml.Node, objects []manifest.Object) []manifest.Object {
	return slices.DeleteFunc(objects, func(o manifest.Object) bool {
		_, policy := o.Object.(*networkingv1.NetworkPolicy)
		switch {
		case !policy:
		case d.Ignored() != nil:
			d.Ignored()(o.Pos, "kind NetworkPolicy")
		default:
			d.Note(n, &document.Error{Position: o.Pos, Msg: "a NetworkPolicy has no part in a scenario: kube-proxy does not read it. Leave it out"})
		}
		return policy
	})
}

// readReferred reads the objects of a file that a scenario refers to.
func readReferred(d *document.Decoder, n *yaml.Node) []manifest.Object {
	name, ok := d.Scalar(n, "the name of a file")
	if !ok {
		return nil
	}
	if filepath.IsAbs(name) || strings.TrimSpace(name) == "" {
		d.Errorf(n, "file: want a path relative to the scenario's folder, got %q", name)
		return nil
	}
	r, path, err := document.Open(filepath.Join(filepath.Dir(d.File()), name), nil)
	if err != nil {
		d.Note(n, err)
		return nil
	}
	defer r.Close() //nolint:errcheck // nothing was written
	objects, err := manifest.ReadKnownObjects(path, r, d.Ignored())
	if err != nil {
		d.Note(n, err)
	}
	return served(d, n, objects)
}

func (o Objects) spell() (*yaml.Node, error) {
	out := sequence()
	for _, one := range o {
		n, err := one.Plain()
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, n)
	}
	return out, nil
}
