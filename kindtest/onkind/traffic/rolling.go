package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The Deployment that is updated.
const (
	rollingName = "traffic-rolling"
	rollingPort = 8080
	// serves is for how long its pods go on serving after they were told to end, unless they are ended: longer than a new one takes to be
	// ready.
	serves = 20 * time.Second
)

// balancer is the address of the load balancer, which the container outside has a route to.
func balancer(v6 bool) netip.Addr {
	if v6 {
		return netip.MustParseAddr("2001:db8:1b::1")
	}
	return netip.MustParseAddr("198.51.100.27")
}

// rollingUpdate updates a Deployment of one pod, which goes before the new one is there (maxSurge 0): for a while the node has only an
// endpoint that is terminating and still serves. A client outside connects all the while to a load balancer of policy Local, by this node:
// not one of its connections may fail (KEP-1669).
func rollingUpdate(ctx context.Context, s *stage) (told string, err error) {
	node, outside := s.workers()[0], s.outside()
	service, err := s.service(ctx, rollingName, corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		Selector: map[string]string{"app": rollingName},
		Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(rollingPort)}},
	})
	if err != nil {
		return "", err
	}
	to := netip.AddrPortFrom(balancer(s.v6()), 80)
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: to.Addr().String()}}
	if _, err := s.Cluster.Client().Services(namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{}); err != nil {
		return "", err
	}
	if err := s.routeOutside(ctx, to.Addr(), node.Addresses[0]); err != nil {
		return "", err
	}
	if err := s.deploy(ctx, node.Name); err != nil {
		return "", err
	}
	before, err := s.rolledOut(ctx, "1")
	if err != nil {
		return "", err
	}
	if err := s.answers(ctx, outside, inet.TCP, to, before); err != nil {
		return "", err
	}
	l, err := s.begin(ctx, outside, probe.Load{Name: rollingName, Kind: probe.Short, Proto: inet.TCP, To: to, Every: 20 * time.Millisecond})
	if err != nil {
		return "", err
	}
	if err := s.update(ctx, node.Name, before, to); err != nil {
		return "", err
	}
	asked, err := l.stop(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d connections, answered by %v", len(asked), servers(asked)), all(asked)
}

// routeOutside leads what the container outside sends to an address to a node.
func (s *stage) routeOutside(ctx context.Context, a, via netip.Addr) error {
	outside := s.outside().machine
	to := netip.PrefixFrom(a, a.BitLen()).String()
	s.later(func(ctx context.Context) error {
		_, err := s.exec(ctx, outside, ip(a, "route", "del", to)...)
		return err
	})
	_, err := s.exec(ctx, outside, ip(a, "route", "replace", to, "via", via.String())...)
	return err
}

// deploy makes the Deployment on a node.
func (s *stage) deploy(ctx context.Context, node string) error {
	pool := s.Cluster.Pods()[0]
	model, err := s.Cluster.Client().Pods(pool.Namespace).Get(ctx, pool.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	deployments := s.Cluster.Client().Deployments(namespace)
	s.later(func(ctx context.Context) error {
		return deployments.Delete(ctx, rollingName, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
	})
	_, err = deployments.Create(ctx, deployment(node, model.Spec.Containers[0].Image), metav1.CreateOptions{})
	return err
}

func deployment(node, image string) *appsv1.Deployment {
	labels := map[string]string{"app": rollingName}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: rollingName},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": rollingName, "version": "1"}},
				Spec: corev1.PodSpec{
					NodeName: node, AutomountServiceAccountToken: ptr.To(false),
					TerminationGracePeriodSeconds: ptr.To(int64((serves + 10*time.Second).Seconds())),
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: "agent", Image: image, ImagePullPolicy: corev1.PullNever,
						Args: []string{
							"probe", "serve", "--name", "$(POD_NAME)", "--grace", serves.String(), "--listen", fmt.Sprintf("tcp 0.0.0.0:%d", rollingPort),
							"--listen", fmt.Sprintf("tcp [::]:%d", rollingPort),
						},
						Env: []corev1.EnvVar{
							{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
						},
						ReadinessProbe: &corev1.Probe{
							PeriodSeconds: 1,
							ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(rollingPort)}},
						},
					}},
				},
			},
		},
	}
}

// update gives the Deployment's pods another label, waits until the new one answers, and ends the one of before.
func (s *stage) update(ctx context.Context, node, before string, to netip.AddrPort) error {
	patch := `{"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}`
	deployments := s.Cluster.Client().Deployments(namespace)
	if _, err := deployments.Patch(ctx, rollingName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	after, err := s.rolledOut(ctx, "2")
	if err != nil {
		return err
	}
	if err := s.answers(ctx, s.outside(), inet.TCP, to, after); err != nil {
		return err
	}
	if _, err := s.exec(ctx, node, "pkill", "-KILL", "-f", "--", "serve --name "+before+" "); err != nil {
		return err
	}
	return until(ctx, 2*serves, "the pod "+before+" is gone", func(ctx context.Context) (bool, error) {
		pods, err := s.Cluster.Client().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + rollingName})
		return err == nil && len(pods.Items) == 1, err
	})
}

// rolledOut waits until the pod of a version is ready, and says its name.
func (s *stage) rolledOut(ctx context.Context, version string) (pod string, err error) {
	err = until(ctx, time.Minute, "the pod of version "+version+" is ready", func(ctx context.Context) (bool, error) {
		selector := fmt.Sprintf("app=%s,version=%s", rollingName, version)
		pods, err := s.Cluster.Client().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		pod = pods.Items[0].Name
		for _, c := range pods.Items[0].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	return pod, err
}
