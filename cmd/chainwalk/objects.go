package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// readObjects reads all files of -f; "-" is stdin and may be given once.
func readObjects(s streams, files []string) ([]manifest.Object, error) {
	return readKnownObjects(s, files, &ignored{})
}

// readKnownObjects is readObjects, but passes over what is not known if it is to.
func readKnownObjects(s streams, files []string, skip *ignored) ([]manifest.Object, error) {
	var objects []manifest.Object
	stdin, ignore := 0, skip.ignore()
	defer skip.warn(s)
	for _, file := range files {
		if file == "-" {
			if stdin++; stdin > 1 {
				return nil, fmt.Errorf("-f - is given twice: standard input can be read only once")
			}
		}
		r, name, err := document.Open(file, s.in)
		if err != nil {
			return nil, err
		}
		more, err := manifest.ReadKnownObjects(name, r, ignore)
		_ = r.Close() // only read
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// pickNode returns the Node object of that name, or the only one where no name is given. It returns nil if there is no Node object
// and nobody asked for one.
func pickNode(objects []manifest.Object, name string) (*v1.Node, error) {
	var names []string
	var only *v1.Node
	for _, o := range objects {
		node, ok := o.Object.(*v1.Node)
		if !ok {
			continue
		}
		if name != "" && node.Name == name {
			return node, nil
		}
		names = append(names, node.Name)
		only = node
	}
	switch {
	case len(names) == 0:
		return nil, nil
	case name != "":
		return nil, fmt.Errorf("no Node object is named %q: the objects have %s", name, strings.Join(names, ", "))
	case len(names) > 1:
		return nil, fmt.Errorf("the objects have %d nodes: choose one with --node: %s", len(names), strings.Join(names, ", "))
	}
	return only, nil
}
