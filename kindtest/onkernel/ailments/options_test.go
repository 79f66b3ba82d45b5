package ailments

import (
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Options are of what kind a ward is.
type Options struct {
	Layout   Layout
	Dialect  netfilter.Dialect
	Families Families
	// Configure changes the configuration of the kube-proxies; nil: the pods' range is their clusterCIDR, and the rest is kube-proxy's
	// default.
	Configure func(*kubeproxyconfig.KubeProxyConfiguration)
	// Modes are the modes of nodes whose kube-proxy runs in another one than Configure says.
	Modes map[string]string
}
