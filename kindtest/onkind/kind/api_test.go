package kind

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

func marked(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{sessionLabel: "true"}}
}

func serviceAt(name, clusterIP string) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: marked("shop", name),
		Spec: corev1.ServiceSpec{ClusterIP: clusterIP}}
}

func sliceOf(name string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		TypeMeta:   metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: marked("shop", name), AddressType: discoveryv1.AddressTypeIPv4,
	}
}

// writing is a writer on a scripted API server whose cluster IPs cannot be changed in place, and are given once.
func writing(t *testing.T) (*writer, *script) {
	t.Helper()
	b, s := scripted(t)
	invalid := func(name, path, why string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, name, field.ErrorList{field.Invalid(field.NewPath(path), "", why)})
	}
	s.validate = func(a clienttesting.Action) error {
		with, ok := a.(interface{ GetObject() runtime.Object })
		if !ok || a.GetSubresource() != "" || a.GetResource().Resource != "services" {
			return nil
		}
		service := with.GetObject().(*corev1.Service)
		tracked, err := s.api.Tracker().List(a.GetResource(), corev1.SchemeGroupVersion.WithKind("Service"), "")
		if err != nil {
			return err
		}
		there := tracked.(*corev1.ServiceList).Items
		same := func(o corev1.Service) bool { return o.Name == service.Name && o.Namespace == service.Namespace }
		if i := slices.IndexFunc(there, same); i >= 0 && there[i].Spec.ClusterIP != service.Spec.ClusterIP {
			return invalid(service.Name, "spec.clusterIP", "field is immutable")
		}
		if slices.ContainsFunc(there, func(o corev1.Service) bool {
			return !same(o) && o.Spec.ClusterIP != "" && o.Spec.ClusterIP == service.Spec.ClusterIP
		}) {
			return invalid(service.Name, "spec.clusterIPs", "failed to allocate IP: provided IP is already allocated")
		}
		return nil
	}
	s.forgetLog()
	return &writer{client: b.client, labels: b.labels}, s
}

func TestObjectsAreWrittenAfterTheirNamespaces(t *testing.T) {
	w, s := writing(t)
	web := serviceAt("web", "10.96.1.1")
	web.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.5"}}
	slice := sliceOf("web-1")
	require.NoError(t, w.write(t.Context(), []runtime.Object{web, slice}))
	asked := s.asked("api ")
	assert.Equal(t, "api create namespaces shop", asked[0])
	assert.Contains(t, asked, "api create endpointslices web-1")
	made, status := slices.Index(asked, "api create services web"), slices.Index(asked, "api update services/status web")
	assert.Positive(t, made)
	assert.Greater(t, status, made, "the status is written apart, after the service")
	there, err := w.client.Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, web.Status, there.Status)

	s.forgetLog()
	web.Spec.ExternalIPs = []string{"203.0.113.6"}
	require.NoError(t, w.write(t.Context(), []runtime.Object{web}))
	assert.Equal(t, []string{"api update services web"}, s.asked("api update", "api create services", "api delete"),
		"a status that stays is not written")
}

func TestWhatCannotBeChangedIsMadeAgain(t *testing.T) {
	w, s := writing(t)
	require.NoError(t, w.write(t.Context(), []runtime.Object{serviceAt("web", "10.96.1.1")}))
	s.forgetLog()
	require.NoError(t, w.write(t.Context(), []runtime.Object{serviceAt("web", "10.96.1.2")}))
	assert.Equal(t, []string{"api update services web", "api delete services web", "api create services web"},
		s.asked("api update", "api create services", "api delete"))
	there, err := w.client.Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "10.96.1.2", there.Spec.ClusterIP)
}

