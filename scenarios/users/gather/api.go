package gather

import (
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	discovery "k8s.io/client-go/kubernetes/typed/discovery/v1"
	networking "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
)

// API is the part of a cluster's API that gathering uses.
type API struct {
	Core          core.CoreV1Interface
	Discovery     discovery.DiscoveryV1Interface
	Networking    networking.NetworkingV1Interface
	Authorization authorization.AuthorizationV1Interface
}

// NewAPI reaches the API server that a configuration names.
func NewAPI(config *rest.Config) (*API, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = 50, 100 // a page or a pod's state at a time; the server's own fairness bounds the rest
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a := &API{}
	if a.Core, err = core.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if a.Discovery, err = discovery.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if a.Networking, err = networking.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	a.Authorization, err = authorization.NewForConfigAndClient(config, client)
	return a, err
}
