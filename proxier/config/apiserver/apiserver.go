// Package apiserver reads what a proxy watches from an API server, and writes the proxy's events to it, with client-go's generic clients.
// client-go's clientset does the same (package clientset) and has every group of the API: a program that links it is 20 MB larger.
package apiserver

import (
	"context"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/internal/restclient"
	"github.com/chainwalk/chainwalk/proxier/config"
)

// Client reaches an API server.
type Client struct {
	server *restclient.Server
}

// New returns a client for the API server of a configuration, which it does not change. It asks the server nothing yet. All groups share
// the configuration's limit of requests.
func New(to *rest.Config) (*Client, error) {
	server, err := restclient.New(to, restclient.Kinds{
		v1.SchemeGroupVersion:         {&v1.Service{}, &v1.ServiceList{}, &v1.Node{}, &v1.NodeList{}},
		discovery.SchemeGroupVersion:  {&discovery.EndpointSlice{}, &discovery.EndpointSliceList{}},
		eventsv1.SchemeGroupVersion:   {&eventsv1.Event{}},
		networking.SchemeGroupVersion: {&networking.ServiceCIDR{}, &networking.ServiceCIDRList{}},
	})
	if err != nil {
		return nil, err
	}
	return &Client{server}, nil
}

// API is what a proxy watches, in all namespaces.
func (c *Client) API() config.API {
	const all = metav1.NamespaceAll
	return config.API{
		Services: restclient.Objects[v1.Service, v1.ServiceList](c.server, v1.SchemeGroupVersion.WithResource("services"), all),
		EndpointSlices: restclient.Objects[discovery.EndpointSlice, discovery.EndpointSliceList](c.server,
			discovery.SchemeGroupVersion.WithResource("endpointslices"), all),
		Nodes: restclient.Objects[v1.Node, v1.NodeList](c.server, v1.SchemeGroupVersion.WithResource("nodes"), all),
		ServiceCIDRs: restclient.Objects[networking.ServiceCIDR, networking.ServiceCIDRList](c.server,
			networking.SchemeGroupVersion.WithResource("servicecidrs"), all),
		Groups: c,
	}
}

// ServerResourcesForGroupVersion asks for the resources of a version of a group other than the core group. It implements config.Groups.
func (c *Client) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	err := c.server.Group(networking.SchemeGroupVersion).Get().AbsPath("/apis/" + groupVersion).Do(context.Background()).Into(list)
	return list, err
}

// Create writes an event into the namespace that it names. It implements server.EventSink.
func (c *Client) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	events := restclient.Objects[eventsv1.Event, eventsv1.EventList](c.server,
		eventsv1.SchemeGroupVersion.WithResource("events"), event.Namespace)
	return events.Create(ctx, event, metav1.CreateOptions{})
}
