package provenance

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestServiceProxyOfANode(t *testing.T) {
	iptables := []string{"KUBE-SERVICES", "KUBE-SVC-AAAAAAAAAAAAAAAA", "KUBE-POSTROUTING"}
	for _, row := range []struct {
		name  string
		signs Signs
		want  string
		seen  string
		mode  string
	}{
		{"kube-proxy in mode iptables", Signs{Chains: iptables, Devices: []string{"lo", "eth0"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", ModeIPTables},
		{"kube-proxy in mode nftables, beside the kubelet's chains",
			Signs{Tables: []string{"inet fw", "ip kube-proxy"}, Chains: []string{"KUBE-FIREWALL"}},
			"kube-proxy in mode nftables", "table ip kube-proxy of nftables", ModeNFTables},
		{"of IPv6 alone", Signs{Tables: []string{"ip6 kube-proxy"}}, "kube-proxy in mode nftables", "table ip6 kube-proxy of nftables",
			ModeNFTables},
		{"IPVS, which has KUBE-SERVICES too",
			Signs{Chains: []string{"KUBE-SERVICES"}, Devices: []string{"kube-ipvs0"}, Sets: []string{"KUBE-CLUSTER-IP"}},
			"kube-proxy in mode ipvs", "device kube-ipvs0", ""},
		{"IPVS without devices", Signs{Sets: []string{"KUBE-CLUSTER-IP"}}, "kube-proxy in mode ipvs", "set KUBE-CLUSTER-IP", ""},
		{"Cilium alone", Signs{Chains: []string{"CILIUM_FORWARD"}, Devices: []string{"cilium_host", "lxc1234"}},
			"Cilium in the place of kube-proxy", "device cilium_host, and no chain of kube-proxy for a service", ""},
		{"Cilium beside kube-proxy", Signs{Chains: iptables, Devices: []string{"cilium_host"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", ModeIPTables},
		{"Calico's eBPF", Signs{Chains: []string{"cali-FORWARD"}, Devices: []string{"bpfin.cali"}},
			"Calico's eBPF data plane", "device bpfin.cali, and no chain of kube-proxy for a service", ""},
		{"kube-router", Signs{Chains: []string{"KUBE-ROUTER-SERVICES"}, Devices: []string{"kube-dummy-if"}}, "kube-router's service proxy",
			"device kube-dummy-if", ""},
		{"OVN-Kubernetes", Signs{Devices: []string{"ovn-k8s-mp0"}}, "OVN-Kubernetes",
			"device ovn-k8s-mp0, and no chain of kube-proxy for a service", ""},
		{"nothing", Signs{Devices: []string{"eth0"}}, "", "no sign of a service proxy that is known", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := ServiceProxy{row.want, row.seen, row.mode != "" || row.want == "", row.mode}
			assert.Equal(t, want, ServiceProxyOf(row.signs, ""))
			assert.Equal(t, want, ServiceProxyOf(row.signs, "ipvs"))
			_, left := Leftovers(row.signs, want)
			assert.False(t, left)
		})
	}
}

// Of a node with rules of both modes the configuration says which of them kube-proxy writes.
func TestServiceProxyOfANodeWithBothModes(t *testing.T) {
	both := Signs{Tables: []string{"ip kube-proxy"}, Chains: []string{"KUBE-SERVICES", "KUBE-SVC-AAAAAAAAAAAAAAAA"}}
	for configured, want := range map[string]string{"": ModeNFTables, "ipvs": ModeNFTables, ModeNFTables: ModeNFTables,
		ModeIPTables: ModeIPTables} {
		found := ServiceProxyOf(both, configured)
		assert.Equal(t, want, found.Mode, configured)
		left, some := Leftovers(both, found)
		assert.True(t, some)
		assert.NotEqual(t, want, left.Mode)
	}
	both.Devices = []string{"kube-ipvs0"}
	assert.Equal(t, "kube-proxy in mode nftables", ServiceProxyOf(both, "").Name)
	both.Tables = nil
	assert.Equal(t, "kube-proxy in mode ipvs", ServiceProxyOf(both, "").Name)
	assert.Equal(t, "kube-proxy in mode iptables", ServiceProxyOf(both, ModeIPTables).Name, "IPVS has no chains for ports of services")
	both.Chains = both.Chains[:1]
	assert.Equal(t, "kube-proxy in mode ipvs", ServiceProxyOf(both, ModeIPTables).Name, "IPVS has KUBE-SERVICES too")
}

func TestWhatIPVSHasMade(t *testing.T) {
	s := Signs{
		Chains:  []string{"KUBE-SERVICES", "KUBE-NODE-PORT", "KUBE-NODE-PORT", "KUBE-IPVS-FILTER"},
		Devices: []string{"eth0", "kube-ipvs0", "kube-dummy-if"},
		Sets:    []string{"KUBE-6-CLUSTER-IP", "KUBE-NODE-PORT-TCP", "KUBE-SRC-AAAA", "mine"},
	}
	assert.Equal(t, Signs{
		Chains: []string{"KUBE-NODE-PORT", "KUBE-IPVS-FILTER"}, Devices: []string{"kube-ipvs0"},
		Sets: []string{"KUBE-6-CLUSTER-IP", "KUBE-NODE-PORT-TCP"},
	}, s.OfIPVS())
	assert.True(t, IsOfFormerVersion("KUBE-XLB-AAAAAAAAAAAAAAAA"))
	assert.False(t, IsOfFormerVersion("KUBE-EXT-AAAAAAAAAAAAAAAA"))
}
