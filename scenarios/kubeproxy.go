package scenarios

import (
	"net/netip"

	"go.yaml.in/yaml/v3"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// KubeProxy is a part of a KubeProxyConfiguration, to be laid over defaults.
type KubeProxy struct {
	file string
	node *yaml.Node
}

// UnmarshalDocument checks the fields and keeps them.
func (k *KubeProxy) UnmarshalDocument(d *document.Decoder, n *yaml.Node) {
	manifest.DecodeKubeProxyConfiguration(d, n, &kubeproxyconfig.KubeProxyConfiguration{})
	k.file, k.node = d.File(), n
}

// over lays the fields over a configuration. They were checked when they were read.
func (k KubeProxy) over(config *kubeproxyconfig.KubeProxyConfiguration) {
	if k.node != nil {
		document.NewDecoder(k.file).Decode(k.node, config)
	}
}

func (r *resolver) configs(common KubeProxy) {
	r.cluster.Configs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for _, node := range r.cluster.Nodes {
		config := &kubeproxyconfig.KubeProxyConfiguration{
			Mode:             "iptables",
			HostnameOverride: node.Name,
			ClusterCIDR:      r.cluster.podRange(),
		}
		common.over(config)
		node.KubeProxy.over(config)
		r.cluster.Configs[node.Name] = config
	}
}

// podRange covers the podCIDRs of all nodes: one prefix for each family.
func (c *Cluster) podRange() string {
	var out string
	for _, usual := range []string{defaultPods4, defaultPods6} {
		cover := netip.MustParsePrefix(usual)
		found := false
		for _, node := range c.Nodes {
			for _, cidr := range node.PodCIDRs {
				if cidr.Addr().Is6() != cover.Addr().Is6() {
					continue
				}
				if !found && (!cover.Contains(cidr.Addr()) || cover.Bits() > cidr.Bits()) {
					cover = cidr
				}
				found = true
				cover = widen(cover, cidr)
			}
		}
		if found && out != "" {
			out += ","
		}
		if found {
			out += cover.Masked().String()
		}
	}
	return out
}

// widen is the smallest prefix that holds both.
func widen(a, b netip.Prefix) netip.Prefix {
	bits := min(a.Bits(), b.Bits())
	for ; bits > 0; bits-- {
		if netip.PrefixFrom(a.Addr(), bits).Contains(b.Addr()) {
			break
		}
	}
	return netip.PrefixFrom(a.Addr(), bits).Masked()
}
