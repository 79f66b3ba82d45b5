package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/packetsim/snapshot/parcel"
)

// build builds the program as it is released: static and stripped.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chainwalk-collect")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

// TestTheCollectorIsSmall holds the size of what runs on nodes.
func TestTheCollectorIsSmall(t *testing.T) {
	const most = 15_000_000
	info, err := os.Stat(build(t))
	require.NoError(t, err)
	t.Logf("stripped: %d bytes of %d", info.Size(), most)
	assert.Less(t, info.Size(), int64(most))
}

// TestTheCollectorLinksNoCluster holds what it does not link. Of Kubernetes it has the clock and the way to run programs.
func TestTheCollectorLinksNoCluster(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	require.NoError(t, err)
	var kubernetes, own []string
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/") {
			kubernetes = append(kubernetes, path)
		}
		for _, above := range []string{"scenarios", "proxier", "kindtest"} {
			if strings.HasPrefix(path, "github.com/chainwalk/chainwalk/"+above) {
				own = append(own, path)
			}
		}
	}
	assert.Equal(t, []string{"k8s.io/utils/clock", "k8s.io/utils/exec"}, kubernetes)
	assert.Empty(t, own)
}

func TestWrongCommandLines(t *testing.T) {
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"node1"}, `unknown argument "node1"`},
		{[]string{"--shape"}, "flag provided but not defined"},
		{[]string{"--root", filepath.Join(t.TempDir(), "nowhere")}, "--root"},
	} {
		var out, errOut bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), row.args, &out, &errOut), row.args)
		assert.Contains(t, errOut.String(), row.says)
		assert.Empty(t, out.String())
	}
}

// busy is a node with so many services of kube-proxy's rules, and so many connections.
func busy(services, connections int) *snapshot.NodeSnapshot {
	var rules strings.Builder
	rules.WriteString("*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n")
	for i := range services {
		fmt.Fprintf(&rules, ":KUBE-SVC-%016X - [0:0]\n", i*7919)
		for e := range 5 {
			fmt.Fprintf(&rules, ":KUBE-SEP-%016X - [0:0]\n", i*104729+e)
		}
	}
	for i := range services {
		cluster := netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)})
		fmt.Fprintf(&rules, "[%d:%d] -A KUBE-SERVICES -d %s/32 -p tcp -m comment --comment \"shop-%d/web:http cluster IP\" -m tcp --dport 80 "+
			"-j KUBE-SVC-%016X\n", i, i*60, cluster, i, i*7919)
		for e := range 5 {
			endpoint := netip.AddrFrom4([4]byte{10, byte(244 + e), byte(i >> 8), byte(i)})
			fmt.Fprintf(&rules, "[0:0] -A KUBE-SVC-%016X -m comment --comment \"shop-%d/web:http -> %s:8080\" -j KUBE-SEP-%016X\n"+
				"[0:0] -A KUBE-SEP-%016X -s %s/32 -m comment --comment \"shop-%d/web:http\" -j KUBE-MARK-MASQ\n"+
				"[0:0] -A KUBE-SEP-%016X -p tcp -m comment --comment \"shop-%d/web:http\" -m tcp -j DNAT --to-destination %s:8080\n",
				i*7919, i, endpoint, i*104729+e, i*104729+e, endpoint, i, i*104729+e, i, endpoint)
		}
	}
	rules.WriteString("COMMIT\n")
	node := &snapshot.NodeSnapshot{Version: snapshot.Version, Hostname: "node1", Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Devices: []snapshot.Device{{Name: "lo", Up: true,
			Addresses: []snapshot.Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8"), Scope: packetsim.ScopeHost}}}},
		IPTables: []snapshot.Rules{{Dialect: netfilter.NFT, Family: netfilter.IPv4, Save: rules.String()}}}
	for i := range connections {
		original := snapshot.Tuple{Proto: inet.UDP, Src: netip.AddrFrom4([4]byte{10, 244, byte(i >> 8), byte(i)}),
			Dst: netip.AddrFrom4([4]byte{10, 96, byte(i >> 4), 10}), SrcPort: uint16(i * 31), DstPort: 53}
		reply := snapshot.Tuple{Proto: inet.UDP, Src: original.Dst, Dst: original.Src, SrcPort: 53, DstPort: original.SrcPort}
		node.Conntrack = append(node.Conntrack, snapshot.Connection{Original: original, Reply: reply, Timeout: uint32(i % 180)})
	}
	return node
}

// TestTenThousandServicesComeThroughALog holds that a large node's snapshot stays below the 10 MiB at which a kubelet rotates a log, with
// the words that a runtime puts before each line.
func TestTenThousandServicesComeThroughALog(t *testing.T) {
	const kubelet, before = 10 << 20, len("2026-11-24T13:00:00.000000000Z stdout F ")
	node := busy(10_000, 10_000)
	text, err := pack(node, "run-node1", 9<<20)
	require.NoError(t, err)
	lines := bytes.Count(text, []byte("\n"))
	assert.Less(t, len(text)+lines*before, kubelet)
	document, _, err := parcel.Read("run-node1", bytes.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, 10_000, bytes.Count(document, []byte("dport: 53\n"))/2+bytes.Count(document, []byte("sport: 53\n"))/2, "all connections")
	t.Logf("10,000 services, 10,000 connections: a document of %d bytes, %d in a log", len(document), len(text)+lines*before)
}

func TestTooManyConnectionsAreLeftOutAndSaid(t *testing.T) {
	node := busy(10, 500)
	whole, err := pack(node, "a", 1<<20)
	require.NoError(t, err)
	text, err := pack(node, "a", len(whole)-1)
	require.NoError(t, err)
	document, _, err := parcel.Read("a", bytes.NewReader(text))
	require.NoError(t, err)
	got, err := snapshot.Read("a", bytes.NewReader(document))
	require.NoError(t, err)
	assert.Empty(t, got.Conntrack)
	require.Len(t, got.Unread, 1)
	assert.Equal(t, snapshot.UnreadConntrack, got.Unread[0].What)
	assert.Contains(t, got.Unread[0].Why, "500 connections")
	assert.Len(t, node.Conntrack, 500, "the snapshot that was given is as it was")

	_, err = pack(node, "a", 100)
	assert.ErrorContains(t, err, "run the program on the node")
}
