package kind

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient/clientset"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// kubelets have the pods of a scripted cluster run as soon as they are made, on this address, and be ready as their gate says.
func kubelets(s *script, address string) {
	s.api.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		a.(clienttesting.CreateAction).GetObject().(*corev1.Pod).Status = corev1.PodStatus{
			PodIPs:     []corev1.PodIP{{IP: address}},
			Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
		}
		return false, nil, nil
	})
	s.api.PrependReactor("get", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		o, err := s.api.Tracker().Get(a.GetResource(), a.GetNamespace(), a.(clienttesting.GetAction).GetName())
		if pod, ok := o.(*corev1.Pod); ok && isTrue(pod, cluster.ReadinessGate) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		}
		return true, o, err
	})
}

// podScenario has a service and a pod that it selects.
func podScenario(t *testing.T) *scenarios.Cluster {
	t.Helper()
	s, err := scenarios.Read("in.yaml", strings.NewReader(`
name: pods
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, selector: {app: web}, ports: [{port: 80, targetPort: http}]}}
- apiVersion: v1
  kind: Pod
  metadata: {name: web-1, labels: {app: web}}
  spec: {nodeName: node1, containers: [{name: a, ports: [{name: http, containerPort: 8080}]}, {name: b, ports: [{name: http, containerPort: 8081}, {containerPort: 1}]}]}
  status: {podIP: 10.244.1.2, conditions: [{type: Ready, status: "True"}]}
steps: [{sync: true}]
`))
	require.NoError(t, err)
	c, err := scenarios.ResolveWith(s, controller.New)
	require.NoError(t, err)
	return c
}

// podSession is a session of the scenario on a scripted cluster whose next pod gets the address 10.244.9.7.
func podSession(t *testing.T) (*Session, *script) {
	t.Helper()
	b, s := scripted(t)
	kubelets(s, "10.244.9.7")
	c := podScenario(t)
	m, err := Map(&b.facts, c)
	require.NoError(t, err)
	s.forgetLog()
	return newSession(b, c, m), s
}

func TestPodObjectsAreRealPods(t *testing.T) {
	s, script := podSession(t)
	client := clientset.Client{Interface: script.api}
	web := netip.MustParseAddr("10.244.1.2")
	before := s.mapping.To(web)
	require.NoError(t, s.pods.start(t.Context(), s.cluster.Pods))
	assert.NotEqual(t, "10.244.9.7", before.String(), "it was put by, until there is a pod")
	assert.Equal(t, "10.244.9.7", s.mapping.To(web).String())
	assert.Equal(t, web, s.mapping.Back(netip.MustParseAddr("10.244.9.7")))
	assert.Equal(t, before, s.mapping.Back(before), "it stands for nothing any more")
	host, ok := s.mapping.Host("web-1")
	require.True(t, ok)
	assert.Equal(t, Host{Machine: s.mapping.Node("node1"), Agent: "default.web-1", Addresses: []netip.Addr{netip.MustParseAddr("10.244.9.7")}},
		host)

	get := func() *corev1.Pod {
		pod, err := client.Pods("default").Get(t.Context(), "web-1", metav1.GetOptions{})
		require.NoError(t, err)
		return pod
	}
	assert.Equal(t, map[string]string{"app": "web", sessionLabel: "true"}, get().Labels)
	assert.Equal(t, []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}, get().Spec.Containers[0].Ports,
		"of two the first counts")
	assert.False(t, isTrue(get(), corev1.PodReady))

	follow := func(change func(*corev1.Pod)) {
		pod := s.cluster.Pod("web-1").Object.DeepCopy()
		change(pod)
		require.NoError(t, s.pods.follow(t.Context(), []manifest.Object{{Object: pod}}))
	}
	follow(func(*corev1.Pod) {})
	assert.True(t, isTrue(get(), corev1.PodReady))
	follow(func(p *corev1.Pod) {
		p.Labels, p.Status.Conditions = map[string]string{"debug": "yes"}, nil
	})
	assert.Equal(t, map[string]string{"debug": "yes", sessionLabel: "true"}, get().Labels)
	assert.False(t, isTrue(get(), corev1.PodReady))
	script.api.ClearActions()
	follow(func(p *corev1.Pod) {
		p.Labels, p.Status.Conditions = map[string]string{"debug": "yes"}, nil
		p.DeletionTimestamp = &metav1.Time{}
	})
	require.Len(t, script.api.Actions(), 1)
	deletion := script.api.Actions()[0].(clienttesting.DeleteAction)
	assert.Nil(t, deletion.GetDeleteOptions().GracePeriodSeconds, "it has its own grace period")
	assert.Empty(t, script.asked("exec"), "its agent goes on")
}

