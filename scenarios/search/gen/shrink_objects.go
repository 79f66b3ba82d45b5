package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/internal/ddmin"
)

// refOf names an object of a tree as a step that deletes it does; empty if it is none.
func refOf(object any) string {
	kind, _ := ddmin.At(object, ddmin.Path{"kind"}).(string)
	name, _ := ddmin.At(object, ddmin.Path{"metadata", "name"}).(string)
	namespace, _ := ddmin.At(object, ddmin.Path{"metadata", "namespace"}).(string)
	if namespace == "" {
		namespace = "default"
	}
	return strings.ToLower(kind) + " " + namespace + "/" + name
}

// versions are the paths to an object as it is at the start and as steps apply it, by its name.
func versions(t ddmin.Tree) map[string][]ddmin.Path {
	out := map[string][]ddmin.Path{}
	add := func(in ddmin.Path) {
		list, _ := ddmin.At(t, in).([]any)
		for i, o := range list {
			out[refOf(o)] = append(out[refOf(o)], in.With(i))
		}
	}
	add(ddmin.Path{"objects"})
	steps, _ := ddmin.At(t, ddmin.Path{"steps"}).([]any)
	for i := range steps {
		add(ddmin.Path{"steps", i, "apply"})
	}
	return out
}

// services drops each service with all of its slices, and each slice, from the whole scenario.
func (s *shrinking) services() {
	all := versions(s.tree)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		gone := map[string]bool{ref: true}
		if name, ok := strings.CutPrefix(ref, "service "); ok {
			for other, paths := range all {
				label, _ := ddmin.At(s.tree, paths[0].With("metadata").With("labels").With(discoveryv1.LabelServiceName)).(string)
				if strings.HasPrefix(other, "endpointslice ") && name[strings.Index(name, "/")+1:] == label {
					gone[other] = true
				}
			}
		}
		s.try(withoutObjects(s.tree, gone))
		delete(gone, ref)
		if len(gone) > 0 {
			s.try(withoutObjects(s.tree, gone))
		}
	}
}

// withoutObjects takes objects from the start, from what steps apply and delete, and steps with nothing left.
func withoutObjects(t ddmin.Tree, gone map[string]bool) ddmin.Tree {
	isGone := func(o any) bool { return gone[refOf(o)] }
	named := func(o any) bool {
		name, _ := o.(string)
		if !strings.Contains(name, "/") {
			name = strings.Replace(name, " ", " default/", 1)
		}
		return gone[name]
	}
	return cleared(t, func(key string, list []any) []any {
		switch key {
		case "objects", "apply":
			return slices.DeleteFunc(slices.Clone(list), isGone)
		case "delete":
			return slices.DeleteFunc(slices.Clone(list), named)
		}
		return list
	})
}

// cleared changes the lists at the root and of the steps, and takes out those that became
// empty, with the steps that they were all of.
func cleared(t ddmin.Tree, change func(key string, list []any) []any) ddmin.Tree {
	fields := func(m map[string]any) (out map[string]any, emptied bool) {
		out = maps.Clone(m)
		for key, value := range m {
			if list, ok := value.([]any); ok && len(list) > 0 {
				if left := change(key, list); len(left) > 0 {
					out[key] = left
				} else {
					delete(out, key)
					emptied = true
				}
			}
		}
		return out, emptied
	}
	root, _ := fields(t.(map[string]any))
	var steps []any
	list, _ := root["steps"].([]any)
	for _, step := range list {
		if left, emptied := fields(step.(map[string]any)); !emptied {
			steps = append(steps, left)
		}
	}
	root["steps"] = steps
	return root
}

// everyVersion drops what it can from all versions of an object at the same time: what is
// in one of them only would be a change.
func (s *shrinking) everyVersion() {
	all := versions(s.tree)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		paths := all[ref]
		for _, what := range s.fieldsOf(paths) {
			s.try(withoutIn(s.tree, paths, what))
		}
	}
}

// field is a part of an object: a key of the mapping at a path, or the item of the list
// there that is called so. A path through a list has the items' names, not their places.
type field struct {
	in   ddmin.Path
	key  string
	item bool
}

// fieldsOf are the fields that versions of an object have, those near the root first.
func (s *shrinking) fieldsOf(paths []ddmin.Path) []field {
	var out []field
	seen := map[string]bool{}
	var walk func(v any, in ddmin.Path)
	add := func(f field) {
		if id := fmt.Sprint(f); !seen[id] {
			seen[id] = true
			out = append(out, f)
		}
	}
	walk = func(v any, in ddmin.Path) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				add(field{in: in, key: key})
				walk(v[key], in.With(key))
			}
		case []any:
			for i, item := range v {
				add(field{in: in, key: nameOf(item, i), item: true})
				walk(item, in.With(itemName(nameOf(item, i))))
			}
		}
	}
	for _, p := range paths {
		walk(ddmin.At(s.tree, p), nil)
	}
	slices.SortStableFunc(out, func(a, b field) int { return len(a.in) - len(b.in) })
	return out
}

