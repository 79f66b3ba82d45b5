package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientset "k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/kubernetes/typed/discovery/v1/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	sliceutil "k8s.io/endpointslice/util"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// kubernetes are the slices that Kubernetes' own controller makes of a service that has none.
func kubernetes(t require.TestingT, c *controller, service *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, node := range c.nodes {
		require.NoError(t, nodes.Add(node))
	}
	var pods []*corev1.Pod
	for _, name := range slices.SortedFunc(maps.Keys(c.pods), compareNames) {
		if pod := c.pods[name]; pod.Namespace == service.Namespace && selected(service, pod) {
			pods = append(pods, pod)
		}
	}
	var made []*discoveryv1.EndpointSlice
	client := &clienttesting.Fake{}
	client.AddReactor("create", "endpointslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		slice := a.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice)
		made = append(made, slice)
		return true, slice, nil
	})
	r := endpointslice.NewReconciler(slicesOnly{fake: client}, corelisters.NewNodeLister(nodes), maxEndpoints,
		sliceutil.NewEndpointSliceTracker(), nil, &record.FakeRecorder{}, Name, endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	err := r.Reconcile(logr.Discard(), service, pods, nil, time.Time{})
	return made, err
}

// slicesOnly is a client of slices: the fake clientset, which has all groups of the API, need not be linked.
type slicesOnly struct {
	clientset.Interface
	fake *clienttesting.Fake
}

func (c slicesOnly) DiscoveryV1() discoveryclient.DiscoveryV1Interface {
	return &fake.FakeDiscoveryV1{Fake: c.fake}
}

// sortedSlices are slices, their ports and endpoints in an order that no map decides, without what only their own API server is told: the
// owner and how to name them.
func sortedSlices(made []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	for _, slice := range made {
		slice.GenerateName, slice.OwnerReferences, slice.Annotations = "", nil, nil
		slices.SortFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) int {
			return cmp.Or(slices.Compare(a.Addresses, b.Addresses), strings.Compare(a.TargetRef.Name, b.TargetRef.Name))
		})
		slices.SortFunc(slice.Ports, func(a, b discoveryv1.EndpointPort) int { return strings.Compare(portText(a), portText(b)) })
	}
	slices.SortFunc(made, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), slices.CompareFunc(a.Ports, b.Ports, func(a, b discoveryv1.EndpointPort) int {
			return strings.Compare(portText(a), portText(b))
		}))
	})
	return made
}

// one draws one of some values.
func one[T any](t *rapid.T, of ...T) T { return rapid.SampledFrom(of).Draw(t, "one") }

func drawnService(t *rapid.T) *corev1.Service {
	ip := one(t, "", corev1.ClusterIPNone, "172.30.0.41", "fd00:30::41")
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: one(t, nil, map[string]string{"a": "b"}, map[string]string{
			corev1.IsHeadlessService: "", discoveryv1.LabelServiceName: "other", discoveryv1.LabelManagedBy: "somebody", "a": "c",
		})},
		Spec: corev1.ServiceSpec{
			ClusterIP: ip, Selector: map[string]string{"app": "web"}, PublishNotReadyAddresses: one(t, false, false, true),
			IPFamilies: one(t, nil, nil, []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}),
			TrafficDistribution: one(t, nil, new(corev1.ServiceTrafficDistributionPreferClose), new(corev1.ServiceTrafficDistributionPreferSameNode),
				new(corev1.ServiceTrafficDistributionPreferSameZone), new("Unheard")),
		},
	}
	if one(t, false, false, false, true) {
		annotation := one(t, corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints)
		s.Annotations = map[string]string{annotation: one(t, "Auto", "Disabled")}
	}
	if one(t, false, false, false, false, true) {
		s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	targets := []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("http"), intstr.FromString("dns"), intstr.FromString("none")}
	for i, target := range rapid.SliceOfN(rapid.SampledFrom(targets), 0, 3).Draw(t, "ports") {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprint("p", i), Port: int32(80 + i), TargetPort: target, Protocol: one(t, corev1.ProtocolTCP, corev1.ProtocolUDP),
			AppProtocol: one(t, nil, new("h2c")),
		})
	}
	return s
}

func drawnPod(t *rapid.T, number int) *corev1.Pod {
	container := func() corev1.Container {
		return corev1.Container{
			RestartPolicy: one(t, nil, new(corev1.ContainerRestartPolicyAlways)),
			Ports: []corev1.ContainerPort{
				{Name: one(t, "http", "dns"), Protocol: one(t, corev1.ProtocolTCP, corev1.ProtocolUDP), ContainerPort: one[int32](t, 81, 82)},
			},
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: one(t, "shop", "shop", "shop", "other"), Name: fmt.Sprint("pod", number), UID: types.UID(fmt.Sprint("uid", number)),
			Labels: one(t, map[string]string{"app": "web"}, map[string]string{"app": "web"}, map[string]string{"app": "db"}),
		},
		Spec: corev1.PodSpec{
			NodeName: one(t, "n1", "n1", "n2", "n2", "n3", "gone", ""), Hostname: one(t, "", "h"), Subdomain: one(t, "", "web"),
			Containers: []corev1.Container{container()}, InitContainers: []corev1.Container{container()},
			RestartPolicy: one(t, corev1.RestartPolicyAlways, corev1.RestartPolicyNever),
		},
		Status: corev1.PodStatus{
			Phase: one(t, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending),
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: one(t, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)},
			},
		},
	}
	if one(t, false, false, true) {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	v4, v6 := []string{"10.244.1.2"}, []string{"fd00:244::4"}
	for _, ip := range one(t, v4, v4, v6, []string{"10.244.1.3", "fd00:244::3"}, []string{"010.244.1.05"}, nil) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return pod
}

// TestAsKubernetes has k8s.io/endpointslice make the slices of drawn services and pods too.
func TestAsKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(nil).(*controller)
		for _, name := range []string{"n1", "n2", "n3"} {
			labels := one(t, nil, map[string]string{corev1.LabelTopologyZone: "z" + name})
			c.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			pod := drawnPod(t, i)
			c.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
		}
		service := drawnService(t)
		expected, expectedErr := kubernetes(t, c, service)
		made, err := c.desired(service)
		if expectedErr != nil {
			require.EqualError(t, err, expectedErr.Error())
			return
		}
		require.NoError(t, err)
		assert.Equal(t, sortedSlices(expected), sortedSlices(made))
	})
}

// TestMorePodsThanASliceHolds fills slices in the order of the pods' names.
func TestMorePodsThanASliceHolds(t *testing.T) {
	c := New(nil).(*controller)
	c.nodes["n1"] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	for i := range maxEndpoints + 1 {
		name := fmt.Sprintf("pod%05d", i)
		c.pods[types.NamespacedName{Namespace: "shop", Name: name}] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: "n1"},
			Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.244.%d.%d", i/250, i%250+1)}}},
		}
	}
	o, err := manifest.New(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: "172.30.0.41", Selector: map[string]string{"app": "web"}},
	})
	require.NoError(t, err)
	made, err := c.slicesOf(o)
	require.NoError(t, err)
	require.Len(t, made, 2)
	last := made[1].Object.(*discoveryv1.EndpointSlice)
	assert.Equal(t, "web-ipv4-2", last.Name)
	require.Len(t, last.Endpoints, 1)
	assert.Equal(t, "pod01000", last.Endpoints[0].TargetRef.Name)
}
