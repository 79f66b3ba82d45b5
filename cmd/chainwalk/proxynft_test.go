package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProxyInModeNFTables(t *testing.T) {
	r := startProxy(t, "--proxy-mode", "nftables")
	r.get(t, r.metric+"/metrics", contains(`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`,
		`kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv6"} 1`))
	assert.Equal(t, "nftables", r.get(t, r.metric+"/proxyMode", ok))
	rules := savedRules(t, "nft", "list", "ruleset")
	assert.Contains(t, rules, "dnat to 10.244.1.2:8080")
	assert.Contains(t, rules, "table ip6 kube-proxy {")
	assert.NotContains(t, savedRules(t, "iptables-save"), "KUBE-")

	r.stop()
	require.NoError(t, <-r.done)
	assert.Equal(t, rules, savedRules(t, "nft", "list", "ruleset"), "the rules stay")
	require.Zero(t, run([]string{"proxy", "--fake", "--cleanup"}, nil, io.Discard, io.Discard))
	assert.Empty(t, savedRules(t, "nft", "list", "ruleset"))
}

// kube-proxy has no flags of its own for the section nftables: those of iptables count for it, but not the bit of the mark.
func TestProxyFlagsInModeNFTables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.Zero(t, run([]string{"proxy", "--write-config-to", file, "--proxy-mode", "nftables", "--masquerade-all",
		"--iptables-sync-period", "20s", "--iptables-min-sync-period", "0", "--iptables-masquerade-bit", "15"}, nil, io.Discard, os.Stderr))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), `
mode: nftables
nftables:
  masqueradeAll: true
  masqueradeBit: 14
  minSyncPeriod: 1ns
  syncPeriod: 20s
nodePortAddresses:
- primary
`)
}
