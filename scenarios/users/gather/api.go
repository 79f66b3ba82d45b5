package gather

import (
	"context"
	"io"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// API is the part of a cluster's API that gathering uses, by client-go's generic clients: its typed ones link every group of the API.
type API struct {
	codec                                      runtime.ParameterCodec
	core, discovery, networking, authorization rest.Interface
}

// NewAPI reaches the API server that a configuration names. It asks the server nothing yet.
func NewAPI(config *rest.Config) (*API, error) {
	scheme := knownTypes()
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100) // the server's own fairness bounds the rest
	}
	config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	through, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a := &API{codec: runtime.NewParameterCodec(scheme)}
	for _, group := range []struct {
		client  *rest.Interface
		path    string
		version schema.GroupVersion
	}{
		{&a.core, "/api", corev1.SchemeGroupVersion},
		{&a.discovery, "/apis", discoveryv1.SchemeGroupVersion},
		{&a.networking, "/apis", networkingv1.SchemeGroupVersion},
		{&a.authorization, "/apis", authorizationv1.SchemeGroupVersion},
	} {
		of := *config
		of.APIPath, of.GroupVersion = group.path, &group.version
		if *group.client, err = rest.RESTClientForConfigAndClient(&of, through); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// knownTypes are the types that are read or written, and those that every answer may have.
func knownTypes() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for version, types := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {&corev1.Node{}, &corev1.NodeList{}, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Pod{}, &corev1.PodList{},
			&corev1.PodLogOptions{}, &corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.ConfigMap{}},
		discoveryv1.SchemeGroupVersion:     {&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		networkingv1.SchemeGroupVersion:    {&networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{}},
		authorizationv1.SchemeGroupVersion: {&authorizationv1.SelfSubjectAccessReview{}},
	} {
		scheme.AddKnownTypes(version, types...)
		metav1.AddToGroupVersion(scheme, version)
	}
	return scheme
}

// object is a pointer to a type of the API.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// list is a pointer to a type of lists.
type list[T any] interface {
	*T
	runtime.Object
}

// clientOf is a client for objects of a resource in a namespace, all if it is empty.
func clientOf[T, L any, O object[T], S list[L]](a *API, to rest.Interface, resource, namespace string) *gentype.ClientWithList[O, S] {
	return gentype.NewClientWithList[O, S](resource, to, a.codec, namespace, func() O { return new(T) }, func() S { return new(L) })
}

func (a *API) pods(namespace string) *gentype.ClientWithList[*corev1.Pod, *corev1.PodList] {
	return clientOf[corev1.Pod, corev1.PodList](a, a.core, "pods", namespace)
}

// log follows what the collector in a pod prints.
func (a *API) log(ctx context.Context, namespace, name string) (io.ReadCloser, error) {
	return a.core.Get().Namespace(namespace).Resource("pods").Name(name).SubResource("log").
		VersionedParams(&corev1.PodLogOptions{Container: container, Follow: true}, a.codec).Stream(ctx)
}

func (a *API) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	out := &corev1.ConfigMap{}
	return out, a.core.Get().Namespace(namespace).Resource("configmaps").Name(name).Do(ctx).Into(out)
}

// review asks whether something is allowed.
func (a *API) review(ctx context.Context, of *authorizationv1.ResourceAttributes) (allowed bool, err error) {
	out := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: of}}
	err = a.authorization.Post().Resource("selfsubjectaccessreviews").Body(out).Do(ctx).Into(out)
	return out.Status.Allowed, err
}
