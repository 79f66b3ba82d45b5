package gather

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/chainwalk/chainwalk/internal/restclient"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// pageSize is how many objects the API server is asked for at once.
const pageSize = 500

// listing is a kind of objects that is read.
type listing struct {
	right Right
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
}

// page lets the method List of a client be called for objects of any kind. Of each page no more is kept than is needed.
func page[T runtime.Object](list func(context.Context, metav1.ListOptions) (T, error),
) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := list(ctx, o)
		if err != nil {
			return nil, err
		}
		return page, meta.EachListItem(page, func(o runtime.Object) error {
			slim(o)
			return nil
		})
	}
}

// listings are the kinds of objects in the order in which they are read. Slices come after services, and pods last: what refers to an
// object is then not older than it.
func (a *API) listings() []listing {
	const all = metav1.NamespaceAll
	core := corev1.SchemeGroupVersion.WithResource
	lists := map[string]func(context.Context, metav1.ListOptions) (runtime.Object, error){
		"nodes":      page(restclient.Objects[corev1.Node, corev1.NodeList](a.server, core("nodes"), all).List),
		"services":   page(restclient.Objects[corev1.Service, corev1.ServiceList](a.server, core("services"), all).List),
		"pods":       page(a.pods(all).List),
		"namespaces": page(restclient.Objects[corev1.Namespace, corev1.NamespaceList](a.server, core("namespaces"), all).List),
		"endpointslices": page(restclient.Objects[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](a.server,
			discoveryv1.SchemeGroupVersion.WithResource("endpointslices"), all).List),
		"networkpolicies": page(restclient.Objects[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList](a.server,
			networkingv1.SchemeGroupVersion.WithResource("networkpolicies"), all).List),
	}
	var out []listing
	for _, r := range Rights("") {
		if list := lists[r.Resource]; r.Verb == "list" && list != nil {
			out = append(out, listing{r, list})
		}
	}
	return out
}

// objects reads the cluster's objects, page by page, but for those that may not be read.
func (g *Gatherer) objects(ctx context.Context, lacking []Right) ([]manifest.Object, error) {
	var out []manifest.Object
	for _, l := range g.API.listings() {
		if slices.Contains(lacking, l.right) {
			continue
		}
		pages := pager.New(l.list) // it asks for the whole list where the server has forgotten the rest of one that was begun
		pages.PageSize = pageSize
		list, _, err := pages.List(ctx, metav1.ListOptions{})
		if err == nil {
			err = meta.EachListItem(list, func(o runtime.Object) error {
				object, err := manifest.New(o)
				out = append(out, object)
				return err
			})
		}
		switch {
		case isForbidden(err):
			return nil, g.asMissing(err, l.right)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", l.right, err)
		}
	}
	return out, nil
}

// configuration is the ConfigMap of kube-proxy with no more than its configuration; nil if there is none.
func (g *Gatherer) configuration(ctx context.Context) (*manifest.Object, error) {
	found, err := g.API.configMap(ctx, proxyNamespace, proxyConfig)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get configmaps %s/%s: %w", proxyNamespace, proxyConfig, err)
	}
	const key = "config.conf" // as kubeadm names it
	object, err := manifest.New(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: found.Name},
		Data:       map[string]string{key: found.Data[key]},
	})
	return &object, err
}

// slim drops what decides about no packet and what nobody wants to see in a file: the fields of managed fields (their times say when an
// object changed), what kubectl applied last, and of pods the environment, commands, mounts and volumes.
func slim(o runtime.Object) {
	fields, ok := o.(metav1.Object)
	if !ok {
		return
	}
	managed := fields.GetManagedFields()
	for i := range managed {
		managed[i].FieldsV1 = nil
	}
	if annotations := fields.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	pod.Spec.Volumes, pod.Spec.ImagePullSecrets = nil, nil
	pod.Spec.EphemeralContainers = nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			// A restarting init container is a sidecar, and has ports and probes as the others have.
			containers[i] = corev1.Container{Name: c.Name, Image: c.Image, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		}
	}
}
