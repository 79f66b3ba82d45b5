package scenarios

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// A Pod object is a pod of the topology from where it has addresses until it is deleted. Services that select it have endpoint slices
// made of it: by the controller that whoever reads or runs the scenario has given, and by the real one in a cluster that has it.

// needsController reports whether a scenario's services have EndpointSlices that a controller makes of its pods.
func (s *Scenario) needsController() bool { return manifest.NeedController(s.ever()) }

// made are the slices that follow from objects that are new or others now.
func (c *Cluster) made(objects []manifest.Object) (manifest.Change, error) {
	if c.controller == nil {
		return manifest.Change{}, nil
	}
	return c.controller.Apply(objects)
}

// unmade are the slices that follow from objects that are gone.
func (c *Cluster) unmade(refs []manifest.Ref) (manifest.Change, error) {
	if c.controller == nil {
		return manifest.Change{}, nil
	}
	return c.controller.Delete(refs)
}

// ever are the objects that a scenario has at some time.
func (s *Scenario) ever() []manifest.Object {
	out := slices.Clone(s.Objects)
	for i := range s.Steps {
		out = append(out, s.Steps[i].Apply...)
	}
	return out
}

// podObjects has the pods of Pod objects that are there from the start, and the slices that are made of them. A pod of the topology
// that has the addresses of one is its pod.
func (r *resolver) podObjects(s *Scenario) {
	c := &r.cluster
	for _, o := range s.Objects {
		pod, ok := r.podOf(o)
		if !ok {
			continue
		}
		place := slices.IndexFunc(c.Pods, func(p Pod) bool { return sameAddresses(p.Addresses, pod.Addresses) && p.Node == pod.Node })
		if place >= 0 {
			c.Pods[place].Object = pod.Object
			continue
		}
		r.pods([]Pod{pod})
	}
	c.Objects = append(c.nodeObjects(), s.Objects...)
	if s.needsController() && r.controller != nil {
		c.controller = r.controller(s.ever())
	}
	change, err := c.made(c.Objects)
	if err != nil && len(r.errs) == 0 {
		r.errorf(s.Pos, "%v", err)
	}
	c.Objects = append(c.Objects, change.Apply...)
}

// podOf is the pod of a Pod object, if it has addresses of its own.
func (r *resolver) podOf(o manifest.Object) (Pod, bool) {
	object, ok := o.Object.(*corev1.Pod)
	if !ok || len(object.Status.PodIPs) == 0 {
		return Pod{}, false
	}
	c := &r.cluster
	pod := Pod{
		Located: document.Located{Pos: o.Pos}, Name: object.Name, Node: object.Spec.NodeName, Addresses: podAddresses(o), Object: object,
	}
	if pod.Node == "" {
		r.errorf(o.Pos, "%s: spec.nodeName: missing (a pod with an address is on a node)", o.Ref())
		return Pod{}, false
	}
	if node := c.Node(pod.Node); node != nil && c.nodeWith(pod.Addresses[0]) == node {
		return Pod{}, false // it is in the node's network
	}
	return pod, true
}

// podAddresses are the addresses of a Pod object; none for another object.
func podAddresses(o manifest.Object) (out []netip.Addr) {
	pod, ok := o.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	for _, ip := range pod.Status.PodIPs {
		std, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(ip.IP))
		out = append(out, std.Unmap())
	}
	return out
}

// sameAddresses reports whether two lists have the same addresses, in any order.
func sameAddresses(a, b []netip.Addr) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one netip.Addr) bool { return !slices.Contains(b, one) })
}

// podWith is the pod of a Pod object, nil if it has none.
func (c *Cluster) podWith(ref manifest.Ref) *Pod {
	for i := range c.Pods {
		if o := c.Pods[i].Object; o != nil && o.Namespace == ref.Namespace && o.Name == ref.Name {
			return &c.Pods[i]
		}
	}
	return nil
}

// Begun are the pods that begin with a step: those that it starts, and those of Pod objects that have addresses from here on.
func (c *Cluster) Begun(s *Step) []Pod {
	begun, _ := c.begun(s)
	return begun
}

