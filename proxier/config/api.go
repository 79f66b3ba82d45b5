package config

import (
	"context"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// API is the part of the Kubernetes API that a proxy watches. Package clientset makes one of client-go's clientset, whose typed clients are
// the readers. A program that gives other readers does not link the clientset, which has every group of the API.
type API struct {
	Services       Reader[*v1.ServiceList]
	EndpointSlices Reader[*discovery.EndpointSliceList]
	Nodes          Reader[*v1.NodeList]
	// ServiceCIDRs and Groups are for WatchServiceCIDRs alone.
	ServiceCIDRs Reader[*networking.ServiceCIDRList]
	Groups       Groups
	// NoWatchList says that a watch cannot begin with the objects that are there (KEP 3157), as those of client-go's fakes cannot. Informers
	// would wait for ever.
	NoWatchList bool
}

// Reader lists and watches the objects of one kind in all namespaces.
type Reader[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Groups says which resources a group of the API has. client-go's discovery client does.
type Groups interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// IsWatchListSemanticsUnSupported answers client-go's reflectors.
func (a API) IsWatchListSemanticsUnSupported() bool { return a.NoWatchList }
