package scenarios

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
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
			*o = append(*o, readBeside(d, item.Content[1])...)
			continue
		}
		*o = append(*o, manifest.DecodeObjects(d, item)...)
	}
}

// readBeside reads the objects of a file that a scenario refers to.
func readBeside(d *document.Decoder, n *yaml.Node) []manifest.Object {
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
	return objects
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
