package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networking "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/proxier"
)

// said returns what a tool prints.
func said(t *testing.T, tools exec.Interface, argv string) string {
	t.Helper()
	words := strings.Fields(argv)
	output, err := tools.Command(words[0], words[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", argv, output)
	return string(output)
}

// A proxy that is started in another mode removes what the one before has left, once its own rules are there.
func TestRunRemovesTheRulesOfTheOtherMode(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{})
	held := map[kubeproxy.ProxyMode]func() bool{
		proxier.ModeIPTables: func() bool {
			return strings.Contains(said(t, kernel.Exec(), "iptables-save")+said(t, kernel.Exec(), "ip6tables-save"), "KUBE-SERVICES")
		},
		proxier.ModeNFTables: func() bool { return strings.Contains(said(t, kernel.Exec(), "nft list ruleset"), "table ip") },
	}
	for _, modes := range [][2]kubeproxy.ProxyMode{
		{proxier.ModeIPTables, proxier.ModeNFTables}, {proxier.ModeNFTables, proxier.ModeIPTables}, {proxier.ModeIPTables, proxier.ModeNFTables},
	} {
		mode, other := modes[0], modes[1]
		m := newMachine(t)
		m.tools, m.configuration.Mode = kernel.Exec(), mode
		m.start(t)
		m.await(t, string(mode), func() bool { return held[mode]() && !held[other]() })
		_, health := ask(t, http.MethodGet, m.configuration.HealthzBindAddress+"/healthz", "")
		assert.Contains(t, health, `"IPv6"`)
		m.stop()
		require.NoError(t, <-m.done)
	}
}

func TestRunInModeNFTables(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{})
	m := newMachine(t)
	m.tools, m.configuration.Mode = kernel.Exec(), proxier.ModeNFTables
	_, err := m.client.NetworkingV1().ServiceCIDRs().Create(t.Context(), &networking.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networking.ServiceCIDRSpec{CIDRs: []string{"172.30.0.0/16", "fd00:30::/112"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	m.client.Resources = []*metav1.APIResourceList{{
		GroupVersion: networking.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{{Name: "servicecidrs"}},
	}}
	m.start(t)
	for _, rule := range []string{
		`ip daddr != @cluster-ips ip daddr 172.30.0.0/16 drop comment "Drop traffic to unallocated ClusterIPs"`,
		`ip6 daddr != @cluster-ips ip6 daddr fd00:30::/112 drop comment "Drop traffic to unallocated ClusterIPs"`,
		"ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports",
		"elements = { 192.168.0.2 }", // the node's own address alone
	} {
		m.await(t, rule, func() bool {
			m.clock.Step(time.Second) // ServiceCIDRs that are known after the first sync wait for the next one
			return strings.Contains(said(t, kernel.Exec(), "nft list ruleset"), rule)
		})
	}
	_, mode := ask(t, http.MethodGet, m.configuration.MetricsBindAddress+"/proxyMode", "")
	assert.Equal(t, "nftables", mode)
	_, metrics := ask(t, http.MethodGet, m.configuration.MetricsBindAddress+"/metrics", "")
	assert.Contains(t, metrics, "kubeproxy_sync_full_proxy_rules_duration_seconds")
	assert.NotContains(t, metrics, "iptables")

	require.NoError(t, kernel.Exec().Command("nft", "flush", "ruleset").Run())
	m.await(t, "the table comes back", func() bool {
		m.clock.Step(proxier.SyncPeriod(proxier.WithDefaults(&m.configuration)))
		return strings.Contains(said(t, kernel.Exec(), "nft list ruleset"), "table ip6 kube-proxy")
	})
}
