package scenarios

import (
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/internal/document"
)

// start checks the pods of a step, and has the cluster have them from there on.
func (c *checker) start(s *Step) {
	if len(s.Start) == 0 {
		c.errorf(s.Pos, "start: there is no pod")
	}
	c.errs = append(c.errs, c.cluster.start(s.Start)...)
}

func (c *checker) stop(s *Step) {
	if len(s.Stop) == 0 {
		c.errorf(s.Pos, "stop: there is no pod")
	}
	c.errs = append(c.errs, c.cluster.stop(s.Pos, s.Stop)...)
}

func (r *runner) start(ctx context.Context, s *Step) error { return r.session.StartPods(ctx, s.Start) }

func (r *runner) stop(ctx context.Context, s *Step) error { return r.session.StopPods(ctx, s.Stop) }

// StartPods adds pods to the cluster and fills in what they leave out.
func (c *Cluster) StartPods(pods []Pod) error { return asError(c.start(pods)) }

// StopPods takes pods from the cluster. Others may have their names and addresses afterwards.
func (c *Cluster) StopPods(names []string) error {
	return asError(c.stop(document.Position{}, names))
}

func (c *Cluster) start(pods []Pod) document.Errors {
	r := resolver{cluster: *c, names: c.names()}
	r.pods(pods)
	c.Pods, c.podsEver = r.cluster.Pods, r.cluster.podsEver
	return r.errs
}

func (c *Cluster) stop(pos document.Position, names []string) document.Errors {
	r := resolver{}
	for _, name := range names {
		place := slices.IndexFunc(c.Pods, func(p Pod) bool { return p.Name == name })
		if place < 0 {
			r.errorf(pos, "there is no pod %q%s", name, document.Suggest(name, c.podNames()))
			continue
		}
		c.Pods = slices.Delete(slices.Clone(c.Pods), place, place+1)
	}
	return r.errs
}

// addPod adds a pod; what it leaves out is filled in.
func (r *resolver) addPod(pod Pod) {
	c := &r.cluster
	c.podsEver++
	pod.Place = c.podsEver
	if !r.ownsPods { // the list may be another cluster's
		c.Pods, r.ownsPods = slices.Clip(c.Pods), true
	}
	c.Pods = append(c.Pods, pod)
	r.note(pod.Name, pod.Addresses)
}

// asError is nil for no errors, which a list in an interface is not.
func asError(errs document.Errors) error {
	if len(errs) == 0 {
		return nil
	}
	return errs
}

func (c *Cluster) podNames() []string {
	out := make([]string, len(c.Pods))
	for i := range c.Pods {
		out[i] = c.Pods[i].Name
	}
	return out
}

// names are the names that are taken.
func (c *Cluster) names() map[string]bool {
	out := map[string]bool{RouterName: true}
	for _, name := range append(c.nodeNames(), c.podNames()...) {
		out[name] = true
	}
	for i := range c.Outside {
		out[c.Outside[i].Name] = true
	}
	return out
}
