package provenance

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestServiceProxyOfANode(t *testing.T) {
	iptables := []string{"KUBE-SERVICES", "KUBE-SVC-AAAAAAAAAAAAAAAA", "KUBE-POSTROUTING"}
	for _, row := range []struct {
		name    string
		signs   Signs
		want    string
		seen    string
		inRules bool
	}{
		{"kube-proxy in mode iptables", Signs{Chains: iptables, Devices: []string{"lo", "eth0"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", true},
		{"kube-proxy in mode nftables, beside the kubelet's chains",
			Signs{Tables: []string{"inet fw", "ip kube-proxy"}, Chains: []string{"KUBE-FIREWALL"}},
			"kube-proxy in mode nftables", "table ip kube-proxy of nftables", false},
		{"of IPv6 alone", Signs{Tables: []string{"ip6 kube-proxy"}}, "kube-proxy in mode nftables", "table ip6 kube-proxy of nftables", false},
		{"IPVS, which has KUBE-SERVICES too",
			Signs{Chains: []string{"KUBE-SERVICES"}, Devices: []string{"kube-ipvs0"}, Sets: []string{"KUBE-CLUSTER-IP"}},
			"kube-proxy in mode ipvs", "device kube-ipvs0", false},
		{"IPVS without devices", Signs{Sets: []string{"KUBE-CLUSTER-IP"}}, "kube-proxy in mode ipvs", "set KUBE-CLUSTER-IP", false},
		{"Cilium alone", Signs{Chains: []string{"CILIUM_FORWARD"}, Devices: []string{"cilium_host", "lxc1234"}},
			"Cilium in the place of kube-proxy", "device cilium_host, and no chain of kube-proxy for a service", false},
		{"Cilium beside kube-proxy", Signs{Chains: iptables, Devices: []string{"cilium_host"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", true},
		{"Calico's eBPF", Signs{Chains: []string{"cali-FORWARD"}, Devices: []string{"bpfin.cali"}},
			"Calico's eBPF data plane", "device bpfin.cali, and no chain of kube-proxy for a service", false},
		{"kube-router", Signs{Chains: []string{"KUBE-ROUTER-SERVICES"}, Devices: []string{"kube-dummy-if"}}, "kube-router's service proxy",
			"device kube-dummy-if", false},
		{"OVN-Kubernetes", Signs{Devices: []string{"ovn-k8s-mp0"}}, "OVN-Kubernetes",
			"device ovn-k8s-mp0, and no chain of kube-proxy for a service", false},
		{"nothing", Signs{Devices: []string{"eth0"}}, "", "no sign of a service proxy that is known", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, ServiceProxy{row.want, row.seen, row.inRules}, ServiceProxyOf(row.signs))
		})
	}
}
