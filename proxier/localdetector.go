package proxier

import (
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// LocalDetector recognises traffic of the pods on this node. The zero value
// recognises none: traffic to cluster IPs is then never masqueraded unless
// Config.MasqueradeAll is set, and externalTrafficPolicy Local holds for pods
// too.
type LocalDetector struct {
	traffic model.LocalTraffic
}

// DetectLocalByCIDR takes for pods whatever has a source address in the range.
func DetectLocalByCIDR(pods netip.Prefix) LocalDetector {
	return LocalDetector{model.LocalTraffic{Source: pods.Masked()}}
}

// DetectLocalByBridgeInterface takes for pods whatever comes in on the device.
func DetectLocalByBridgeInterface(name string) LocalDetector {
	return LocalDetector{model.LocalTraffic{Interface: name}}
}

// DetectLocalByInterfaceNamePrefix takes for pods whatever comes in on a
// device whose name begins like this.
func DetectLocalByInterfaceNamePrefix(prefix string) LocalDetector {
	return LocalDetector{model.LocalTraffic{InterfacePrefix: prefix}}
}

// device returns the name of the device, or how it begins.
func (d LocalDetector) device() string {
	return d.traffic.Interface + d.traffic.InterfacePrefix
}

// spellable says whether the device's name can stand in a rule as one word.
func (d LocalDetector) spellable() bool {
	return !strings.ContainsFunc(d.device(), func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' })
}
