package manifest

import (
	"io"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

const configKind = "KubeProxyConfiguration"

// ReadKubeProxyConfiguration reads one kube-proxy configuration file. The fields
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
	c.oneOf(at("mode"), string(config.Mode), "iptables")
	c.oneOf(at("detectLocalMode"), string(config.DetectLocalMode), "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix")
	if bit := config.IPTables.MasqueradeBit; bit != nil && (*bit < 0 || *bit > 31) {
		c.errorf(at("iptables", "masqueradeBit"), "bit %d is out of range (want 0 to 31)", *bit)
	}
}