func TestServicesSwapTheirClusterIPs(t *testing.T) {
	w, _ := writing(t)
	require.NoError(t,
		w.write(t.Context(), []runtime.Object{serviceAt("a", "10.96.1.1"), serviceAt("b", "10.96.1.2"), serviceAt("c", "10.96.1.3")}))
	require.NoError(t,
		w.write(t.Context(), []runtime.Object{serviceAt("a", "10.96.1.2"), serviceAt("b", "10.96.1.3"), serviceAt("c", "10.96.1.1")}))
	for name, want := range map[string]string{"a": "10.96.1.2", "b": "10.96.1.3", "c": "10.96.1.1"} {
		there, err := w.client.Services("shop").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, there.Spec.ClusterIP, name)
	}
	err := w.write(t.Context(), []runtime.Object{serviceAt("d", "10.96.1.1")})
	assert.ErrorContains(t, err, "write shop/d: ")
	assert.ErrorContains(t, err, "already allocated", "the other one stays")
}

func TestNothingOfAScenarioIsLeft(t *testing.T) {
	w, s := writing(t)
	slice := sliceOf("web-1")
	require.NoError(t, w.write(t.Context(), []runtime.Object{serviceAt("web", "10.96.1.1"), serviceAt("gone", "10.96.1.2"), slice}))
	require.NoError(t, w.client.Services("shop").Delete(t.Context(), "gone", metav1.DeleteOptions{})) // by somebody else
	assert.Error(t, w.remove(t.Context(), []manifest.Ref{{Kind: "Service", Namespace: "shop", Name: "never"}}),
		"what a scenario deletes has to be there")
	require.NoError(t, w.removeAll(t.Context()))
	assert.Contains(t, s.asked("api delete"), "api delete endpointslices web-1")
	_, err := w.client.Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	assert.Empty(t, w.made)

	_, err = w.client.Services("shop").Create(t.Context(), serviceAt("leftover", ""), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.ErrorContains(t, w.removeAll(t.Context()), "1 objects of the scenario are left")
}

// TestLeftoversAreSwept: of a run that was killed, and nothing of others.
func TestLeftoversAreSwept(t *testing.T) {
	b, s := scripted(t)
	ctx := t.Context()
	for name, labels := range map[string]map[string]string{"ours": {sessionLabel: "true"}, "theirs": nil} {
		service := serviceAt(name, "")
		service.Labels = labels
		_, err := b.client.Services("shop").Create(ctx, service, metav1.CreateOptions{})
		require.NoError(t, err)
		slice := sliceOf(name)
		slice.Labels = labels
		_, err = b.client.EndpointSlices("shop").Create(ctx, slice, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	s.forgetLog()
	require.NoError(t, b.sweep(ctx))
	assert.ElementsMatch(t, []string{"api delete services ours", "api delete endpointslices ours"}, s.asked("api delete"))
	_, err := b.client.Services(sentinelNamespace).Get(ctx, sentinelName, metav1.GetOptions{})
	assert.NoError(t, err, "the sentinel is none of a scenario's")
}

// TestLabelsOfNodesAreGivenBack when the backend is closed, those that were not there among them.
func TestLabelsOfNodesAreGivenBack(t *testing.T) {
	b, s := scripted(t)
	ctx := t.Context()
	there, err := b.client.Nodes().Get(ctx, "worker", metav1.GetOptions{})
	require.NoError(t, err)
	there.Labels[corev1.LabelTopologyZone] = "b"
	_, err = b.client.Nodes().Update(ctx, there, metav1.UpdateOptions{})
	require.NoError(t, err)
	label := func(node, zone string) (string, bool) {
		w := writer{client: b.client, labels: b.labels}
		before, changed, err := w.label(ctx, node, map[string]*string{corev1.LabelTopologyZone: &zone})
		require.NoError(t, err)
		return before, changed
	}
	before, changed := label("worker", "x")
	assert.True(t, changed)
	assert.Equal(t, "b", before)
	_, changed = label("worker", "x")
	assert.False(t, changed, "it has it")
	_, _ = label("worker", "y")
	_, _ = label("worker2", "x")
	require.NoError(t, b.Close(ctx))
	for name, want := range map[string]map[string]string{"worker": {"own": "1", corev1.LabelTopologyZone: "b"}, "worker2": {"own": "1"}} {
		node, err := b.client.Nodes().Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, node.Labels, name)
	}
	assert.Contains(t, strings.Join(s.asked("api delete"), "\n"), "api delete services "+sentinelName)
}
