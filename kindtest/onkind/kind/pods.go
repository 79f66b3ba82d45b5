package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// pods are the real pods of a scenario's Pod objects, each with an agent of its own.
type pods struct {
	backend *Backend
	mapping *Mapping
	mutex   sync.Mutex
	made    map[manifest.Ref]*corev1.Pod // the scenario's objects, as the real ones follow them by now
}

func newPods(b *Backend, m *Mapping) *pods {
	return &pods{backend: b, mapping: m, made: map[manifest.Ref]*corev1.Pod{}}
}

// agentOf is the name of the agent in a pod, and maxAgent how long it may be.
func agentOf(ref manifest.Ref) string { return ref.Namespace + "." + ref.Name }

const maxAgent = 63

// leaving is how many seconds a pod has that is deleted for good.
const leaving = 1

// now is the object that the real pod of this name follows by now, nil if there is none.
func (p *pods) now(ref manifest.Ref) *corev1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.made[ref]
}

// start makes the real pods of those that have Pod objects, and tells the mapping where they are.
func (p *pods) start(ctx context.Context, begun []scenarios.Pod) error {
	var own []scenarios.Pod
	for i := range begun {
		if begun[i].Object != nil {
			own = append(own, begun[i])
		}
	}
	if err := together(own, func(pod scenarios.Pod) error { return p.startOne(ctx, &pod) }); err != nil {
		return err
	}
	return p.mapping.startPods(own)
}

func (p *pods) startOne(ctx context.Context, pod *scenarios.Pod) error {
	ref, node := refOf(pod.Object), p.mapping.Node(pod.Node)
	real := p.backend.hands.AgentPod(agentOf(ref), node)
	real.ObjectMeta = *pod.Object.ObjectMeta.DeepCopy()
	own(&real.ObjectMeta)
	real.Spec.Containers[0].Ports = portsOf(pod.Object)
	if err := (&writer{client: p.backend.client}).namespace(ctx, ref.Namespace); err != nil {
		return err
	}
	p.note(ref, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: pod.Object.Labels}})
	if err := p.create(ctx, real); err != nil {
		return fmt.Errorf("make %s: %w", ref, err)
	}
	addresses, err := p.running(ctx, real)
	if err != nil {
		return fmt.Errorf("make %s: %w", ref, err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.mapping.real[ref] = cluster.Pod{Namespace: ref.Namespace, Name: ref.Name, Node: node, Addresses: addresses}
	return nil
}

func (p *pods) note(ref manifest.Ref, pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.made[ref] = pod
}

// portsOf are the ports of a pod's containers, by whose names services find them. Of several of one name and protocol the first counts.
func portsOf(pod *corev1.Pod) (out []corev1.ContainerPort) {
	type name struct {
		name     string
		protocol corev1.Protocol
	}
	known := map[name]bool{}
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if of := (name{port.Name, port.Protocol}); port.Name != "" && !known[of] {
				known[of] = true
				out = append(out, corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort, Protocol: port.Protocol})
			}
		}
	}
	return out
}

// create makes a pod, once its namespace has got the service account that every pod has one of.
func (p *pods) create(ctx context.Context, real *corev1.Pod) error {
	return poll(ctx, func() (pending string, err error) {
		_, err = p.backend.client.Pods(real.Namespace).Create(ctx, real, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) { // one of that name is going still
			return err.Error(), nil
		}
		return "", err
	})
}

