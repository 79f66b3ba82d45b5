package explain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

func TestServiceProxyOfANode(t *testing.T) {
	iptables := []string{"KUBE-SERVICES", "KUBE-SVC-AAAAAAAAAAAAAAAA", "KUBE-POSTROUTING"}
	for _, row := range []struct {
		name  string
		signs provenance.Signs
		want  string
		seen  string
		mode  string
	}{
		{"kube-proxy in mode iptables", provenance.Signs{Chains: iptables, Devices: []string{"lo", "eth0"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", provenance.ModeIPTables},
		{"kube-proxy in mode nftables, beside the kubelet's chains",
			provenance.Signs{Tables: []string{"inet fw", "ip kube-proxy"}, Chains: []string{"KUBE-FIREWALL"}},
			"kube-proxy in mode nftables", "table ip kube-proxy of nftables", provenance.ModeNFTables},
		{"of IPv6 alone", provenance.Signs{Tables: []string{"ip6 kube-proxy"}}, "kube-proxy in mode nftables", "table ip6 kube-proxy of nftables",
			provenance.ModeNFTables},
		{"IPVS, which has KUBE-SERVICES too",
			provenance.Signs{Chains: []string{"KUBE-SERVICES"}, Devices: []string{"kube-ipvs0"}, Sets: []string{"KUBE-CLUSTER-IP"}},
			"kube-proxy in mode ipvs", "device kube-ipvs0", ""},
		{"IPVS without devices", provenance.Signs{Sets: []string{"KUBE-CLUSTER-IP"}}, "kube-proxy in mode ipvs", "set KUBE-CLUSTER-IP", ""},
		{"Cilium alone", provenance.Signs{Chains: []string{"CILIUM_FORWARD"}, Devices: []string{"cilium_host", "lxc1234"}},
			"Cilium in the place of kube-proxy", "device cilium_host, and no chain of kube-proxy for a service", ""},
		{"Cilium beside kube-proxy", provenance.Signs{Chains: iptables, Devices: []string{"cilium_host"}}, "kube-proxy in mode iptables",
			"chain KUBE-SERVICES", provenance.ModeIPTables},
		{"Calico's eBPF", provenance.Signs{Chains: []string{"cali-FORWARD"}, Devices: []string{"bpfin.cali"}},
			"Calico's eBPF data plane", "device bpfin.cali, and no chain of kube-proxy for a service", ""},
		{"kube-router", provenance.Signs{Chains: []string{"KUBE-ROUTER-SERVICES"}, Devices: []string{"kube-dummy-if"}},
			"kube-router's service proxy", "device kube-dummy-if", ""},
		{"OVN-Kubernetes", provenance.Signs{Devices: []string{"ovn-k8s-mp0"}}, "OVN-Kubernetes",
			"device ovn-k8s-mp0, and no chain of kube-proxy for a service", ""},
		{"nothing", provenance.Signs{Devices: []string{"eth0"}}, "", "no sign of a service proxy that is known", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := provenance.ServiceProxy{Name: row.want, Seen: row.seen, InRules: row.mode != "" || row.want == "", Mode: row.mode}
			assert.Equal(t, want, provenance.ServiceProxyOf(row.signs, ""))
			assert.Equal(t, want, provenance.ServiceProxyOf(row.signs, "ipvs"))
			_, left := provenance.Leftovers(row.signs, want)
			assert.False(t, left)
		})
	}
}

// Of a node with rules of both modes the configuration says which of them kube-proxy writes.
func TestServiceProxyOfANodeWithBothModes(t *testing.T) {
	both := provenance.Signs{Tables: []string{"ip kube-proxy"}, Chains: []string{"KUBE-SERVICES", "KUBE-SVC-AAAAAAAAAAAAAAAA"}}
	for configured, want := range map[string]string{
		"": provenance.ModeNFTables, "ipvs": provenance.ModeNFTables,
		provenance.ModeNFTables: provenance.ModeNFTables, provenance.ModeIPTables: provenance.ModeIPTables,
	} {
		found := provenance.ServiceProxyOf(both, configured)
		assert.Equal(t, want, found.Mode, configured)
		left, some := provenance.Leftovers(both, found)
		assert.True(t, some)
		assert.NotEqual(t, want, left.Mode)
	}
	both.Devices = []string{"kube-ipvs0"}
	assert.Equal(t, "kube-proxy in mode nftables", provenance.ServiceProxyOf(both, "").Name)
	both.Tables = nil
	assert.Equal(t, "kube-proxy in mode ipvs", provenance.ServiceProxyOf(both, "").Name)
	assert.Equal(t, "kube-proxy in mode iptables", provenance.ServiceProxyOf(both, provenance.ModeIPTables).Name,
		"IPVS has no chains for ports of services")
	both.Chains = both.Chains[:1]
	assert.Equal(t, "kube-proxy in mode ipvs", provenance.ServiceProxyOf(both, provenance.ModeIPTables).Name, "IPVS has KUBE-SERVICES too")
}

func TestWhatIPVSHasMade(t *testing.T) {
	s := provenance.Signs{
		Chains:  []string{"KUBE-SERVICES", "KUBE-NODE-PORT", "KUBE-NODE-PORT", "KUBE-IPVS-FILTER"},
		Devices: []string{"eth0", "kube-ipvs0", "kube-dummy-if"},
		Sets:    []string{"KUBE-6-CLUSTER-IP", "KUBE-NODE-PORT-TCP", "KUBE-SRC-AAAA", "mine"},
	}
	assert.Equal(t, provenance.Signs{
		Chains: []string{"KUBE-NODE-PORT", "KUBE-IPVS-FILTER"}, Devices: []string{"kube-ipvs0"},
		Sets: []string{"KUBE-6-CLUSTER-IP", "KUBE-NODE-PORT-TCP"},
	}, s.OfIPVS())
	assert.True(t, provenance.IsOfFormerVersion("KUBE-XLB-AAAAAAAAAAAAAAAA"))
	assert.False(t, provenance.IsOfFormerVersion("KUBE-EXT-AAAAAAAAAAAAAAAA"))
}
