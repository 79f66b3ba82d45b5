package anonymise

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// configMap is that of kube-proxy with another configuration; nil for any other ConfigMap.
func (r objectRenamer) configMap(old *corev1.ConfigMap) (runtime.Object, error) {
	object, err := manifest.New(old.DeepCopy())
	if err != nil {
		return nil, err
	}
	config, err := manifest.KubeProxyConfigurationOf([]manifest.Object{object})
	if err != nil || config == nil {
		return nil, err
	}
	other, err := manifest.WithKubeProxyConfiguration(nil, r.config(config))
	if err != nil {
		return nil, err
	}
	return other[0].Object, nil
}

// assumed is a configuration for objects that have none, if the one that is assumed for them would be another one for the new objects: the
// usual range of pods is known by its addresses. Otherwise it is nil.
func (r objectRenamer) assumed(old, other []manifest.Object) (*manifest.Object, error) {
	config, err := manifest.KubeProxyConfigurationOf(old)
	if config != nil || err != nil {
		return nil, err
	}
	want := podRange(old)
	if want == "" {
		return nil, nil
	}
	if want = strings.Join(r.Texts(strings.Split(want, ",")), ","); want == podRange(other) {
		return nil, nil
	}
	made, err := manifest.WithKubeProxyConfiguration(nil, &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: want})
	if err != nil {
		return nil, err
	}
	return &made[0], nil
}

// podRange is the range of the nodes' pods as it is assumed without a configuration.
func podRange(objects []manifest.Object) string {
	var all []netip.Prefix
	for _, node := range manifest.Of[*corev1.Node](objects) {
		for _, text := range append(slices.Clone(node.Spec.PodCIDRs), node.Spec.PodCIDR) {
			if cidr, err := netip.ParsePrefix(text); err == nil {
				all = append(all, cidr)
			}
		}
	}
	return scenarios.PodRange(all)
}

var configType = metav1.TypeMeta{APIVersion: kubeproxyconfig.SchemeGroupVersion.String(), Kind: "KubeProxyConfiguration"}

// Config is another configuration of kube-proxy in the place of one: a new one, with what decides about packets.
func (r *Renamer) Config(old *kubeproxyconfig.KubeProxyConfiguration) *kubeproxyconfig.KubeProxyConfiguration {
	return objectRenamer{r}.config(old)
}

func (r objectRenamer) config(old *kubeproxyconfig.KubeProxyConfiguration) *kubeproxyconfig.KubeProxyConfiguration {
	out := &kubeproxyconfig.KubeProxyConfiguration{
		TypeMeta: configType,
		Mode:     kept(old.Mode, "iptables"), DetectLocalMode: old.DetectLocalMode, NodePortAddresses: r.nodePortAddresses(old.NodePortAddresses),
		IPTables: old.IPTables, Conntrack: old.Conntrack, ConfigSyncPeriod: old.ConfigSyncPeriod,
	}
	if old.ClusterCIDR != "" {
		out.ClusterCIDR = strings.Join(r.Texts(strings.Split(old.ClusterCIDR, ",")), ",")
	}
	if old.BindAddress != "" {
		out.BindAddress = r.Text(old.BindAddress)
	}
	if device := old.DetectLocal.BridgeInterface; device != "" {
		out.DetectLocal.BridgeInterface = r.Device(device)
	}
	if device := old.DetectLocal.InterfaceNamePrefix; device != "" {
		out.DetectLocal.InterfaceNamePrefix = r.Device(device)
	}
	return out
}

// primary says that node ports are served at a node's first address of each family.
const primary = "primary"

func (r objectRenamer) nodePortAddresses(old []string) []string {
	if len(old) == 1 && old[0] == primary {
		return []string{primary}
	}
	return r.Texts(old)
}
