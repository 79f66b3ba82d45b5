package cluster

import (
	apps "k8s.io/client-go/kubernetes/typed/apps/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	discovery "k8s.io/client-go/kubernetes/typed/discovery/v1"
	networking "k8s.io/client-go/kubernetes/typed/networking/v1"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
)

// Client has the groups of the API that are read and written on a cluster. client-go's clientset is one, the fake one too, and so has every
// other group, of which a program that links it is 10 MB larger.
type Client interface {
	CoreV1() core.CoreV1Interface
	AppsV1() apps.AppsV1Interface
	DiscoveryV1() discovery.DiscoveryV1Interface
	NetworkingV1() networking.NetworkingV1Interface
	RbacV1() rbac.RbacV1Interface
}

// clients are the clients of one API server.
type clients struct {
	core       *core.CoreV1Client
	apps       *apps.AppsV1Client
	discovery  *discovery.DiscoveryV1Client
	networking *networking.NetworkingV1Client
	rbac       *rbac.RbacV1Client
}

// newClient is a client whose groups share their connections. A limit of requests in the configuration would be one for each group.
func newClient(to *rest.Config) (Client, error) {
	through, err := rest.HTTPClientFor(to)
	if err != nil {
		return nil, err
	}
	var c clients
	if c.core, err = core.NewForConfigAndClient(to, through); err != nil {
		return nil, err
	}
	if c.apps, err = apps.NewForConfigAndClient(to, through); err != nil {
		return nil, err
	}
	if c.discovery, err = discovery.NewForConfigAndClient(to, through); err != nil {
		return nil, err
	}
	if c.networking, err = networking.NewForConfigAndClient(to, through); err != nil {
		return nil, err
	}
	if c.rbac, err = rbac.NewForConfigAndClient(to, through); err != nil {
		return nil, err
	}
	return c, nil
}

// CoreV1 implements Client.
func (c clients) CoreV1() core.CoreV1Interface { return c.core }

// AppsV1 implements Client.
func (c clients) AppsV1() apps.AppsV1Interface { return c.apps }

// DiscoveryV1 implements Client.
func (c clients) DiscoveryV1() discovery.DiscoveryV1Interface { return c.discovery }

// NetworkingV1 implements Client.
func (c clients) NetworkingV1() networking.NetworkingV1Interface { return c.networking }

// RbacV1 implements Client.
func (c clients) RbacV1() rbac.RbacV1Interface { return c.rbac }
