// Package clientset makes the API that package config watches from client-go's clientset. It is a package of its own, since importing it
// links all of the Kubernetes API.
package clientset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/watchlist"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// API reads by a clientset, which may be client-go's fake.
func API(client kubernetes.Interface) config.API {
	return config.API{
		Services:       client.CoreV1().Services(metav1.NamespaceAll),
		EndpointSlices: client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll),
		Nodes:          client.CoreV1().Nodes(),
		ServiceCIDRs:   client.NetworkingV1().ServiceCIDRs(),
		Groups:         client.Discovery(),
		NoWatchList:    watchlist.DoesClientNotSupportWatchListSemantics(client),
	}
}
