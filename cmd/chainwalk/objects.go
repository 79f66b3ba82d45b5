package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
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
		text, err := io.ReadAll(r)
		_ = r.Close() // only read
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		more, err := manifest.ReadKnownObjects(name, bytes.NewReader(text), ignore)
		if err != nil && skip.offered && !skip.on {
			if _, other := manifest.ReadKnownObjects(name, bytes.NewReader(text), func(document.Position, string) {}); other == nil {
				err = fmt.Errorf("%w\n--ignore-unknown passes over what is not known, and says what that is", err)
			}
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// needSlices refuses objects that a node cannot be held against: of a cluster's nodes and services without an EndpointSlice, of which every
// cluster has one for its API server.
func needSlices(objects []manifest.Object) error {
	nodes, services := manifest.Of[*v1.Node](objects), manifest.Of[*v1.Service](objects)
	if len(nodes) > 0 && len(services) > 0 && len(manifest.Of[*discoveryv1.EndpointSlice](objects)) == 0 {
		return errors.New("the objects have no EndpointSlice: give the output of kubectl get services,endpointslices,nodes,pods -A")
	}
	return nil
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
