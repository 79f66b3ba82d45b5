//go:build linux

package proxier_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// TestKernelModesFollowEachOther writes the rules of one mode, then those of the other, and removes the first: what is left is the
// second's, and what others wrote.
func TestKernelModesFollowEachOther(t *testing.T) {
	for _, variant := range []string{"legacy", "nft"} {
		t.Run(variant, func(t *testing.T) {
			names := iptables.ToolsOf(iptables.ProtocolIPv4, variant)
			ns := kerneltest.Enter(t, names.Restore, names.Save, "nft")
			ns.Feed(others, names.Restore, "--noflush")
			ns.Must("nft add table ip somebody")
			legacy, err := iptables.New(exec.New(), iptables.ProtocolIPv4,
				iptables.Options{Tools: map[iptables.Protocol]iptables.Tools{iptables.ProtocolIPv4: names}})
			require.NoError(t, err)
			native, err := nftables.New(exec.New(), v1.IPv4Protocol, nftables.Options{})
			require.NoError(t, err)
			before := rules(ns.Must(names.Save))

			syncOnce(t, legacy)
			syncOnceNFT(t, native)
			assert.False(t, proxier.Cleanup(klog.Background(), proxier.IPTables{Tools: legacy}))
			assert.Equal(t, before, rules(ns.Must(names.Save)))
			assert.Contains(t, ns.Must("nft list table ip kube-proxy"), "dnat to 10.244.1.2:8080")

			syncOnce(t, legacy)
			for range 2 {
				assert.False(t, proxier.Cleanup(klog.Background(), proxier.NFTables{Tools: native}))
				assert.NotContains(t, ns.Must("nft list tables"), "kube-proxy")
			}
			assert.Contains(t, ns.Must("nft list tables"), "table ip somebody")
			assert.Contains(t, ns.Must(names.Save), "--to-destination 10.244.1.2:8080")
		})
	}
}

// syncOnceNFT writes the rules of the service of syncOnce in mode nftables, and finds them.
func syncOnceNFT(t *testing.T, tools nftables.Interface) {
	p, err := proxier.New(proxier.Config{Family: v1.IPv4Protocol, NodeName: "node1", NodeIP: netip.MustParseAddr("192.168.0.2"),
		Rules: proxier.NFTables{Tools: tools}, Sysctls: sysctls{}, MasqueradeBit: 14})
	require.NoError(t, err)
	addSticky(p)
	p.OnEndpointSliceUpdate(nil, webSlice(v1.IPv4Protocol, "10.244.1.2", true))
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.Sync())
	require.NoError(t, p.EnsureCanaries())
	require.False(t, p.NeedsSync(), "the kernel says that rules lead to the chain")
}

// TestKernelNFTablesKeepsClients has a client stick to an endpoint over a restart of the proxy, on this machine's kernel.
func TestKernelNFTablesKeepsClients(t *testing.T) {
	ns := kerneltest.Enter(t, "nft")
	native, err := nftables.New(exec.New(), v1.IPv4Protocol, nftables.Options{})
	require.NoError(t, err)
	syncOnceNFT(t, native)
	var set string
	for line := range strings.Lines(ns.Must("nft list ruleset")) {
		if name, found := strings.CutPrefix(line, "\tset affinity-"); found {
			set = "affinity-" + strings.TrimSuffix(name, " {\n")
		}
	}
	ns.Must("nft add element ip kube-proxy " + set + " { 10.0.0.9 }")
	syncOnceNFT(t, native)
	assert.Contains(t, ns.Must("nft list set ip kube-proxy "+set), "10.0.0.9")
	ns.Must("nft flush table ip kube-proxy")
	used, err := native.InUse("kube-proxy", "services")
	require.NoError(t, err)
	assert.False(t, used, "somebody emptied the chains")
}
