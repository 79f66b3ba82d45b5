package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRulesInModeNFTables(t *testing.T) {
	folder := t.TempDir()
	objects, config := filepath.Join(folder, "objects.yaml"), filepath.Join(folder, "config.yaml")
	require.NoError(t, os.WriteFile(objects, []byte(strings.ReplaceAll(proxyObjects, "%d", "30999")), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: 10.244.0.0/16
nftables: {masqueradeBit: 20}
`), 0o600))
	printed := func(args ...string) string {
		var out, errOut bytes.Buffer
		require.Zero(t, run(append([]string{"rules", "-f", objects, "--node", "worker1"}, args...), nil, &out, &errOut), errOut.String())
		return out.String()
	}
	listed := printed("--config", config)
	assert.Contains(t, listed, "table ip kube-proxy {")
	assert.Contains(t, listed, "table ip6 kube-proxy {")
	assert.Contains(t, listed, "meta mark & 0x00100000 != 0x00000000")
	assert.Equal(t, printed("--config", config, "--family", "4")+printed("--config", config, "--family", "6"), listed)

	input := printed("--cluster-cidr", "10.244.0.0/16", "--mode", "nftables", "--restore-input")
	assert.True(t, strings.HasPrefix(input, "add table ip kube-proxy\ndelete table ip kube-proxy\nadd table ip kube-proxy {"), input)
	assert.Contains(t, input, "\nadd table ip6 kube-proxy\n")
	assert.Contains(t, printed("--config", config, "--mode", "iptables"), ":KUBE-SERVICES")

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--mode", "ipvs"}, "--mode ipvs: want iptables or nftables"},
		{[]string{"--mode", "nftables", "--tools", "nft"}, "--tools names tools of iptables, and the mode is nftables"},
		{[]string{"--mode", "nftables", "--diff", objects}, "--diff compares rules of iptables only, and the mode is nftables"},
	} {
		var errOut bytes.Buffer
		assert.Equal(t, 2, run(append([]string{"rules", "-f", objects, "--node", "worker1"}, test.args...), nil, &errOut, &errOut))
		assert.Contains(t, errOut.String(), test.want)
	}
}
