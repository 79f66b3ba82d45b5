package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
)

// foreignFile is where kubeadm puts the configuration of kube-proxy in its ConfigMap.
const foreignFile = "config.conf"

// foreignConfiguration is the configuration of the kube-proxy that an existing cluster came with, nil if it has none. It is read as kubeadm
// writes it; of one that has its configuration elsewhere nobody could say which scenarios it can be held to.
func foreignConfiguration(ctx context.Context, client apiclient.Client) (*kubeproxy.KubeProxyConfiguration, error) {
	_, err := client.DaemonSets(metav1.NamespaceSystem).Get(ctx, KubeProxy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const want = "want one with a ConfigMap kube-system/" + KubeProxy +
		" as kubeadm makes it, or delete the DaemonSet and leave the proxy to chainwalk"
	file, err := client.ConfigMaps(metav1.NamespaceSystem).Get(ctx, KubeProxy, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("the configuration of the cluster's kube-proxy (%s): %w", want, err)
	}
	text, ok := file.Data[foreignFile]
	if !ok {
		return nil, fmt.Errorf("the configuration of the cluster's kube-proxy: the ConfigMap has no %s (%s)", foreignFile, want)
	}
	c := &kubeproxy.KubeProxyConfiguration{}
	if err := yaml.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("the configuration of the cluster's kube-proxy: %s: %w", foreignFile, err)
	}
	if c.Mode == "" {
		c.Mode = "iptables"
	}
	return c, nil
}

// Foreign is the configuration of the kube-proxy that an existing cluster came with, which Configure, RestartProxy and ReplaceProxy
// refuse to touch; nil if the proxy is one of Config.
func (m *members) Foreign() *kubeproxy.KubeProxyConfiguration { return m.foreign.DeepCopy() }

// Mode is that of the proxy, as in a KubeProxyConfiguration.
func (m *members) Mode() string {
	if m.foreign != nil {
		return string(m.foreign.Mode)
	}
	return m.config.Proxy.Mode
}