// itemName is a step of a path to the item of a list that is called so.
type itemName string

// nameOf calls an item of a list by what it is known by in all versions of an object.
func nameOf(item any, place int) string {
	switch v := item.(type) {
	case map[string]any:
		if addresses, ok := v["addresses"].([]any); ok && len(addresses) > 0 {
			return fmt.Sprint(addresses[0])
		}
		for _, key := range []string{"name", "ip", "hostname", "port"} {
			if v[key] != nil {
				return fmt.Sprint(v[key])
			}
		}
	case string, int:
		return fmt.Sprint(v)
	}
	return fmt.Sprint("#", place)
}

// withoutIn takes a field from each of the versions that have it.
func withoutIn(t ddmin.Tree, versions []ddmin.Path, f field) ddmin.Tree {
	for _, p := range versions {
		p, ok := resolved(t, p, f.in)
		if !ok {
			continue
		}
		switch v := ddmin.At(t, p).(type) {
		case map[string]any:
			if _, has := v[f.key]; has && !f.item {
				t = ddmin.WithoutKey(t, p, f.key)
			}
		case []any:
			if i := placeOf(v, f.key); i >= 0 && f.item {
				t = ddmin.WithoutItems(t, p, i, 1)
			}
		}
	}
	return t
}

// resolved is the path from one by names.
func resolved(t ddmin.Tree, from, names ddmin.Path) (ddmin.Path, bool) {
	for _, step := range names {
		if name, ok := step.(itemName); ok {
			list, _ := ddmin.At(t, from).([]any)
			i := placeOf(list, string(name))
			if i < 0 {
				return nil, false
			}
			step = i
		}
		from = from.With(step)
	}
	return from, ddmin.At(t, from) != nil
}

func placeOf(list []any, name string) int {
	for i, item := range list {
		if nameOf(item, i) == name {
			return i
		}
	}
	return -1
}

// types makes services of a plainer type, in all versions.
func (s *shrinking) types() {
	all := versions(s.tree)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(ref, "service ") {
			s.try(retyped(s.tree, all[ref], "ClusterIP"))
			s.try(retyped(s.tree, all[ref], "NodePort"))
			s.try(withCluster(s.tree, all[ref]))
		}
	}
	s.try(onlyTCP(s.tree))
}

// retyped gives a service another type and takes what that has not.
func retyped(t ddmin.Tree, versions []ddmin.Path, kind string) ddmin.Tree {
	for _, p := range versions {
		was, _ := ddmin.At(t, p.With("spec").With("type")).(string)
		if was == "" || was == kind || was == "ExternalName" || kind == "NodePort" && was != "LoadBalancer" {
			continue
		}
		t = ddmin.Edit(t, p, func(v any) any {
			out := maps.Clone(v.(map[string]any))
			delete(out, "status")
			spec := maps.Clone(out["spec"].(map[string]any))
			for _, key := range []string{"type", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts", "healthCheckNodePort"} {
				delete(spec, key)
			}
			if kind != "ClusterIP" {
				spec["type"] = kind
			} else {
				if spec["externalIPs"] == nil {
					delete(spec, "externalTrafficPolicy")
				}
				spec["ports"] = withoutEach(spec["ports"], "nodePort")
			}
			out["spec"] = spec
			return out
		})
	}
	return t
}

// withoutEach takes a key from each mapping of a list.
func withoutEach(list any, key string) any {
	items, _ := list.([]any)
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = ddmin.WithoutKey(item, nil, key)
	}
	return out
}

// withCluster gives a service the policy Cluster and takes what goes with Local.
func withCluster(t ddmin.Tree, versions []ddmin.Path) ddmin.Tree {
	for _, p := range versions {
		if spec, ok := ddmin.At(t, p.With("spec")).(map[string]any); ok && spec["externalTrafficPolicy"] == "Local" {
			t = ddmin.WithoutKey(ddmin.WithoutKey(t, p.With("spec"), "externalTrafficPolicy"), p.With("spec"), "healthCheckNodePort")
		}
	}
	return t
}

// onlyTCP has everything be TCP.
func onlyTCP(t ddmin.Tree) ddmin.Tree {
	return mapped(t, "", func(key string, v any) any {
		if key == "protocol" {
			return "TCP"
		}
		return v
	})
}
