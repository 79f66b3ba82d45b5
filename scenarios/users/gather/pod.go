package gather

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The labels of the collector's pods: by the first one all of them are found, by the second those of a run.
const (
	labelName = "app.kubernetes.io/name"
	nameValue = "chainwalk-collect"
	labelRun  = "chainwalk.dev/run"
)

const (
	container = "collect"
	rootMount = "/host"
	// What the collector may use at most. iptables-nft-save was seen to take 430 MB and 50 s of a processor for the rules of 10,000 services
	// with five endpoints each, the collector less.
	memoryLimit, cpuLimit = "1Gi", "1"
	// endsAfter is how long a pod outlives the times that a node is given, to start and to print, in seconds, if nobody removes it.
	endsAfter = 30
)

// capabilities are what the collector's container may do, which is not privileged: list rules, sets and connections (NET_ADMIN), open the
// raw socket by which the legacy tools ask the kernel (NET_RAW), and run the node's own tools (SYS_CHROOT).
func capabilities() []corev1.Capability {
	return []corev1.Capability{"NET_ADMIN", "NET_RAW", "SYS_CHROOT"}
}

// pod is the collector's pod for a node.
func (g *Gatherer) pod(name, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: g.Namespace, Labels: map[string]string{labelName: nameValue, labelRun: g.Run}},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			HostNetwork:                   true,
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			DNSPolicy:                     corev1.DNSDefault,
			ActiveDeadlineSeconds:         ptr.To(2*int64(g.NodeTime.Seconds()) + endsAfter),
			TerminationGracePeriodSeconds: ptr.To(int64(1)),
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: container, Image: g.Image, ImagePullPolicy: corev1.PullIfNotPresent,
				Args:         []string{"--root", rootMount, "--hostname", node, "--parcel", name},
				VolumeMounts: []corev1.VolumeMount{nodeMount()},
				Resources: corev1.ResourceRequirements{
					Requests: resources("10m", "32Mi"), Limits: resources(cpuLimit, memoryLimit),
				},
				SecurityContext: &corev1.SecurityContext{
					Privileged:               ptr.To(false),
					AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem:   ptr.To(true),
					RunAsUser:                ptr.To(int64(0)),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: capabilities()},
					SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
			}},
			Volumes: []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}},
		},
	}
	if g.PullSecret != "" {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: g.PullSecret}}
	}
	return pod
}

// nodeMount is the node's root folder, read-only; what is mounted below it as well, where the node can do that.
func nodeMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: "node", MountPath: rootMount, ReadOnly: true,
		RecursiveReadOnly: ptr.To(corev1.RecursiveReadOnlyIfPossible)}
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// progress is how far a collector's pod is.
type progress struct {
	started bool   // its log can be read
	failed  bool   // it never will be
	why     string // what it waits for, or has failed of
}

// progressOf reads the state of a pod.
func progressOf(pod *corev1.Pod) progress {
	if len(pod.Status.ContainerStatuses) > 0 {
		switch s := pod.Status.ContainerStatuses[0].State; {
		case s.Running != nil, s.Terminated != nil:
			return progress{started: true}
		case s.Waiting != nil:
			return waiting(s.Waiting, pod.Spec.Containers[0].Image)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return progress{failed: true, why: fmt.Sprintf("the node did not take the pod: %s %s", pod.Status.Reason, pod.Status.Message)}
	}
	return progress{why: "its kubelet does not start the pod"}
}

// waiting says what a container waits for that has not started.
func waiting(w *corev1.ContainerStateWaiting, image string) progress {
	p := progress{why: w.Reason}
	if w.Message != "" {
		p.why += ": " + w.Message
	}
	switch w.Reason {
	case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		p.failed = true
		p.why = fmt.Sprintf("the image %s cannot be had (%s); name one that the node can pull with --image, and a secret for its registry with "+
			"--image-pull-secret", image, p.why)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		p.failed = true
	}
	return p
}

// ended says how a collector ended that printed no whole snapshot; empty if it goes on or ended well.
func ended(pod *corev1.Pod) string {
	if pod.Status.Reason == "DeadlineExceeded" {
		return "the pod was ended at its deadline"
	}
	for i := range pod.Status.ContainerStatuses {
		t := pod.Status.ContainerStatuses[i].State.Terminated
		switch {
		case t == nil:
		case t.Reason == "OOMKilled":
			return "the collector needed more than " + memoryLimit + " of memory"
		case t.ExitCode != 0:
			return fmt.Sprintf("the collector ended with status %d", t.ExitCode)
		}
	}
	return ""
}