func (c *Cluster) begun(s *Step) ([]Pod, document.Errors) {
	begun, r := slices.Clone(s.Start), resolver{cluster: *c}
	for _, o := range s.Apply {
		pod, ok := r.podOf(o)
		if !ok {
			continue
		}
		there := c.podWith(o.Ref())
		switch {
		case there == nil:
			begun = append(begun, pod)
		case there.Node != pod.Node || !sameAddresses(there.Addresses, pod.Addresses):
			r.errorf(o.Pos, "%s: a pod keeps its node and its addresses (delete it, and apply it as a new one)", o.Ref())
		}
	}
	return begun, r.errs
}

// Ended are the names of the pods that end with a step: those that it stops, and those of Pod objects that it deletes.
func (c *Cluster) Ended(s *Step) []string {
	ended := slices.Clone(s.Stop)
	for _, ref := range s.Delete {
		if pod := c.podWith(ref.Ref); ref.Kind == "Pod" && pod != nil {
			ended = append(ended, pod.Name)
		}
	}
	return ended
}

// applied checks the Pod objects of a step, and has the cluster have their pods from there on.
func (c *checker) applied(s *Step) {
	begun, errs := c.cluster.begun(s)
	c.errs = append(c.errs, errs...)
	c.errs = append(c.errs, c.cluster.start(begun)...)
}

// deleted takes the pods of Pod objects from the cluster.
func (c *checker) deleted(s *Step) {
	c.errs = append(c.errs, c.cluster.stop(s.Pos, c.cluster.Ended(s))...)
}

func (r *runner) apply(ctx context.Context, s *Step) error {
	if begun := r.cluster.Begun(s); len(begun) > 0 {
		if err := r.session.StartPods(ctx, begun); err != nil {
			return err
		}
	}
	return r.applyObjects(ctx, s.Apply)
}

// applyObjects applies objects, and what follows from them.
func (r *runner) applyObjects(ctx context.Context, objects []manifest.Object) error {
	change, err := r.cluster.made(objects)
	if err != nil {
		return err
	}
	if err := r.put(ctx, slices.Concat(objects, change.Apply)); err != nil {
		return err
	}
	return r.removeMade(ctx, change.Delete)
}

// put writes objects into the API.
func (r *runner) put(ctx context.Context, objects []manifest.Object) error {
	r.objects.put(objects)
	return r.session.Apply(ctx, objects)
}

// take deletes objects from the API.
func (r *runner) take(ctx context.Context, refs []manifest.Ref) error {
	r.objects.Remove(refs...)
	return r.session.Delete(ctx, refs)
}

// removeMade deletes slices that were made.
func (r *runner) removeMade(ctx context.Context, refs []manifest.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	return r.take(ctx, refs)
}

func (r *runner) remove(ctx context.Context, s *Step) error {
	refs := s.refs()
	change, err := r.cluster.unmade(refs)
	if err != nil {
		return err
	}
	if err := r.take(ctx, refs); err != nil {
		return err
	}
	if len(change.Apply) > 0 {
		if err := r.put(ctx, change.Apply); err != nil {
			return err
		}
	}
	if err := r.removeMade(ctx, change.Delete); err != nil {
		return err
	}
	if ended := r.cluster.Ended(s); len(ended) > 0 {
		return r.session.StopPods(ctx, ended)
	}
	return nil
}

// slicesEver are all slices that a scenario has at some time, those that are made of its pods among them. What is wrong with a pod of a
// step is found where the step is checked.
func (r *resolver) slicesEver(s *Scenario) []manifest.Object {
	ever, later := s.ever(), r.cluster.With(r.cluster.Dialect)
	for _, o := range r.cluster.Objects {
		if o.Derived {
			ever = append(ever, o)
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		change, _ := later.made(step.Apply)
		ever = append(ever, change.Apply...)
		change, _ = later.unmade(step.refs())
		ever = append(ever, change.Apply...)
	}
	return slices.DeleteFunc(ever, func(o manifest.Object) bool {
		_, slice := o.Object.(*discoveryv1.EndpointSlice)
		return !slice
	})
}