// running waits until a pod runs and its agent answers.
func (p *pods) running(ctx context.Context, real *corev1.Pod) (addresses []netip.Addr, err error) {
	err = poll(ctx, func() (pending string, err error) {
		pod, err := p.backend.client.Pods(real.Namespace).Get(ctx, real.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if !isTrue(pod, corev1.ContainersReady) || len(pod.Status.PodIPs) == 0 {
			return fmt.Sprintf("it does not run (%s)", pod.Status.Phase), nil
		}
		if err := p.backend.relays[pod.Spec.NodeName].Reset(ctx, agentOf(refOf(pod))); err != nil {
			return err.Error(), nil
		}
		addresses = nil
		for _, ip := range pod.Status.PodIPs {
			addresses = append(addresses, parse(ip.IP))
		}
		return "", nil
	})
	return addresses, err
}

// isTrue reports whether a pod has a condition, and it is true.
func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// follow gives the real pods the labels and the readiness of their objects, and deletes those that terminate from here on.
func (p *pods) follow(ctx context.Context, objects []manifest.Object) error {
	return together(objects, func(o manifest.Object) error {
		pod, ok := o.Object.(*corev1.Pod)
		if !ok || p.now(o.Ref()) == nil {
			return nil
		}
		return wrap(o, p.followOne(ctx, o.Ref(), pod))
	})
}

func (p *pods) followOne(ctx context.Context, ref manifest.Ref, now *corev1.Pod) error {
	before, client := p.now(ref), p.backend.client.Pods(ref.Namespace)
	if !maps.Equal(before.Labels, now.Labels) {
		labels := map[string]any{"labels": otherLabels(before.Labels, now.Labels)}
		if err := patch(ctx, client, ref.Name, map[string]any{"metadata": labels}); err != nil {
			return err
		}
	}
	if ready := isTrue(now, corev1.PodReady); ready != isTrue(before, corev1.PodReady) {
		condition := corev1.PodCondition{Type: cluster.ReadinessGate, Status: corev1.ConditionFalse}
		if ready {
			condition.Status = corev1.ConditionTrue
		}
		status := map[string]any{"conditions": []corev1.PodCondition{condition}}
		if err := patch(ctx, client, ref.Name, map[string]any{"status": status}, "status"); err != nil {
			return err
		}
		if err := p.becomes(ctx, ref, ready); err != nil {
			return err
		}
	}
	if now.DeletionTimestamp != nil && before.DeletionTimestamp == nil {
		if err := client.Delete(ctx, ref.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	p.note(ref, now)
	return nil
}

// becomes waits until a pod is ready, or is not. The kubelet says so, and may do so no more once the pod terminates.
func (p *pods) becomes(ctx context.Context, ref manifest.Ref, ready bool) error {
	return poll(ctx, func() (pending string, err error) {
		pod, err := p.backend.client.Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil || isTrue(pod, corev1.PodReady) == ready {
			return "", err
		}
		return fmt.Sprintf("it is still ready: %v", !ready), nil
	})
}

// otherLabels is the patch that makes other labels of those before.
func otherLabels(before, now map[string]string) map[string]*string {
	out := map[string]*string{}
	for key := range before {
		out[key] = nil
	}
	for key, value := range now {
		out[key] = ptr.To(value)
	}
	return out
}

func patch(ctx context.Context, client apiclient.Pods, name string, fields map[string]any, subresources ...string) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, subresources...)
	return err
}

// remove deletes pods for good. Of an object that has no pod nothing is left to do.
func (p *pods) remove(ctx context.Context, refs []manifest.Ref) error {
	return together(refs, func(ref manifest.Ref) error {
		if p.now(ref) == nil {
			return nil
		}
		pod, err := p.backend.client.Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err == nil {
			err = p.backend.deletePod(ctx, pod)
		}
		if err != nil {
			return fmt.Errorf("delete %s: %w", ref, err)
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		delete(p.made, ref)
		delete(p.mapping.real, ref)
		return nil
	})
}

// removeAll deletes the pods that are left.
func (p *pods) removeAll(ctx context.Context) error {
	if len(p.made) == 0 {
		return nil
	}
	clear(p.made)
	return p.backend.deletePods(ctx)
}

// deletePods deletes the pods of any session for good.
func (b *Backend) deletePods(ctx context.Context) error {
	list, err := b.client.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: sessionLabel + "=true"})
	if err != nil {
		return err
	}
	return together(list.Items, func(pod corev1.Pod) error { return b.deletePod(ctx, &pod) })
}

// deletePod deletes a pod, and waits until it is gone, with its addresses. A kubelet that already waits for a pod to terminate waits
// on, however short the time has become; so its agent is ended on the node.
func (b *Backend) deletePod(ctx context.Context, pod *corev1.Pod) error {
	pods := b.client.Pods(pod.Namespace)
	if err := gone(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](leaving)})); err != nil {
		return err
	}
	if node := b.relays[pod.Spec.NodeName]; node != nil {
		whose := "probe serve --name " + regexp.QuoteMeta(agentOf(refOf(pod))) + " "
		if _, err := node.Exec(ctx, command("pkill", "-KILL", "-f", "--", whose)); err != nil {
			return err
		}
	}
	return poll(ctx, func() (pending string, err error) {
		_, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is still there", err
	})
}

// poll asks until nothing is pending any more.
func poll(ctx context.Context, ask func() (pending string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		pending, err := ask()
		if err != nil || pending == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", patience, errors.Join(errors.New(pending), ctx.Err()))
		case <-again.C:
		}
	}
}

// askAgain is how soon the API server is asked again.
const askAgain = 50 * time.Millisecond
