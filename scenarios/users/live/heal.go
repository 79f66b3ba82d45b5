package live

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

// heal lets our proxier start and sync over the rules of a host: what is kube-proxy's is then as it should be, and
// what is not is left as it was.
func (c *Cluster) heal(host *packetsim.Host, node *corev1.Node, config *kubeproxyconfig.KubeProxyConfiguration) error {
	own := config.DeepCopy()
	own.HostnameOverride = node.Name
	objects := slices.DeleteFunc(slices.Clone(c.Objects), func(o manifest.Object) bool { // most of them, and kube-proxy asks for none
		_, is := o.Object.(*corev1.Pod)
		return is
	})
	_, err := sim.Rules(sim.RulesInput{Objects: objects, Configuration: own, Node: node, Host: host})
	if err != nil {
		return fmt.Errorf("what kube-proxy would write on %s: %w", node.Name, err)
	}
	return nil
}
