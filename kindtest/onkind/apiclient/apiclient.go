// Package apiclient reads and writes the objects of a kind cluster.
package apiclient

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Client has the kinds of objects that are read and written on a cluster. An empty namespace is all of them. Server is one; package
// clientset makes one of client-go's clientset, and so of the fake one.
type Client interface {
	ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList]
	Events(namespace string) Objects[*corev1.Event, *corev1.EventList]
	Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList]
	Nodes() Objects[*corev1.Node, *corev1.NodeList]
	Pods(namespace string) Pods
	ServiceAccounts(namespace string) Objects[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	Services(namespace string) Services
	DaemonSets(namespace string) Objects[*appsv1.DaemonSet, *appsv1.DaemonSetList]
	Deployments(namespace string) Objects[*appsv1.Deployment, *appsv1.DeploymentList]
	EndpointSlices(namespace string) Objects[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
	ServiceCIDRs() Objects[*networkingv1.ServiceCIDR, *networkingv1.ServiceCIDRList]
	ClusterRoleBindings() Objects[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList]

	// Logs is what the only container of a pod has printed.
	Logs(ctx context.Context, namespace, pod string) ([]byte, error)
}

// Objects are those of a kind. The errors are the API server's (package k8s.io/apimachinery/pkg/api/errors).
type Objects[T, L runtime.Object] interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, o metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, how types.PatchType, patch []byte, o metav1.PatchOptions, subresources ...string) (T, error)
}

// Pods can be deleted many at once.
type Pods interface {
	Objects[*corev1.Pod, *corev1.PodList]
	DeleteCollection(ctx context.Context, o metav1.DeleteOptions, which metav1.ListOptions) error
}

// Services have a status of their own, which Update leaves as it is.
type Services interface {
	Objects[*corev1.Service, *corev1.ServiceList]
	UpdateStatus(ctx context.Context, service *corev1.Service, o metav1.UpdateOptions) (*corev1.Service, error)
}
