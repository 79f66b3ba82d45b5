package trial

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// syncDue judges whether the proxier of a node that is about to sync has said that a sync is due, if it was told of something by
// which packets are to go elsewhere. Of addresses of the node it is not told.
func (r *run) syncDue(n *nodeState) error {
	if r.quiet || n.fresh() || len(n.tried) > 0 || n.word > 0 || r.nodes.blind() || n.next.same(n.ruled) || n.next.config != n.ruled.config ||
		!slices.Equal(n.next.found, n.ruled.found) {
		return nil
	}
	r.exercised(oracle.SyncWhenDue)
	if r.world.Node(n.name).Due() {
		return nil
	}
	services := changed(n.ruled.Knowledge, n.next.Knowledge)
	if n.next.Node != n.ruled.Node || !n.next.sameRanges(n.ruled) {
		services = nil
	}
	if len(r.specs.elsewhere(n, n.next, services)) == 0 {
		return nil
	}
	return r.add(Violation{
		Clause: oracle.SyncWhenDue, Node: n.name, Want: "a sync is due", Got: fmt.Sprintf("none is, though the proxier was told of %v", services),
	})
}

// toldAgain tells every proxier once more of all that it knows, as informers and the heartbeats of nodes do: no sync is due, and one
// that is made writes nothing, even if words have changed that are for others.
func (r *run) toldAgain(ctx context.Context) error {
	r.exercised(oracle.NoSyncForNothing, oracle.SecondSyncWritesNothing)
	if err := r.world.Apply(ctx, append(r.nodes.again(touchedSlice), r.nodes.nodesAgain()...)); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if !r.world.Node(n.name).Due() {
			continue
		}
		f := Violation{Clause: oracle.NoSyncForNothing, Node: n.name, Want: "no sync is due",
			Got: "one is, though only annotations and the order of ports have changed"}
		if err := r.add(f); err != nil {
			return err
		}
	}
	objects := r.nodes.again(reboundSlice)
	if err := r.world.Apply(ctx, objects); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if err := r.world.Sync(ctx, []string{n.name}); err != nil {
			return r.syncFailed(n, err)
		}
		written, err := r.world.Writes(ctx, n.name)
		if err != nil {
			return err
		}
		if written.Restores == 0 {
			continue
		}
		f := wroteNothing(n, written)
		f.Check = append([]scenarios.Step{{Apply: objects}}, f.Check...)
		if err := r.add(f); err != nil {
			return err
		}
	}
	return nil
}

// again are the services, with other annotations and their ports the other way round, and the slices, changed, that every proxier knows.
func (all nodes) again(change func(*discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice) []manifest.Object {
	var out []manifest.Object
	known := all[0].ruled
	for _, s := range known.Services {
		touched := *s
		touch(&touched.ObjectMeta)
		touched.Spec.Ports = slices.Clone(s.Spec.Ports)
		slices.Reverse(touched.Spec.Ports)
		out = append(out, manifest.Object{Object: &touched})
	}
	for _, s := range known.Slices {
		out = append(out, manifest.Object{Object: change(s)})
	}
	return out
}

// nodesAgain are the Node objects that proxiers watch, with other annotations.
func (all nodes) nodesAgain() []manifest.Object {
	var out []manifest.Object
	for _, n := range all {
		if n.ruled.Node != nil {
			touched := *n.ruled.Node
			touch(&touched.ObjectMeta)
			out = append(out, manifest.Object{Object: &touched})
		}
	}
	return out
}

func touch(m *metav1.ObjectMeta) {
	m.Annotations = map[string]string{"chainwalk.example/told": "again"}
}

func touchedSlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	touched := *s
	touch(&touched.ObjectMeta)
	return &touched
}

// reboundSlice is a slice whose endpoints say of other pods that they are theirs, and name their hints in another order.
func reboundSlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	rebound := touchedSlice(s)
	rebound.Endpoints = slices.Clone(s.Endpoints)
	for i := range rebound.Endpoints {
		e := &rebound.Endpoints[i]
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprintf("again-%d", i)}
		if e.Hints != nil {
			e.Hints = e.Hints.DeepCopy()
			slices.Reverse(e.Hints.ForZones)
			slices.Reverse(e.Hints.ForNodes)
		}
	}
	return rebound
}
