package apiclient

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/internal/restclient"
)

// Server is an API server. It implements Client.
type Server struct {
	*restclient.Server
}

var _ Client = Server{}

// New returns a client of the API server that a configuration names. It asks the server nothing yet.
func New(to *rest.Config) (Server, error) {
	server, err := restclient.New(to, restclient.Kinds{
		corev1.SchemeGroupVersion: {&corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Event{}, &corev1.EventList{}, &corev1.Namespace{},
			&corev1.NamespaceList{}, &corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{}, &corev1.PodLogOptions{},
			&corev1.ServiceAccount{}, &corev1.ServiceAccountList{}, &corev1.Service{}, &corev1.ServiceList{}},
		appsv1.SchemeGroupVersion:       {&appsv1.DaemonSet{}, &appsv1.DaemonSetList{}, &appsv1.Deployment{}, &appsv1.DeploymentList{}},
		discoveryv1.SchemeGroupVersion:  {&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		networkingv1.SchemeGroupVersion: {&networkingv1.ServiceCIDR{}, &networkingv1.ServiceCIDRList{}},
		rbacv1.SchemeGroupVersion:       {&rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{}},
	})
	return Server{server}, err
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// ConfigMaps implements Client.
func (s Server) ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return restclient.Objects[corev1.ConfigMap, corev1.ConfigMapList](s.Server, core("configmaps"), namespace)
}

// Events implements Client.
func (s Server) Events(namespace string) Objects[*corev1.Event, *corev1.EventList] {
	return restclient.Objects[corev1.Event, corev1.EventList](s.Server, core("events"), namespace)
}

// Namespaces implements Client.
func (s Server) Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return restclient.Objects[corev1.Namespace, corev1.NamespaceList](s.Server, core("namespaces"), metav1.NamespaceNone)
}

// Nodes implements Client.
func (s Server) Nodes() Objects[*corev1.Node, *corev1.NodeList] {
	return restclient.Objects[corev1.Node, corev1.NodeList](s.Server, core("nodes"), metav1.NamespaceNone)
}

// Pods implements Client.
func (s Server) Pods(namespace string) Pods {
	return restclient.Objects[corev1.Pod, corev1.PodList](s.Server, core("pods"), namespace)
}

// ServiceAccounts implements Client.
func (s Server) ServiceAccounts(namespace string) Objects[*corev1.ServiceAccount, *corev1.ServiceAccountList] {
	return restclient.Objects[corev1.ServiceAccount, corev1.ServiceAccountList](s.Server, core("serviceaccounts"), namespace)
}

// Services implements Client.
func (s Server) Services(namespace string) Services {
	return restclient.Objects[corev1.Service, corev1.ServiceList](s.Server, core("services"), namespace)
}

// DaemonSets implements Client.
func (s Server) DaemonSets(namespace string) Objects[*appsv1.DaemonSet, *appsv1.DaemonSetList] {
	return restclient.Objects[appsv1.DaemonSet, appsv1.DaemonSetList](s.Server,
		appsv1.SchemeGroupVersion.WithResource("daemonsets"), namespace)
}

// Deployments implements Client.
func (s Server) Deployments(namespace string) Objects[*appsv1.Deployment, *appsv1.DeploymentList] {
	return restclient.Objects[appsv1.Deployment, appsv1.DeploymentList](s.Server,
		appsv1.SchemeGroupVersion.WithResource("deployments"), namespace)
}

// EndpointSlices implements Client.
func (s Server) EndpointSlices(namespace string) Objects[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList] {
	return restclient.Objects[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](s.Server,
		discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), namespace)
}

// ServiceCIDRs implements Client.
func (s Server) ServiceCIDRs() Objects[*networkingv1.ServiceCIDR, *networkingv1.ServiceCIDRList] {
	return restclient.Objects[networkingv1.ServiceCIDR, networkingv1.ServiceCIDRList](s.Server,
		networkingv1.SchemeGroupVersion.WithResource("servicecidrs"), metav1.NamespaceNone)
}

// ClusterRoleBindings implements Client.
func (s Server) ClusterRoleBindings() Objects[*rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBindingList] {
	return restclient.Objects[rbacv1.ClusterRoleBinding, rbacv1.ClusterRoleBindingList](s.Server,
		rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), metav1.NamespaceNone)
}

// Logs implements Client.
func (s Server) Logs(ctx context.Context, namespace, pod string) ([]byte, error) {
	return s.Group(corev1.SchemeGroupVersion).Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").
		VersionedParams(&corev1.PodLogOptions{}, s.Parameters()).DoRaw(ctx)
}
