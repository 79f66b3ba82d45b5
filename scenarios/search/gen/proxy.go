package gen

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// fields are fields of a KubeProxyConfiguration by their paths, such as iptables.masqueradeAll.
type fields map[string]any

// settings chooses configurations of kube-proxy.
type settings struct {
	mixture
	cluster *cluster
	chosen  fields // those of every node's kube-proxy at first
	primary bool   // one of them has node ports at the node's own addresses, as they are when kube-proxy starts
}

// kubeProxy chooses the configuration of every node's kube-proxy.
func (s *settings) kubeProxy() scenarios.KubeProxy {
	f := fields{}
	if s.options.NFTables {
		f["mode"] = string(manifest.ModeNFTables)
	}
	if s.options.Modes && s.in(1, 2) {
		f["mode"] = string(manifest.ModeNFTables)
	}
	if s.has.Has(DetectLocal) {
		s.detectLocal(f)
	}
	if s.has.Has(MasqueradeAll) && s.in(1, 2) {
		f[s.ofMode("masqueradeAll")] = true
	}
	if s.has.Has(MasqueradeBit) {
		f[s.ofMode("masqueradeBit")] = pick(s.draw, 0, 15, 31)
	}
	if s.has.Has(NoLocalhostNodePorts) && !s.options.NFTables {
		f["iptables.localhostNodePorts"] = false
	}
	if s.has.Has(NodePortAddresses) {
		f["nodePortAddresses"] = s.nodePortAddresses()
	} else {
		s.primary = s.options.NFTables || s.options.Modes // what mode nftables does if it is not told
	}
	if s.has.Has(Time) && s.in(1, 6) {
		f[s.ofMode("syncPeriod")] = pick(s.draw, "10s", "5m")
	}
	if s.has.Has(TCPLiberal) && s.in(1, 2) {
		f["conntrack.tcpBeLiberal"] = true
	}
	s.chosen = f
	return asKubeProxy(f)
}

// other chooses one setting anew.
func (s *settings) other() scenarios.KubeProxy {
	f := fields{}
	switch s.below(4) {
	case 0:
		f[s.ofMode("masqueradeAll")] = s.in(1, 2)
	case 1:
		if served := s.in(1, 2); !s.options.NFTables {
			f["iptables.localhostNodePorts"] = served
		}
	case 2:
		f[s.ofMode("masqueradeBit")] = pick(s.draw, 14, 15)
	case 3:
		f["nodePortAddresses"] = s.nodePortAddresses()
	}
	return asKubeProxy(f)
}

// otherMode chooses a mode anew, for a proxier that starts.
func (s *settings) otherMode() scenarios.KubeProxy {
	return asKubeProxy(fields{"mode": string(pick(s.draw, manifest.ModeIPTables, manifest.ModeNFTables))})
}

// ofMode is the path of a field that each mode has in a section of its own.
func (s *settings) ofMode(field string) string {
	if s.options.NFTables {
		return "nftables." + field
	}
	return "iptables." + field
}

// asKubeProxy is a part of a configuration as scenarios keeps it.
func asKubeProxy(f fields) scenarios.KubeProxy {
	k, err := scenarios.NewKubeProxy(f)
	if err != nil {
		panic("gen: a configuration that is none: " + err.Error())
	}
	return k
}

// detectLocal chooses how traffic of the node's own pods is recognised.
func (s *settings) detectLocal(f fields) {
	switch s.below(5) {
	case 0:
		f["detectLocalMode"] = "ClusterCIDR"
	case 1: // not at all
		f["clusterCIDR"] = ""
	case 2:
		f["detectLocalMode"], f["clusterCIDR"] = "NodeCIDR", ""
	case 3:
		f["detectLocalMode"] = "InterfaceNamePrefix"
		f["detectLocal.interfaceNamePrefix"] = "veth"
	default: // as on a node whose pods are all behind one bridge; here they are behind one device each
		f["detectLocalMode"] = "BridgeInterface"
		f["detectLocal.bridgeInterface"] = "veth1"
	}
}

// nodePortAddresses chooses the addresses on which node ports are open.
func (s *settings) nodePortAddresses() []string {
	v4 := [][]string{{"192.168.0.0/24"}, {"192.168.0.2/32"}, {"primary"}, {"127.0.0.0/8"}, {"192.168.1.0/24", "127.0.0.1/32"},
		{"127.0.0.1/32"}, {"96.0.0.0/3"}, {"0.0.0.0/0"}, {"10.99.0.0/16"}}
	v6 := [][]string{{"2001:db8::/64"}, {"2001:db8::2/128"}, {"primary"}, {"::1/128"}, {"2001:db8:1::/64", "::1/128"}, {"::1/128"}, {"::/3"},
		{"::/0"}, {"fd00:99::/64"}}
	if s.options.OldObjects { // ranges that hold bits beyond their length, and one another
		v4, v6 = append(v4, []string{"192.168.1.77/24"}, []string{"192.168.0.0/16", "192.168.0.0/24"}), append(v6, []string{"2001:db8:1::77/64"})
	}
	var out []string
	for _, family := range s.cluster.families {
		list := v4
		if family == corev1.IPv6Protocol {
			list = v6
		}
		if s.options.OldObjects && len(s.cluster.families) > 1 && s.in(1, 4) {
			continue // of this family all are open
		}
		chosen := pick(s.draw, list...)
		if chosen[0] == "primary" { // stands alone
			s.primary = true
			return []string{"primary"}
		}
		out = append(out, chosen...)
	}
	return out
}
