package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The pool's objects.
const (
	poolNamespace = metav1.NamespaceDefault
	poolLabel     = "chainwalk.dev/pool"
)

// ReadinessGate is the condition of a pool's pod that decides whether it is ready, apart from its container. It is not there at first.
const ReadinessGate corev1.PodConditionType = "chainwalk.dev/ready"

// poolPod is a pod of the pool.
func poolPod(node string, number int, image string) *corev1.Pod {
	name := fmt.Sprintf("%s-pool-%d", node, number)
	pod := agentPod(name, node, image)
	pod.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: poolNamespace, Labels: map[string]string{poolLabel: fmt.Sprint(number)}}
	return pod
}

// terminating is how long a pod of AgentPod goes on once it was deleted, unless that says otherwise.
const terminating = 10 * time.Minute

// AgentPod is a pod of no name yet that is as those of the pool are, with an agent of its own in it. It is not made by this. Once it is
// deleted it is terminating, and its agent goes on, for ten minutes or for as long as the deletion says.
func (c *Cluster) AgentPod(agent, node string) *corev1.Pod {
	pod := agentPod(agent, node, c.agentImage.String())
	pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(terminating.Seconds()))
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, "--grace", terminating.String())
	return pod
}

// agentPod is a pod that runs an agent. The socket is in a folder of the node, where the node's relay finds it.
func agentPod(agent, node, image string) *corev1.Pod {
	folder := corev1.HostPathDirectoryOrCreate
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: ReadinessGate}},
			Volumes: []corev1.Volume{{
				Name: "control", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: socketFolder, Type: &folder}},
			}},
			Containers: []corev1.Container{{
				Name:            "agent",
				Image:           image,
				ImagePullPolicy: corev1.PullNever,
				Args:            agentArgs(agent),
				SecurityContext: &corev1.SecurityContext{
					Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", "NET_RAW"}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "control", MountPath: socketFolder}},
			}},
		},
	}
}

// agentArgs are chainwalk's arguments for an agent.
func agentArgs(name string) []string {
	return []string{"probe", "serve", "--name", name, "--control", "unix:" + socketOf(name)}
}

func socketOf(agent string) string { return socketFolder + "/" + agent + ".sock" }

// startPods makes the pool. Pods that an earlier run has left with the same binary are used as they are.
func (c *Cluster) startPods(ctx context.Context) error {
	pods := c.client.Pods(poolNamespace)
	for number := range c.config.Pool {
		for _, node := range c.nodes {
			pod := poolPod(node.Name, number+1, c.agentImage.String())
			if err := c.apply(ctx, pod); err != nil {
				return err
			}
		}
	}
	err := until(ctx, func(ctx context.Context) (string, error) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: poolLabel})
		if err != nil {
			return "", err
		}
		return c.readPool(list.Items)
	})
	if err != nil {
		return err
	}
	return c.inAll(ctx, func(node Node) string { return socketScript(node, c.pods) })
}

// readPool sets the pods, unless one is not ready yet.
func (c *Cluster) readPool(list []corev1.Pod) (pending string, err error) {
	c.pods = nil
	for i := range list {
		pod := &list[i]
		if running, why := containersReady(pod); !running {
			return fmt.Sprintf("pod %s: %s", pod.Name, why), nil
		}
		found := Pod{Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName}
		for _, ip := range pod.Status.PodIPs {
			address, err := netip.ParseAddr(ip.IP)
			if err != nil {
				return "", fmt.Errorf("address of pod %s: %w", pod.Name, err)
			}
			found.Addresses = append(found.Addresses, address)
		}
		c.pods = append(c.pods, found)
	}
	if want := c.config.Pool * len(c.nodes); len(c.pods) < want {
		return fmt.Sprintf("%d of %d pods are there", len(c.pods), want), nil
	}
	place := func(p Pod) int { return slices.IndexFunc(c.nodes, func(n Node) bool { return n.Name == p.Node }) }
	slices.SortFunc(c.pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return "", nil
}

// containersReady reports whether a pod runs, whatever its gates say.
func containersReady(pod *corev1.Pod) (ready bool, why string) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.ContainersReady && condition.Status == corev1.ConditionTrue {
			return true, ""
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			return false, waiting.Reason + " " + waiting.Message
		}
	}
	return false, string(pod.Status.Phase)
}

// socketScript waits for the sockets of a node's agents.
func socketScript(node Node, pods []Pod) string {
	agents := []string{socketOf(node.Name)}
	for _, pod := range pods {
		if pod.Node == node.Name {
			agents = append(agents, socketOf(pod.Name))
		}
	}
	return waitForSockets(agents)
}

func waitForSockets(sockets []string) string {
	return `for socket in ` + strings.Join(sockets, " ") + `; do
	left=300
	until [ -S "$socket" ]; do
		left=$((left - 1))
		if [ "$left" = 0 ]; then echo "no agent listens on $socket" >&2; exit 1; fi
		sleep 0.1
	done
done
`
}
