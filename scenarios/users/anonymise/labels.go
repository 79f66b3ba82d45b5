package anonymise

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptLabels are the labels whose keys stay, with the words that stay as their values. Another value is of the kind, if there is one, and
// otherwise any label's.
var keptLabels = map[string]struct {
	kind  string
	words []string
}{
	corev1.LabelMetadataName:     {kind: "namespace"},
	corev1.LabelHostname:         {kind: "node"},
	corev1.LabelTopologyZone:     {kind: "zone"},
	corev1.LabelTopologyRegion:   {kind: "region"},
	corev1.LabelOSStable:         {words: []string{"linux", "windows"}},
	corev1.LabelArchStable:       {words: []string{"amd64", "arm64", "arm", "ppc64le", "s390x", "riscv64"}},
	discoveryv1.LabelServiceName: {kind: "service"},
	discoveryv1.LabelManagedBy: {
		kind: "manager", words: []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"},
	},
	corev1.IsHeadlessService:                       {},
	LabelProxyName:                                 {kind: "proxy"},
	"node-role.kubernetes.io/control-plane":        {},
	"node-role.kubernetes.io/worker":               {},
	"node.kubernetes.io/exclude-from-external-lbs": {},
}

// LabelProxyName makes kube-proxy leave a service to another proxy.
const LabelProxyName = "service.kubernetes.io/service-proxy-name"

// labels are others: of those that are not known, keys and values get names, so that selectors still select. Namespace is that of the
// object.
func (r objectRenamer) labels(namespace string, old map[string]string) map[string]string {
	if old == nil {
		return nil
	}
	out := make(map[string]string, len(old))
	for key, value := range old {
		out[r.labelKey(key)] = r.labelValue(namespace, key, value)
	}
	return out
}

func (r objectRenamer) labelKey(key string) string {
	if _, known := keptLabels[key]; known {
		return key
	}
	return r.Name("label", key)
}

func (r objectRenamer) labelValue(namespace, key, value string) string {
	known := keptLabels[key]
	switch {
	case slices.Contains(known.words, value):
		return value
	case known.kind == "service":
		return r.ServiceName(namespace, value)
	case known.kind == "namespace":
		return r.Namespace(value)
	case known.kind != "":
		return r.Name(known.kind, value)
	}
	return r.Name("value", value)
}

// selector selects by the other labels what it selected by these.
func (r objectRenamer) selector(old *metav1.LabelSelector) *metav1.LabelSelector {
	if old == nil {
		return nil
	}
	out := &metav1.LabelSelector{MatchLabels: r.labels("", old.MatchLabels)}
	for _, e := range old.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: r.labelKey(e.Key), Operator: e.Operator}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, r.labelValue("", e.Key, value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return out
}

// topologyModes are annotations that say how a service's endpoints are chosen, and topologyWords what they say.
var (
	topologyModes = []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints}
	topologyWords = []string{"Auto", "auto", "Disabled", "disabled"}
)

// meta is what of an object's metadata is known to decide something, but for its name: labels, when it was made, deleted and last changed,
// and the mode of its topology.
func (r objectRenamer) meta(old *metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: r.Namespace(old.Namespace), Labels: r.labels(old.Namespace, old.Labels),
		CreationTimestamp: metav1.Time{Time: r.when(old.CreationTimestamp.Time)},
	}
	if old.DeletionTimestamp != nil {
		out.DeletionTimestamp = &metav1.Time{Time: r.when(old.DeletionTimestamp.Time)}
	}
	var changed time.Time
	for _, f := range old.ManagedFields {
		if f.Time != nil && f.Time.After(changed) {
			changed = f.Time.Time
		}
	}
	if !changed.IsZero() {
		out.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: r.when(changed)}}}
	}
	if at, err := time.Parse(time.RFC3339, old.Annotations[corev1.EndpointsLastChangeTriggerTime]); err == nil {
		metav1.SetMetaDataAnnotation(&out, corev1.EndpointsLastChangeTriggerTime, r.when(at).Format(time.RFC3339))
	}
	for _, key := range topologyModes {
		if mode := old.Annotations[key]; slices.Contains(topologyWords, mode) {
			metav1.SetMetaDataAnnotation(&out, key, mode)
		}
	}
	return out
}
