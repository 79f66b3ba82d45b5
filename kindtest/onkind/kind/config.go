package kind

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

// minSyncPeriod is how long proxies wait between two syncs, in place of a second: as little as they can be told.
const minSyncPeriod = time.Millisecond

// flushedSyncPeriod is how often proxies look whether somebody has flushed tables, in place of 30 seconds, where a scenario does so.
const flushedSyncPeriod = time.Second

// config is a node's configuration as the cluster is given it. Bridge is the device that stands for the one that detectLocal names, where
// it is a pod's.
func (m *Mapping) config(node string, c *kubeproxyconfig.KubeProxyConfiguration,
	bridge string) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	out := c.DeepCopy()
	if out.HostnameOverride != "" {
		out.HostnameOverride = m.Node(out.HostnameOverride)
	}
	ranges := strings.Split(out.ClusterCIDR, ",")
	if err := m.rangeTexts(ranges); err != nil {
		return nil, fmt.Errorf("clusterCIDR of %s: %w", node, err)
	}
	out.ClusterCIDR = strings.Join(ranges, ",")
	out.NodePortAddresses = nil
	for _, text := range c.NodePortAddresses {
		out.NodePortAddresses = append(out.NodePortAddresses, m.rangeOrAddresses(text)...)
	}
	if out.DetectLocal.BridgeInterface != "" && bridge != "" {
		out.DetectLocal.BridgeInterface = bridge
	}
	if m.cluster.Flushed {
		out.IPTables.SyncPeriod = metav1.Duration{Duration: flushedSyncPeriod}
	}
	out.IPTables.MinSyncPeriod = metav1.Duration{Duration: minSyncPeriod}
	inWordsOfNFTables(out)
	return out, nil
}

func (m *Mapping) rangeTexts(texts []string) error {
	for i := range texts {
		mapped, err := m.rangeText(texts[i])
		if err != nil {
			return err
		}
		texts[i] = mapped
	}
	return nil
}

// inWordsOfNFTables repeats what mode nftables has in a section of its own, and scenarios say of mode iptables: they mean any proxy.
func inWordsOfNFTables(c *kubeproxyconfig.KubeProxyConfiguration) {
	c.NFTables.MasqueradeAll, c.NFTables.MasqueradeBit = c.IPTables.MasqueradeAll, c.IPTables.MasqueradeBit
	c.NFTables.SyncPeriod, c.NFTables.MinSyncPeriod = c.IPTables.SyncPeriod, c.IPTables.MinSyncPeriod
}
