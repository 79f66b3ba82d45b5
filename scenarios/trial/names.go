package trial

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// mapObjects is a scenario with other objects, and other references to them.
func mapObjects(s *scenarios.Scenario, object func(manifest.Object) manifest.Object, ref func(manifest.Ref) manifest.Ref) *scenarios.Scenario {
	out := *s
	out.Objects = mapEach(s.Objects, object)
	out.Steps = mapEach(s.Steps, func(step scenarios.Step) scenarios.Step {
		step.Apply = mapEach(step.Apply, object)
		step.Delete = mapEach(step.Delete, func(r scenarios.Ref) scenarios.Ref {
			r.Ref = ref(r.Ref)
			return r
		})
		return step
	})
	return &out
}

// mapEach is nil for nil.
func mapEach[S ~[]T, T any](items S, change func(T) T) S {
	out := slices.Clone(items)
	for i := range out {
		out[i] = change(out[i])
	}
	return out
}

// names are other names, by the ones that a case has.
type names struct{ namespaces, services, slices, ports map[string]string }

// renamed calls services, their namespaces and ports, and slices something else, and in the opposite order.
func renamed(s *scenarios.Scenario) *scenarios.Scenario {
	n := names{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	n.collect(s.Objects)
	for i := range s.Steps {
		n.collect(s.Steps[i].Apply)
	}
	backwards(n.namespaces, "space")
	backwards(n.services, "thing")
	backwards(n.slices, "part")
	backwards(n.ports, "port")
	return mapObjects(s, n.object, n.ref)
}

func (n *names) collect(objects []manifest.Object) {
	for _, o := range objects {
		switch o := o.Object.(type) {
		case *corev1.Service:
			n.namespaces[o.Namespace], n.services[o.Name] = "", ""
			for i := range o.Spec.Ports {
				n.ports[o.Spec.Ports[i].Name] = ""
			}
		case *discoveryv1.EndpointSlice:
			n.namespaces[o.Namespace], n.slices[o.Name] = "", ""
			n.services[o.Labels[discoveryv1.LabelServiceName]] = ""
			for i := range o.Ports {
				if o.Ports[i].Name != nil {
					n.ports[*o.Ports[i].Name] = ""
				}
			}
		}
	}
	delete(n.ports, "") // a single port may have no name
	delete(n.services, "")
}

// backwards numbers the names from the last to the first.
func backwards(of map[string]string, word string) {
	sorted := slices.Sorted(maps.Keys(of))
	for i, name := range sorted {
		of[name] = fmt.Sprintf("%s-%d", word, len(sorted)-i)
	}
}

func (n *names) object(o manifest.Object) manifest.Object {
	switch old := o.Object.(type) {
	case *corev1.Service:
		s := old.DeepCopy()
		s.Namespace, s.Name = n.namespaces[s.Namespace], n.services[s.Name]
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].Name = n.ports[s.Spec.Ports[i].Name]
		}
		o.Object = s
	case *discoveryv1.EndpointSlice:
		s := old.DeepCopy()
		s.Namespace, s.Name = n.namespaces[s.Namespace], n.slices[s.Name]
		if service, ok := n.services[s.Labels[discoveryv1.LabelServiceName]]; ok {
			s.Labels[discoveryv1.LabelServiceName] = service
		}
		for i := range s.Ports {
			if s.Ports[i].Name != nil {
				name := n.ports[*s.Ports[i].Name]
				s.Ports[i].Name = &name
			}
		}
		o.Object = s
	}
	return o
}

func (n *names) ref(r manifest.Ref) manifest.Ref {
	switch r.Kind {
	case "Service":
		r.Namespace, r.Name = n.namespaces[r.Namespace], n.services[r.Name]
	case "EndpointSlice":
		r.Namespace, r.Name = n.namespaces[r.Namespace], n.slices[r.Name]
	}
	return r
}
