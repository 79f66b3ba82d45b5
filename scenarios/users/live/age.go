package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// newerThan names the services and endpoint slices that changed after a snapshot was taken: its rules cannot know them.
func (c *Cluster) newerThan(taken *snapshot.NodeSnapshot) []string {
	if taken.Taken.IsZero() {
		return nil
	}
	var names []string
	for _, o := range c.Objects {
		switch o.Object.(type) {
		case *corev1.Service, *discoveryv1.EndpointSlice:
		default:
			continue
		}
		if changed := lastChange(o); changed.After(taken.Taken) && !slices.Contains(names, o.Ref().String()) {
			names = append(names, o.Ref().String())
		}
	}
	var notes []string
	for _, name := range names {
		notes = append(notes, fmt.Sprintf("%s changed after the snapshot of %s was taken (%s): its rules may not have it yet",
			name, taken.Hostname, taken.Taken.UTC().Format(time.RFC3339)))
	}
	return notes
}

// annotationTrigger says when what made a slice change happened.
const annotationTrigger = "endpoints.kubernetes.io/last-change-trigger-time"

// lastChange is the latest time at which an object changed, as far as it tells.
func lastChange(o manifest.Object) time.Time {
	m := o.Meta()
	last := m.GetCreationTimestamp().Time
	for _, f := range m.GetManagedFields() {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	if at, err := time.Parse(time.RFC3339, m.GetAnnotations()[annotationTrigger]); err == nil && at.After(last) {
		last = at
	}
	return last
}
