// Package clientset makes a client of a kind cluster from client-go's clientset, which may be the fake one. It is for tests, since
// importing it links all of the Kubernetes API.
package clientset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
)

// Client is a clientset. It implements apiclient.Client.
type Client struct {
	kubernetes.Interface
}

var _ apiclient.Client = Client{}

// ConfigMaps implements apiclient.Client.
func (c Client) ConfigMaps(namespace string) apiclient.Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return c.CoreV1().ConfigMaps(namespace)
}

// Events implements apiclient.Client.
func (c Client) Events(namespace string) apiclient.Objects[*corev1.Event, *corev1.EventList] {
	return c.CoreV1().Events(namespace)
}

// Namespaces implements apiclient.Client.
func (c Client) Namespaces() apiclient.Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return c.CoreV1().Namespaces()
}

// Nodes implements apiclient.Client.
func (c Client) Nodes() apiclient.Objects[*corev1.Node, *corev1.NodeList] { return c.CoreV1().Nodes() }

// Pods implements apiclient.Client.
func (c Client) Pods(namespace string) apiclient.Pods { return c.CoreV1().Pods(namespace) }

// ServiceAccounts implements apiclient.Client.
func (c Client) ServiceAccounts(namespace string) apiclient.Objects[*corev1.ServiceAccount, *corev1.ServiceAccountList] {
	return c.CoreV1().ServiceAccounts(namespace)
}

// Services implements apiclient.Client.
func (c Client) Services(namespace string) apiclient.Services { return c.CoreV1().Services(namespace) }

// DaemonSets implements apiclient.Client.
func (c Client) DaemonSets(namespace string) apiclient.Objects[*appsv1.DaemonSet, *appsv1.DaemonSetList] {
	return c.AppsV1().DaemonSets(namespace)
}

// Deployments implements apiclient.Client.
func (c Client) Deployments(namespace string) apiclient.Objects[*appsv1.Deployment, *appsv1.DeploymentList] {
	return c.AppsV1().Deployments(namespace)
}

// EndpointSlices implements apiclient.Client.
func (c Client) EndpointSlices(namespace string) apiclient.Objects[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList] {
	return c.DiscoveryV1().EndpointSlices(namespace)
}

// ServiceCIDRs implements apiclient.Client.
func (c Client) ServiceCIDRs() apiclient.Objects[*networkingv1.ServiceCIDR, *networkingv1.ServiceCIDRList] {
	return c.NetworkingV1().ServiceCIDRs()
}

// ClusterRoleBindings implements apiclient.Client.
func (c Client) ClusterRoleBindings() apiclient.Objects[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList] {
	return c.RbacV1().ClusterRoleBindings()
}

// Logs implements apiclient.Client.
func (c Client) Logs(ctx context.Context, namespace, pod string) ([]byte, error) {
	return c.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
}
