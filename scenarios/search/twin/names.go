package twin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// mapObjects is a scenario with other objects, and other references to them.
func mapObjects(s *scenarios.Scenario, object func(manifest.Object) manifest.Object,
	ref func(manifest.Ref) manifest.Ref) *scenarios.Scenario {
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
type names struct{ namespaces, services, slices, ports, nodes map[string]string }

// renamed calls services, their namespaces and ports, slices and nodes something else, and in the opposite order.
func renamed(s *scenarios.Scenario) *scenarios.Scenario {
	n := names{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, nodeNamesOf(s)}
	n.collect(s.Objects)
	for i := range s.Steps {
		n.collect(s.Steps[i].Apply)
	}
	backwards(n.namespaces, "space")
	backwards(n.services, "thing")
	backwards(n.slices, "part")
	backwards(n.ports, "port")
	out := mapObjects(s, n.object, n.ref)
	n.topology(&out.Topology)
	out.IPTables.Preload = mapEach(out.IPTables.Preload, func(p scenarios.Preload) scenarios.Preload {
		p.Nodes = mapEach(p.Nodes, n.node)
		return p
	})
	out.Steps = mapEach(out.Steps, n.step)
	return out
}

// nodeNamesOf are other names of the nodes of a case.
func nodeNamesOf(s *scenarios.Scenario) map[string]string {
	out := map[string]string{}
	for i, node := range nodesOf(&s.Topology) {
		out[cmp.Or(node.Name, fmt.Sprintf("node%d", i+1))] = ""
	}
	backwards(out, "machine")
	return out
}

// nodesOf are the nodes of a topology, two if it says nothing.
func nodesOf(t *scenarios.Topology) scenarios.Nodes {
	if t.Nodes == nil {
		return make(scenarios.Nodes, 2)
	}
	return t.Nodes
}

// node is the other name of a node; anything else keeps its name.
func (n *names) node(name string) string { return cmp.Or(n.nodes[name], name) }

func (n *names) topology(t *scenarios.Topology) {
	t.Nodes = slices.Clone(nodesOf(t))
	for i := range t.Nodes {
		t.Nodes[i].Name = n.node(cmp.Or(t.Nodes[i].Name, fmt.Sprintf("node%d", i+1)))
	}
	t.Pods = mapEach(t.Pods, n.pod)
}

func (n *names) pod(p scenarios.Pod) scenarios.Pod {
	p.Node = n.node(p.Node)
	return p
}

// step has the nodes of a step under their other names.
func (n *names) step(s scenarios.Step) scenarios.Step {
	s.Restart, s.Hold, s.Sync = n.set(s.Restart), n.set(s.Hold), n.set(s.Sync)
	s.Start = mapEach(s.Start, n.pod)
	if s.Node != nil {
		change := *s.Node
		change.Name = n.node(change.Name)
		s.Node = &change
	}
	if s.Deliver != nil {
		d := *s.Deliver
		d.Nodes = mapEach(d.Nodes, n.node)
		s.Deliver = &d
	}
	if s.Fault != nil {
		f := *s.Fault
		f.Node = n.node(f.Node)
		s.Fault = &f
	}
	return s
}

func (n *names) set(s *scenarios.NodeSet) *scenarios.NodeSet {
	if s == nil {
		return nil
	}
	out := *s
	out.Names = mapEach(s.Names, n.node)
	return &out
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
		case *corev1.Pod:
			n.namespaces[o.Namespace] = ""
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
		for i := range s.Endpoints {
			n.endpoint(&s.Endpoints[i])
		}
		o.Object = s
	case *corev1.Node:
		node := old.DeepCopy()
		node.Name = n.node(node.Name)
		if host, ok := node.Labels[corev1.LabelHostname]; ok {
			node.Labels[corev1.LabelHostname] = n.node(host)
		}
		o.Object = node
	case *corev1.Pod:
		pod := old.DeepCopy()
		pod.Namespace, pod.Spec.NodeName = n.namespaces[pod.Namespace], n.node(pod.Spec.NodeName)
		o.Object = pod
	}
	return o
}

// endpoint has the nodes of an endpoint under their other names; the endpoint is a copy.
func (n *names) endpoint(e *discoveryv1.Endpoint) {
	if e.NodeName != nil {
		name := n.node(*e.NodeName)
		e.NodeName = &name
	}
	if e.Hints != nil {
		e.Hints.ForNodes = mapEach(e.Hints.ForNodes, func(f discoveryv1.ForNode) discoveryv1.ForNode {
			f.Name = n.node(f.Name)
			return f
		})
	}
}

func (n *names) ref(r manifest.Ref) manifest.Ref {
	switch r.Kind {
	case "Service":
		r.Namespace, r.Name = n.namespaces[r.Namespace], n.services[r.Name]
	case "EndpointSlice":
		r.Namespace, r.Name = n.namespaces[r.Namespace], n.slices[r.Name]
	case "Pod":
		r.Namespace = n.namespaces[r.Namespace]
	case "Node":
		r.Name = n.node(r.Name)
	}
	return r
}
