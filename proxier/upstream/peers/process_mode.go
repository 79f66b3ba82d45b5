package peers

import (
	"context"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	utiliptables "k8s.io/kubernetes/pkg/util/iptables"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// newRestoring sets up the proxier of mode iptables, and its monitor.
func (k *process) newRestoring(c *kubeproxyconfig.KubeProxyConfiguration, f *processFamily, family v1.IPFamily) (*kubeFamily, error) {
	programs := newKubeRunner(k.process.Kernel.Exec, utiliptables.Protocol(family))
	look := newKubeRunner(unwatched(k.process.Kernel.Exec), utiliptables.Protocol(family))
	if k.mends.has(SameNotRestored) {
		programs = &sparingTools{Interface: programs, look: look}
	}
	if k.mends.has(ServicesInOrder) {
		programs = orderedTools{programs}
	}
	f.monitor = monitor{programs: programs, look: look, mends: k.mends, reload: func() {
		f.forceFullSync()
		if err := k.sync(family); err != nil && k.mends.has(ReloadTriedAgain) { // which kube-proxy does not look at
			f.proxier.Sync()
		}
	}}
	return k.surroundings(c, f, family, programs).family(family)
}

// native says whether kube-proxy runs in mode nftables.
func (k *process) native() bool {
	return k.process.Configuration.Mode == kubeproxyconfig.ProxyMode(cases.NFTables)
}

// leaveOther removes what the other mode has left, as kube-proxy's server does when it starts. It goes on where that fails, as the server
// does, and where the node has no tools of that mode.
func (k *process) leaveOther() {
	if !k.native() {
		_ = kubenft.CleanupOver(context.Background(), k.process.Kernel.Exec)
		return
	}
	for _, family := range Families {
		cleanup(context.Background(), newKubeRunner(k.process.Kernel.Exec, utiliptables.Protocol(family)))
	}
}

// cleanup is kube-proxy's of mode iptables.
//
//go:linkname cleanup k8s.io/kubernetes/pkg/proxy/iptables.cleanupLeftoversForFamily
func cleanup(ctx context.Context, programs utiliptables.Interface) (failed bool)
