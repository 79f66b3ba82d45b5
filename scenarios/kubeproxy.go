package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
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

// NewKubeProxy is a part of a configuration by the paths of its fields, such as "iptables.masqueradeAll" or "clusterCIDR".
// The values are what JSON has: texts, numbers, truth values, lists and mappings.
func NewKubeProxy(fields map[string]any) (KubeProxy, error) {
	tree := map[string]any{}
	for path, value := range fields {
		at, names := tree, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			if _, ok := at[name].(map[string]any); !ok {
				at[name] = map[string]any{}
			}
			at = at[name].(map[string]any)
		}
		at[names[len(names)-1]] = value
	}
	return kubeProxyOf(tree)
}

// KubeProxyOf is what a configuration says other than the zero value of each field. A pointer to false or to 0 says something, and so
// does an empty clusterCIDR, since a scenario without one has the range of its pods.
func KubeProxyOf(c *kubeproxyconfig.KubeProxyConfiguration) (KubeProxy, error) {
	given, err := fieldsOfConfig(c)
	if err != nil {
		return KubeProxy{}, err
	}
	zero, err := fieldsOfConfig(&kubeproxyconfig.KubeProxyConfiguration{})
	if err != nil {
		return KubeProxy{}, err
	}
	delete(given, "apiVersion")
	delete(given, "kind")
	dropEqual(given, zero)
	given["clusterCIDR"] = c.ClusterCIDR
	return kubeProxyOf(given)
}

// fieldsOfConfig are the fields as JSON has them.
func fieldsOfConfig(c *kubeproxyconfig.KubeProxyConfiguration) (map[string]any, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("kube-proxy configuration: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("kube-proxy configuration: %w", err)
	}
	return fields, nil
}

// dropEqual takes out the fields that others have as well, and lists without an item.
func dropEqual(fields, others map[string]any) {
	for key, value := range fields {
		other := others[key]
		if inner, ok := value.(map[string]any); ok {
			same, _ := other.(map[string]any)
			dropEqual(inner, same)
			if len(inner) == 0 {
				delete(fields, key)
			}
			continue
		}
		if number, ok := value.(float64); ok && number == math.Trunc(number) {
			fields[key] = int64(number) // JSON has one kind of numbers
		}
		if list, ok := value.([]any); reflect.DeepEqual(value, other) || ok && len(list) == 0 {
			delete(fields, key)
		}
	}
}

func kubeProxyOf(tree map[string]any) (KubeProxy, error) {
	text, err := yaml.Marshal(tree)
	if err != nil {
		return KubeProxy{}, fmt.Errorf("kube-proxy configuration: %w", err)
	}
	docs, err := document.Parse("", bytes.NewReader(text))
	if err != nil {
		return KubeProxy{}, fmt.Errorf("kube-proxy configuration: %w", err)
	}
	var k KubeProxy
	d := document.NewDecoder("")
	k.UnmarshalDocument(d, docs[0].Node)
	if err := d.Err(); err != nil {
		return KubeProxy{}, fmt.Errorf("kube-proxy configuration: %w", err)
	}
	return k, nil
}

func (k KubeProxy) spell() (*yaml.Node, error) { return bare(k.node), nil }

// bare is a node without what says how it was written: aliases, comments, styles.
func bare(n *yaml.Node) *yaml.Node {
	n = document.Resolve(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return document.Text(n.Value)
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value}
	for _, child := range n.Content {
		out.Content = append(out.Content, bare(child))
	}
	return out
}

// Over lays the fields over a configuration. They were checked when they were read.
func (k KubeProxy) Over(config *kubeproxyconfig.KubeProxyConfiguration) {
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
		common.Over(config)
		node.KubeProxy.Over(config)
		r.cluster.Configs[node.Name] = config
	}
}

// podRange covers the podCIDRs of all nodes.
func (c *Cluster) podRange() string {
	var cidrs []netip.Prefix
	for i := range c.Nodes {
		cidrs = append(cidrs, c.Nodes[i].PodCIDRs...)
	}
	return PodRange(cidrs)
}

// PodRange is the clusterCIDR that covers podCIDRs, those of all nodes: one prefix for each family, with a comma between, and the usual
// ones if they do.
func PodRange(podCIDRs []netip.Prefix) string {
	var out string
	for _, usual := range []string{defaultPods4, defaultPods6} {
		cover := netip.MustParsePrefix(usual)
		found := false
		for _, cidr := range podCIDRs {
			if cidr.Addr().Is6() != cover.Addr().Is6() {
				continue
			}
			if !found && (!cover.Contains(cidr.Addr()) || cover.Bits() > cidr.Bits()) {
				cover = cidr
			}
			found = true
			cover = widen(cover, cidr)
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
