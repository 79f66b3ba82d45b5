package manifest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

// The modes of kube-proxy that a configuration may name here.
const (
	ModeIPTables kubeproxyconfig.ProxyMode = "iptables"
	ModeNFTables kubeproxyconfig.ProxyMode = "nftables"
)

// InMode is a copy of a configuration with another mode. What it says of masquerading and of sync periods for the mode that it had, it
// says for the other one, unless it says something else of that one.
func InMode(config *kubeproxyconfig.KubeProxyConfiguration, mode kubeproxyconfig.ProxyMode) *kubeproxyconfig.KubeProxyConfiguration {
	out := config.DeepCopy()
	if out.Mode == mode {
		return out
	}
	out.Mode = mode
	from, to := iptablesSection(out), nftablesSection(out)
	if mode == ModeIPTables {
		from, to = to, from
	}
	*to.masqueradeAll = *to.masqueradeAll || *from.masqueradeAll
	if *to.masqueradeBit == nil {
		*to.masqueradeBit = *from.masqueradeBit
	}
	if to.syncPeriod.Duration == 0 {
		*to.syncPeriod = *from.syncPeriod
	}
	if to.minSyncPeriod.Duration == 0 {
		*to.minSyncPeriod = *from.minSyncPeriod
	}
	return out
}

// section are the fields that the section of either mode has.
type section struct {
	masqueradeAll             *bool
	masqueradeBit             **int32
	syncPeriod, minSyncPeriod *metav1.Duration
}

func iptablesSection(c *kubeproxyconfig.KubeProxyConfiguration) section {
	s := &c.IPTables
	return section{&s.MasqueradeAll, &s.MasqueradeBit, &s.SyncPeriod, &s.MinSyncPeriod}
}

func nftablesSection(c *kubeproxyconfig.KubeProxyConfiguration) section {
	s := &c.NFTables
	return section{&s.MasqueradeAll, &s.MasqueradeBit, &s.SyncPeriod, &s.MinSyncPeriod}
}