func TestPodsThatAreDeletedAreGone(t *testing.T) {
	s, script := podSession(t)
	require.NoError(t, s.pods.start(t.Context(), s.cluster.Pods))
	ref := refOf(s.cluster.Pod("web-1").Object)
	require.NoError(t, s.pods.remove(t.Context(), []manifest.Ref{ref, {Kind: "Pod", Namespace: "default", Name: "another"}}))
	assert.Nil(t, s.pods.now(ref))
	assert.Equal(t, []string{`exec worker: pkill -KILL -f -- probe serve --name default\.web-1 : `}, script.asked("exec"))
	require.NoError(t, s.StopPods(t.Context(), []string{"web-1"}), "nothing is left of it that could be made to lead nowhere")
	_, there := s.mapping.Host("web-1")
	assert.False(t, there)
}

func TestNothingIsLeftOfPods(t *testing.T) {
	s, script := podSession(t)
	client := clientset.Client{Interface: script.api}
	require.NoError(t, s.pods.start(t.Context(), s.cluster.Pods))
	_, err := client.EndpointSlices("default").Create(t.Context(), madeSlice("web-x", "10.244.9.7", true),
		metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.pods.removeAll(t.Context()))
	require.NoError(t, s.writer.removeAll(t.Context()))
	pods, err := client.Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, pods.Items)
	left, err := client.EndpointSlices("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, left.Items)
}

// madeSlice is a slice as the cluster's controller makes it of the scenario's pod.
func madeSlice(name, address string, ready bool) *discoveryv1.EndpointSlice {
	port, protocol, portName, no, node := int32(8080), corev1.ProtocolTCP, "", false, "worker"
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io", sessionLabel: "true",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address}, NodeName: &node,
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: &no},
		}},
	}
}

// TestSlicesAreWaitedFor has the cluster's controller be late: what it has made is asked for until it is what the scenario has.
func TestSlicesAreWaitedFor(t *testing.T) {
	s, script := podSession(t)
	client, asked := script.api, 0
	client.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		switch asked {
		case 1:
			return true, &discoveryv1.EndpointSliceList{}, nil
		case 2:
			return true, &discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{*madeSlice("web-x", "10.244.9.7", false)}}, nil
		}
		return true, &discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{*madeSlice("web-x", "10.244.9.7", true)}}, nil
	})
	require.NoError(t, s.pods.start(t.Context(), s.cluster.Pods))
	require.NoError(t, s.awaitSlices(t.Context()), "there is nothing to wait for yet")
	assert.Zero(t, asked)
	for _, o := range s.cluster.Objects {
		s.knows.add(o)
	}
	require.Equal(t, "worker", s.mapping.Node("node1"))
	require.NoError(t, s.awaitSlices(t.Context()))
	assert.Equal(t, 3, asked)
}

func TestWhatControllersMakeIsNotWritten(t *testing.T) {
	s, _ := podSession(t)
	objects := s.cluster.Objects
	write := func() []runtime.Object {
		written, err := s.written(objects)
		require.NoError(t, err)
		return written
	}
	require.Len(t, write(), 1, "neither nodes, nor pods, nor slices that are made")
	assert.Nil(t, write()[0].(*corev1.Service).Spec.Selector, "nothing is made of it")
	for _, o := range objects {
		s.knows.add(o)
	}
	assert.Equal(t, map[string]string{"app": "web"}, write()[0].(*corev1.Service).Spec.Selector)
}

func TestPodObjectsThatCannotBeRealPods(t *testing.T) {
	for _, row := range []struct{ name, pod, why string }{
		{"in its node's network", "{nodeName: node1, hostNetwork: true}, status: {podIP: 192.168.0.2}", "a pod in the network of its node"},
		{"ended", "{nodeName: node1}, status: {podIP: 10.244.1.2, phase: Succeeded}", "the kubelet sets the phase of a real pod"},
		{"pending", "{nodeName: node1}", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := scenarios.Read("in.yaml",
				strings.NewReader("name: a\nobjects:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "+row.pod+"}\nsteps: [{sync: true}]\n"))
			require.NoError(t, err)
			if why := unsupported(s, threeNodes()); row.why == "" {
				assert.Empty(t, why)
			} else {
				assert.Contains(t, why, row.why)
			}
		})
	}
}

// TestPodsThatComeLaterArePlanned has a step use the pod of another one's object, and another its name again.
func TestPodsThatComeLaterArePlanned(t *testing.T) {
	s, err := scenarios.Read("in.yaml", strings.NewReader(`
name: later
steps:
- apply: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node1}, status: {podIP: 10.244.1.2}}]
- connect: {from: p, to: "tcp 1.2.3.4:80", expect: untouched}
- delete: [pod p]
- apply: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: node2}, status: {podIP: 10.244.2.2}}]
- connect: {from: p, to: "tcp 1.2.3.4:80", expect: untouched}
`))
	require.NoError(t, err)
	assert.Empty(t, unsupported(s, threeNodes()))
}
