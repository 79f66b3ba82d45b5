package forall_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// fileHost is a host with the rules of a file.
func fileHost(t testing.TB, file string) *packetsim.Host {
	t.Helper()
	r, err := os.Open(file)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.Close()) }()
	h, err := snapshot.HostOfSave(file, r, snapshot.RulesOptions{Devices: []string{"veth1", "cni0"},
		Local: []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fd00::3")}})
	require.NoError(t, err)
	return h
}

func TestFatesOfRecordedNFTables(t *testing.T) {
	for _, file := range []string{"kube-proxy-1.36.nft", "firewalld.nft"} {
		t.Run(file, func(t *testing.T) { agrees(t, fileHost(t, "testdata/"+file), 1000/sample.Every(4)) })
	}
}

// TestALookUpOfOtherBytesOfAKey looks an element up by a port that is known, behind NAT, and then by any port.
func TestALookUpOfOtherBytesOfAKey(t *testing.T) {
	h, err := snapshot.HostOfSave("rules", strings.NewReader(`table ip t {
	chain in {
		type filter hook input priority filter; policy accept;
		ip daddr 172.18.0.4 meta l4proto . th dport { tcp . 30084 } drop
	}
	chain pre { type nat hook prerouting priority dstnat; policy accept; ip daddr 10.96.0.1 meta l4proto tcp dnat to 172.18.0.4:6443; }
}
`), snapshot.RulesOptions{Family: netfilter.IPv4, Local: []netip.Addr{netip.MustParseAddr("172.18.0.4")}})
	require.NoError(t, err)
	haveFates(t, fatesOf(t, h, nil), map[string]string{
		"tcp 192.0.2.1:1000 > 172.18.0.4:30084 in eth0": "drop", "udp 192.0.2.1:1000 > 172.18.0.4:30084 in eth0": "accept local",
		"tcp 192.0.2.1:1000 > 10.96.0.1:30084 in eth0": "accept local, to 172.18.0.4 port 6443",
	})
}

// haveFates holds that packets have fates, and that walks have them too.
func haveFates(t *testing.T, f *forall.Fates, packets map[string]string) {
	t.Helper()
	for packet, want := range packets {
		in, err := inet.ParseInput(packet)
		require.NoError(t, err)
		d, err := f.At(in)
		require.NoError(t, err)
		assert.Equal(t, want, d.String(), packet)
		otherwise, err := f.Confirm(forall.New, in, d, 1e-9)
		require.NoError(t, err)
		assert.Empty(t, otherwise, packet)
	}
}

// TestICMPv6FromNoAddress: to a link-local address it comes from a neighbour, for the kernel, whatever the routes say.
func TestICMPv6FromNoAddress(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{})
	nft := kernel.Exec().Command("nft", "-f", "-")
	nft.SetStdin(strings.NewReader(`table ip6 t {
	chain pre { type filter hook prerouting priority filter; policy accept; fib daddr oif 0 accept; drop; }
}
`))
	require.NoError(t, nft.Run())
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: "node", Devices: []packetsim.Device{{Name: "eth0", Up: true}}, Netfilter: kernel.Namespace(),
	})
	require.NoError(t, err)
	f, err := forall.Of(h, forall.Options{Families: []netfilter.Family{netfilter.IPv6}})
	require.NoError(t, err)
	haveFates(t, f, map[string]string{
		"icmpv6 :: > fe80::1 in eth0": "drop", "tcp [::]:1000 > [fe80::1]:80 in eth0": "reject with icmp6-no-route",
		"icmpv6 fe80::2 > fe80::1 in eth0": "reject with icmp6-no-route",
	})
}

// TestFibLooksUpWithTheMark: a rule of the routing policy sends marked packets to another table, and fib with a mark asks for its routes.
func TestFibLooksUpWithTheMark(t *testing.T) {
	kernel := fakekernel.New(fakekernel.Options{})
	nft := kernel.Exec().Command("nft", "-f", "-")
	nft.SetStdin(strings.NewReader(`table ip t {
	chain pre {
		type filter hook prerouting priority filter; policy accept;
		tcp dport 80 meta mark set 1
		fib daddr . mark type blackhole drop
		fib saddr . mark oif 0 reject
	}
}
`))
	require.NoError(t, nft.Run())
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: "node", Devices: []packetsim.Device{
			{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("172.18.0.3/16")}}},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Routes: []packetsim.Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0", Via: netip.MustParseAddr("172.18.0.1")},
			{Dst: netip.MustParsePrefix("203.0.113.0/24"), Type: packetsim.RouteBlackhole, Table: 100},
			{Dst: netip.MustParsePrefix("198.51.100.0/24"), Type: packetsim.RouteUnreachable, Table: 100},
		},
		PolicyRules: []packetsim.PolicyRule{
			{Family: netfilter.IPv4, Table: packetsim.TableLocal}, {Family: netfilter.IPv4, Priority: 1, Mark: 1, Table: 100},
			{Family: netfilter.IPv4, Priority: 2, Table: packetsim.TableMain},
		},
		Netfilter: kernel.Namespace(),
	})
	require.NoError(t, err)
	f, err := forall.Of(h, forall.Options{Families: []netfilter.Family{netfilter.IPv4}})
	require.NoError(t, err)
	haveFates(t, f, map[string]string{
		"tcp 192.0.2.1:1000 > 203.0.113.9:80 in eth0": "drop", "tcp 192.0.2.1:1000 > 203.0.113.9:81 in eth0": "accept out of eth0",
		"tcp 198.51.100.7:1000 > 192.0.2.1:80 in eth0": "reject with icmp-port-unreachable",
		"tcp 198.51.100.7:1000 > 192.0.2.1:81 in eth0": "accept out of eth0",
	})
}
