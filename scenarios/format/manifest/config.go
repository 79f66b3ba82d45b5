package manifest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	sigsyaml "sigs.k8s.io/yaml"
)

const configKind = "KubeProxyConfiguration"

// ReadKubeProxyConfiguration reads one kube-proxy configuration file, or the one in a ConfigMap as kubectl prints it. The fields
// that it does not name keep their zero values: defaults are the proxier's matter.
func ReadKubeProxyConfiguration(name string, r io.Reader) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	docs, err := document.Parse(name, r)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, &document.Error{Position: document.Position{File: name}, Msg: "want one document, a " + configKind}
	}
	d := document.NewDecoder(name)
	var config kubeproxyconfig.KubeProxyConfiguration
	if kind := kindOf(docs[0].Node); kind == "ConfigMap" || strings.HasSuffix(kind, "List") {
		return readConfigMap(d, docs[0].Node)
	}
	if meta, ok := typeMetaOf(d, docs[0].Node, config.TypeMeta); ok {
		if !isConfig(meta.APIVersion, meta.Kind) {
			d.Errorf(docs[0].Node, "this is %s of %s (want %s of %s)", meta.Kind, meta.APIVersion, configKind, kubeproxyconfig.SchemeGroupVersion)
		}
		DecodeKubeProxyConfiguration(d, docs[0].Node, &config)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return &config, nil
}

// kindOf is the word behind kind, "" if there is none.
func kindOf(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "kind" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// The ConfigMap of kube-proxy, as kubeadm makes it.
const (
	configNamespace = "kube-system"
	configName      = "kube-proxy"
	configKey       = "config.conf"
)

// readConfigMap reads the configuration in the only ConfigMap of a document that has one.
func readConfigMap(d *document.Decoder, n *yaml.Node) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	objects := DecodeObjects(d, n)
	if err := d.Err(); err != nil {
		return nil, err
	}
	for _, m := range Of[*corev1.ConfigMap](objects) {
		for _, key := range append([]string{configKey}, slices.Sorted(maps.Keys(m.Data))...) {
			if text := m.Data[key]; strings.Contains(text, configKind) {
				return configIn(m, key)
			}
		}
	}
	d.Errorf(n, "no ConfigMap here holds a %s: give the output of kubectl get configmap -n %s %s -o yaml",
		configKind, configNamespace, configName)
	return nil, d.Err()
}

// configIn is the configuration under a key of a ConfigMap, which errors name.
func configIn(m *corev1.ConfigMap, key string) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	return ReadKubeProxyConfiguration(m.Namespace+"/"+m.Name+":"+key, strings.NewReader(m.Data[key]))
}

// KubeProxyConfigurationOf is the configuration in the ConfigMap kube-system/kube-proxy, nil if the objects have none.
func KubeProxyConfigurationOf(objects []Object) (*kubeproxyconfig.KubeProxyConfiguration, error) {
	for _, m := range Of[*corev1.ConfigMap](objects) {
		if m.Namespace == configNamespace && m.Name == configName && m.Data[configKey] != "" {
			return configIn(m, configKey)
		}
	}
	return nil, nil
}

// WithKubeProxyConfiguration are the objects with another configuration in the ConfigMap kube-system/kube-proxy, which is added if there
// is none. What else that ConfigMap has, it keeps. None of the given objects is changed. It is an error if the configuration cannot be
// written.
func WithKubeProxyConfiguration(objects []Object, config *kubeproxyconfig.KubeProxyConfiguration) ([]Object, error) {
	config = config.DeepCopy()
	config.APIVersion, config.Kind = kubeproxyconfig.SchemeGroupVersion.String(), configKind
	text, err := sigsyaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write a configuration of kube-proxy: %w", err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: configNamespace, Name: configName}}
	at := slices.IndexFunc(objects, func(o Object) bool {
		old, is := o.Object.(*corev1.ConfigMap)
		return is && old.Namespace == configNamespace && old.Name == configName
	})
	if at >= 0 {
		m = objects[at].Object.(*corev1.ConfigMap).DeepCopy()
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[configKey] = string(text)
	object, err := New(m)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(objects)
	if at < 0 {
		return append(out, object), nil
	}
	out[at] = object
	return out, nil
}

func isConfig(apiVersion, kind string) bool {
	return apiVersion == kubeproxyconfig.SchemeGroupVersion.String() && kind == configKind
}

// DecodeKubeProxyConfiguration decodes the fields of a configuration over those that
// config already has, and checks what would otherwise fail late.
func DecodeKubeProxyConfiguration(d *document.Decoder, n *yaml.Node, config *kubeproxyconfig.KubeProxyConfiguration) {
	before := d.Count()
	d.Decode(n, config)
	if d.Count() > before {
		return
	}
	c := check{d: d, node: n}
	c.oneOf(at("mode"), string(config.Mode), string(ModeIPTables), string(ModeNFTables))
	c.oneOf(at("detectLocalMode"), string(config.DetectLocalMode), "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix")
	for name, bit := range map[string]*int32{"iptables": config.IPTables.MasqueradeBit, "nftables": config.NFTables.MasqueradeBit} {
		if bit != nil && (*bit < 0 || *bit > 31) {
			c.errorf(at(name, "masqueradeBit"), "bit %d is out of range (want 0 to 31)", *bit)
		}
	}
}
