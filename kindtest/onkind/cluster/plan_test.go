package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/chainwalk/chainwalk/kindtest/internal/literal"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

func TestKindConfig(t *testing.T) {
	got := kindConfig(Config{Name: "c", Image: "node:1", Family: scenarios.FamilyDual, Workers: 2})
	assert.Equal(t, v1alpha4.ProxyMode("none"), got.Networking.KubeProxyMode)
	assert.True(t, got.Networking.DisableDefaultCNI)
	assert.Equal(t, v1alpha4.DualStackFamily, got.Networking.IPFamily)
	assert.Equal(t, "10.244.0.0/16,fd00:10:244::/56", got.Networking.PodSubnet)
	assert.Equal(t, "10.96.0.0/12,fd00:10:96::/112", got.Networking.ServiceSubnet)
	var roles, zones, images []string
	for _, node := range got.Nodes {
		roles, zones, images = append(roles, string(node.Role)), append(zones, node.Labels["topology.kubernetes.io/zone"]), append(images,
			node.Image)
	}
	assert.Equal(t, []string{"control-plane", "worker", "worker"}, roles)
	assert.Equal(t, []string{"a", "b", "c"}, zones)
	assert.Equal(t, []string{"node:1", "node:1", "node:1"}, images)
}

func TestKindConfigOfOneFamily(t *testing.T) {
	for family, want := range map[scenarios.IPFamily][2]string{
		scenarios.FamilyIPv4: {"10.244.0.0/16", "10.96.0.0/12"},
		scenarios.FamilyIPv6: {"fd00:10:244::/56", "fd00:10:96::/112"},
	} {
		networking := kindConfig(Config{Family: family}).Networking
		assert.Equal(t, v1alpha4.ClusterIPFamily(family), networking.IPFamily)
		assert.Equal(t, want, [2]string{networking.PodSubnet, networking.ServiceSubnet})
	}
}

// A patch of a version applies to documents of that version only; any other would take a field for a mistake.
func TestPatienceIsOfTheVersionThatHasIt(t *testing.T) {
	patches := kindConfig(Config{}).KubeadmConfigPatches
	assert.Contains(t, patches, "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\ntimeouts: {kubernetesAPICall: 5m0s}\n")
	assert.Contains(t, patches, "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ntimeouts: {kubernetesAPICall: 5m0s}\n")
	assert.Contains(t, patches[0], "skipPhases: [preflight, addon/kube-proxy, addon/coredns]")
}

// What a list of arguments looks like depends on the version as well.
func TestHasteIsSaidToEachVersion(t *testing.T) {
	patches := kindConfig(Config{}).KubeadmConfigPatches
	for version, arguments := range map[string]string{"v1beta3": `{unsafe-no-fsync: "true"}`,
		"v1beta4": `[{name: unsafe-no-fsync, value: "true"}]`} {
		assert.Contains(t, patches, "apiVersion: kubeadm.k8s.io/"+version+"\nkind: ClusterConfiguration\netcd: {local: {extraArgs: "+arguments+
			"}}\n")
	}
}

// TestTheAPIServerTakesOldSpellings, whichever version of kubeadm's configuration there is.
func TestTheAPIServerTakesOldSpellings(t *testing.T) {
	patches := kindConfig(Config{}).KubeadmConfigPatches
	for version, arguments := range map[string]string{
		"v1beta3": `{feature-gates: "StrictIPCIDRValidation=false"}`, "v1beta4": `[{name: feature-gates, value: "StrictIPCIDRValidation=false"}]`,
	} {
		assert.Contains(t, patches, "apiVersion: kubeadm.k8s.io/"+version+"\nkind: ClusterConfiguration\napiServer: {extraArgs: "+arguments+"}\n")
	}
}

func TestKindPublishesAnImageWhereNoneIsGiven(t *testing.T) {
	assert.Contains(t, kindConfig(Config{}).Nodes[0].Image, "kindest/node:")
}

func TestConfigIsCheckedBeforeAnythingIsMade(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "chainwalk")
	require.NoError(t, os.WriteFile(binary, nil, 0o755))
	for about, row := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"a name that is no host's": {func(c *Config) { c.Name = "my cluster" }, `the name "my cluster"`},
		"an unknown family":        {func(c *Config) { c.Family = "ipx" }, `the family is "ipx"`},
		"an unknown tool":          {func(c *Config) { c.Dialect = "pf" }, `the tool is "pf"`},
		"an unknown proxy":         {func(c *Config) { c.Proxy.Name = "envoy" }, `the proxy is "envoy"`},
		"no such mode":             {func(c *Config) { c.Proxy.Mode = "ipvs" }, `the mode of chainwalk is "ipvs"`},
		"no such mode of another":  {func(c *Config) { c.Proxy = Proxy{Name: KubeProxy, Mode: "ipvs"} }, `the mode of kube-proxy is "ipvs"`},
		"too many workers":         {func(c *Config) { c.Workers = 100 }, "100 workers"},
		"too many pods":            {func(c *Config) { c.Pool = 51 }, "51 pods"},
		"no binary":                {func(c *Config) { c.Binary = "" }, "no binary of chainwalk"},
		"no binary of the proxy":   {func(c *Config) { c.Proxy = Proxy{Name: KubeProxy, Binary: "/no/such"} }, "no binary of the proxy"},
	} {
		t.Run(about, func(t *testing.T) {
			c := Config{Binary: binary}
			row.change(&c)
			_, err := Start(t.Context(), c)
			assert.ErrorContains(t, err, row.want)
		})
	}
	got, err := Config{Binary: binary, Provision: func([]byte, log.Logger) error { return nil }}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, Proxy{Name: "chainwalk", Mode: "iptables", Binary: binary}, got.Proxy)
	assert.Equal(t, []any{"chainwalk", scenarios.FamilyDual, netfilter.NFT, 3, 8},
		[]any{got.Name, got.Family, got.Dialect, got.Workers, got.Pool})
}

// trio are the nodes of a dual-stack cluster.
var trio = []Node{
	{Name: "c-control-plane", Addresses: literal.Addrs("172.18.0.4", "fc00::4"),
		PodCIDRs: literal.Prefixes("10.244.0.0/24", "fd00:10:244::/64")},
	{Name: "c-worker", Addresses: literal.Addrs("172.18.0.2", "fc00::2"), PodCIDRs: literal.Prefixes("10.244.2.0/24", "fd00:10:244:2::/64")},
	{Name: "c-worker2", Addresses: literal.Addrs("172.18.0.3", "fc00::3"), PodCIDRs: literal.Prefixes("10.244.1.0/24", "fd00:10:244:1::/64")},
}

func TestRoutesLeadToOtherNodesPods(t *testing.T) {
	assert.Equal(t, `ip route replace 10.244.0.0/24 via 172.18.0.4
ip route replace fd00:10:244::/64 via fc00::4
ip route replace 10.244.1.0/24 via 172.18.0.3
ip route replace fd00:10:244:1::/64 via fc00::3
`, routeScript("c-worker", trio))
	assert.Contains(t, routeScript("c-outside", trio), "10.244.2.0/24 via 172.18.0.2\n")
}

func TestNetworkOfPods(t *testing.T) {
	assert.JSONEq(t, `{"cniVersion": "0.3.1", "name": "chainwalk", "plugins": [
		{"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam-state",
			"ranges": [[{"subnet": "10.244.2.0/24"}], [{"subnet": "fd00:10:244:2::/64"}]],
			"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
		{"type": "portmap", "capabilities": {"portMappings": true}}]}`, conflist(trio[1].PodCIDRs))
}
