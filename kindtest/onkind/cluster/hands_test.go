package cluster

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/kindtest/internal/literal"
)

func TestMetricsTellTheProcessAndItsSyncs(t *testing.T) {
	const last = "kubeproxy_sync_proxy_rules_last_timestamp_seconds"
	const process1 = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.5e+09\n# TYPE " + last + " gauge\n"
	for about, row := range map[string]struct {
		text     string
		families int
		want     process
		wrong    string
	}{
		"no sync yet":             {text: process1, families: 2, want: process{1.5e9, false}},
		"one of two families":     {text: process1 + last + "{ip_family=\"IPv4\"} 1.6e+09\n", families: 2, want: process{1.5e9, false}},
		"one family that has not": {text: process1 + last + "{ip_family=\"IPv4\"} 0\n", families: 1, want: process{1.5e9, false}},
		"both families": {text: process1 + last + "{ip_family=\"IPv4\"} 1\n" + last + "{ip_family=\"IPv6\"} 1\n", families: 2,
			want: process{1.5e9, true}},
		"families are not told apart":  {text: process1 + last + " 1.6e+09\n", families: 2, want: process{1.5e9, true}},
		"a process that does not tell": {text: last + " 1\n", families: 1, wrong: "no process_start_time_seconds"},
		"no metrics":                   {text: "<html>", families: 1, wrong: "the metrics"},
	} {
		t.Run(about, func(t *testing.T) {
			got, err := parseProcess([]byte(row.text), row.families)
			if row.wrong != "" {
				require.ErrorContains(t, err, row.wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

func poolPodWith(node string, number int, ready corev1.ConditionStatus, ips ...string) corev1.Pod {
	pod := *poolPod(node, number, "image")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: ready}}
	for _, ip := range ips {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return pod
}

func TestPoolIsInTheOrderOfNodesAndNumbers(t *testing.T) {
	c := &Cluster{members: &members{config: Config{Pool: 2}, nodes: trio}}
	var list []corev1.Pod
	for _, number := range []int{10, 2} {
		for _, node := range []string{"c-worker2", "c-worker", "c-control-plane"} {
			list = append(list, poolPodWith(node, number, corev1.ConditionTrue, "10.244.1.2", "fd00::2"))
		}
	}
	pending, err := c.readPool(list)
	require.NoError(t, err)
	require.Empty(t, pending)
	var names []string
	for _, pod := range c.Pods() {
		names = append(names, pod.Name)
	}
	assert.Equal(t, []string{
		"c-control-plane-pool-2", "c-control-plane-pool-10", "c-worker-pool-2", "c-worker-pool-10", "c-worker2-pool-2", "c-worker2-pool-10",
	}, names)
	assert.Equal(t, Pod{Namespace: "default", Name: "c-worker-pool-2", Node: "c-worker", Addresses: literal.Addrs("10.244.1.2", "fd00::2")},
		c.Pods()[2])
}

func TestPoolSaysWhatIsPending(t *testing.T) {
	c := &Cluster{members: &members{config: Config{Pool: 1}, nodes: trio[:1]}}
	pending, err := c.readPool(nil)
	require.NoError(t, err)
	assert.Equal(t, "0 of 1 pods are there", pending)

	pod := poolPodWith("c-control-plane", 1, corev1.ConditionFalse)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "there is no image"},
	}}}
	pending, err = c.readPool([]corev1.Pod{pod})
	require.NoError(t, err)
	assert.Equal(t, "pod c-control-plane-pool-1: ErrImageNeverPull there is no image", pending)
}

func TestNodeIsReadFromItsObject(t *testing.T) {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "c-worker", Labels: map[string]string{zoneLabel: "b"}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.244.2.0/24", "fd00:10:244:2::/64"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "172.18.0.2"}, {Type: corev1.NodeInternalIP, Address: "fc00::2"},
			{Type: corev1.NodeHostName, Address: "c-worker"},
		}},
	}
	want := trio[1]
	want.Zone = "b"
	got, err := nodeOf(object)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	object.Spec.PodCIDRs[0] = "ten"
	_, err = nodeOf(object)
	assert.ErrorContains(t, err, "podCIDR of node c-worker")
}

func TestOutsideIsReadFromDocker(t *testing.T) {
	got, err := parseOutside("c-outside", `{"kind": {"IPAddress": "172.18.0.9", "GlobalIPv6Address": "fc00::9", "Gateway": "172.18.0.1"}}`)
	require.NoError(t, err)
	assert.Equal(t, Outside{Name: "c-outside", Addresses: literal.Addrs("172.18.0.9", "fc00::9")}, got)
	got, err = parseOutside("c-outside", `{"kind": {"IPAddress": "172.18.0.9", "GlobalIPv6Address": ""}}`)
	require.NoError(t, err)
	assert.Equal(t, literal.Addrs("172.18.0.9"), got.Addresses)
}

func TestStreamCarriesAndEnds(t *testing.T) {
	s, err := startStream(exec.Command("cat"))
	require.NoError(t, err)
	_, err = io.WriteString(s, "asked\n")
	require.NoError(t, err)
	answer := make([]byte, 6)
	_, err = io.ReadFull(s, answer)
	require.NoError(t, err)
	assert.Equal(t, "asked\n", string(answer))
	assert.NoError(t, s.Close())
}

func TestStreamSaysWhyItHasEnded(t *testing.T) {
	s, err := startStream(exec.Command("sh", "-c", "echo no such container >&2; exit 3"))
	require.NoError(t, err)
	_, err = s.Read(make([]byte, 1))
	assert.ErrorContains(t, err, "no such container")
	assert.ErrorContains(t, s.Close(), "exit status 3")
}

func TestUntilSaysWhatWasPending(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := until(ctx, func(context.Context) (string, error) {
		cancel(interrupted)
		return "something", nil
	})
	assert.ErrorIs(t, err, interrupted)
	looks := 0
	require.NoError(t, until(t.Context(), func(context.Context) (string, error) {
		looks++
		if looks < 2 {
			return "something", nil
		}
		return "", nil
	}))
	assert.Equal(t, 2, looks)
}
