// Package apiserver reads what a proxy watches from an API server, and writes the proxy's events to it, with client-go's generic clients.
// client-go's clientset does the same (package clientset) and has every group of the API: a program that links it is 20 MB larger.
package apiserver

import (
	"context"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// Client reaches an API server.
type Client struct {
	codec                               runtime.ParameterCodec
	core, discovery, events, networking rest.Interface
}

// New returns a client for the API server of a configuration, which it does not change. It asks the server nothing yet. All groups share
// the configuration's limit of requests.
func New(to *rest.Config) (*Client, error) {
	scheme := knownTypes()
	shared := *to
	if shared.UserAgent == "" {
		shared.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if shared.RateLimiter == nil && shared.QPS > 0 {
		if shared.Burst <= 0 {
			return nil, fmt.Errorf("burst %d: the limit of %v requests a second needs one of 1 or more", shared.Burst, shared.QPS)
		}
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	shared.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, serializer.NewCodecFactory(scheme)).WithoutConversion()
	through, err := rest.HTTPClientFor(&shared)
	if err != nil {
		return nil, err
	}
	c := &Client{codec: runtime.NewParameterCodec(scheme)}
	for _, group := range []struct {
		client  *rest.Interface
		path    string
		version schema.GroupVersion
	}{
		{&c.core, "/api", v1.SchemeGroupVersion},
		{&c.discovery, "/apis", discovery.SchemeGroupVersion},
		{&c.events, "/apis", eventsv1.SchemeGroupVersion},
		{&c.networking, "/apis", networking.SchemeGroupVersion},
	} {
		if *group.client, err = clientOf(shared, through, group.path, group.version); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// clientOf is a client of one version of a group.
func clientOf(shared rest.Config, through *http.Client, path string, version schema.GroupVersion) (rest.Interface, error) {
	shared.APIPath, shared.GroupVersion = path, &version
	return rest.RESTClientForConfigAndClient(&shared, through)
}

// knownTypes are the types that are read or written, and those that every answer may have.
func knownTypes() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, version := range []schema.GroupVersion{discovery.SchemeGroupVersion, eventsv1.SchemeGroupVersion, networking.SchemeGroupVersion} {
		metav1.AddToGroupVersion(scheme, version)
	}
	scheme.AddKnownTypes(v1.SchemeGroupVersion, &v1.Service{}, &v1.ServiceList{}, &v1.Node{}, &v1.NodeList{})
	scheme.AddKnownTypes(discovery.SchemeGroupVersion, &discovery.EndpointSlice{}, &discovery.EndpointSliceList{})
	scheme.AddKnownTypes(eventsv1.SchemeGroupVersion, &eventsv1.Event{})
	scheme.AddKnownTypes(networking.SchemeGroupVersion, &networking.ServiceCIDR{}, &networking.ServiceCIDRList{})
	return scheme
}

// API is what a proxy watches, in all namespaces.
func (c *Client) API() config.API {
	return config.API{
		Services: gentype.NewClientWithList("services", c.core, c.codec, metav1.NamespaceAll,
			func() *v1.Service { return &v1.Service{} }, func() *v1.ServiceList { return &v1.ServiceList{} },
			gentype.PrefersProtobuf[*v1.Service]()),
		EndpointSlices: gentype.NewClientWithList("endpointslices", c.discovery, c.codec, metav1.NamespaceAll,
			func() *discovery.EndpointSlice { return &discovery.EndpointSlice{} },
			func() *discovery.EndpointSliceList { return &discovery.EndpointSliceList{} },
			gentype.PrefersProtobuf[*discovery.EndpointSlice]()),
		Nodes: gentype.NewClientWithList("nodes", c.core, c.codec, metav1.NamespaceAll,
			func() *v1.Node { return &v1.Node{} }, func() *v1.NodeList { return &v1.NodeList{} },
			gentype.PrefersProtobuf[*v1.Node]()),
		ServiceCIDRs: gentype.NewClientWithList("servicecidrs", c.networking, c.codec, metav1.NamespaceAll,
			func() *networking.ServiceCIDR { return &networking.ServiceCIDR{} },
			func() *networking.ServiceCIDRList { return &networking.ServiceCIDRList{} },
			gentype.PrefersProtobuf[*networking.ServiceCIDR]()),
		Groups: c,
	}
}

// ServerResourcesForGroupVersion asks for the resources of a version of a group other than the core group. It implements config.Groups.
func (c *Client) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	err := c.networking.Get().AbsPath("/apis/" + groupVersion).Do(context.Background()).Into(list)
	return list, err
}

// Create writes an event into the namespace that it names. It implements server.EventSink.
func (c *Client) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	events := gentype.NewClient("events", c.events, c.codec, event.Namespace, func() *eventsv1.Event { return &eventsv1.Event{} },
		gentype.PrefersProtobuf[*eventsv1.Event]())
	return events.Create(ctx, event, metav1.CreateOptions{})
}
