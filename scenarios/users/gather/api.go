package gather

import (
	"context"
	"io"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/chainwalk/chainwalk/internal/restclient"
)

// API is the part of a cluster's API that gathering uses, by clients of package restclient: client-go's typed ones link every group of the
// API.
type API struct {
	server *restclient.Server
}

// NewAPI reaches the API server that a configuration names. It asks the server nothing yet. It speaks JSON, as kubectl does, unless the
// configuration says otherwise: what stands before an API server and filters was made for that.
func NewAPI(config *rest.Config) (*API, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100) // the server's own fairness bounds the rest
	}
	if config.ContentType == "" {
		config.ContentType = runtime.ContentTypeJSON
	}
	server, err := restclient.New(config, restclient.Kinds{
		corev1.SchemeGroupVersion: {&corev1.Node{}, &corev1.NodeList{}, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Pod{},
			&corev1.PodList{}, &corev1.PodLogOptions{}, &corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.ConfigMap{}},
		discoveryv1.SchemeGroupVersion:     {&discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}},
		networkingv1.SchemeGroupVersion:    {&networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{}},
		authorizationv1.SchemeGroupVersion: {&authorizationv1.SelfSubjectAccessReview{}},
	})
	if err != nil {
		return nil, err
	}
	return &API{server}, nil
}

func (a *API) pods(namespace string) *restclient.Client[*corev1.Pod, *corev1.PodList] {
	return restclient.Objects[corev1.Pod, corev1.PodList](a.server, corev1.SchemeGroupVersion.WithResource("pods"), namespace)
}

// log follows what the collector in a pod prints.
func (a *API) log(ctx context.Context, namespace, name string) (io.ReadCloser, error) {
	return a.server.Group(corev1.SchemeGroupVersion).Get().Namespace(namespace).Resource("pods").Name(name).SubResource("log").
		VersionedParams(&corev1.PodLogOptions{Container: container, Follow: true}, a.server.Parameters()).Stream(ctx)
}

func (a *API) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	out := &corev1.ConfigMap{}
	return out, a.server.Group(corev1.SchemeGroupVersion).Get().Namespace(namespace).Resource("configmaps").Name(name).Do(ctx).Into(out)
}

// review asks whether something is allowed.
func (a *API) review(ctx context.Context, of *authorizationv1.ResourceAttributes) (allowed bool, err error) {
	out := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: of}}
	err = a.server.Group(authorizationv1.SchemeGroupVersion).Post().Resource("selfsubjectaccessreviews").Body(out).Do(ctx).Into(out)
	return out.Status.Allowed, err
}
