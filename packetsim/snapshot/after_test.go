package snapshot

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// edited is a snapshot after what somebody does on a Host of it.
func edited(t *testing.T, taken *NodeSnapshot, edit func(h *packetsim.Host)) *NodeSnapshot {
	var hosts [2]*packetsim.Host
	for i := range hosts {
		var err error
		hosts[i], err = NewHost(taken, HostOptions{})
		require.NoError(t, err)
	}
	edit(hosts[1])
	out, err := After(taken, hosts[0], hosts[1])
	require.NoError(t, err)
	return out
}

// typed runs a line of iptables or nft on a host.
func typed(t *testing.T, taken *NodeSnapshot, h *packetsim.Host, line string) {
	var out strings.Builder
	words, run := strings.Fields(line), taken.nftTools(h.Netfilter()).Run
	if words[0] != "nft" {
		run = fakeipt.First(h.Netfilter()).Run
	}
	require.Zero(t, run(words, strings.NewReader(""), &out, &out), "%s: %s", line, &out)
}

// TestAfterKeepsWhatNobodyChanged: a node to which nothing was done is as it was taken, byte by byte, also where a Host has less of it.
func TestAfterKeepsWhatNobodyChanged(t *testing.T) {
	netns := 4
	taken := mixed(t)
	taken.Devices[2].PeerNetns = &netns
	taken.Unread = []Unread{{"nftables table inet guard", "not supported"}}
	taken.NFTables = []NFTable{
		{Family: "inet", Name: "guard", Chains: []NFChain{{Name: "c", Hook: "input", May: []NFEffect{EffectDrop}}}},
		{Family: "ip", Name: "fw", Rules: "table ip fw {\n\tchain c {\n\t\ttcp dport 80 drop\n\t}\n}\n"},
	}
	taken.IPSets = "create S hash:ip family inet hashsize 1024 maxelem 65536\n"
	taken.NFAcct = []NFAcct{{Name: "count", Packets: 3, Bytes: 180}}
	taken.Conntrack = []Connection{connection(1), connection(2)}
	assert.Equal(t, taken, edited(t, taken, func(*packetsim.Host) {}))

	was := *taken
	is := edited(t, taken, func(h *packetsim.Host) {
		typed(t, taken, h, "iptables -A INPUT -j DROP")
		typed(t, taken, h, "nft delete table ip fw")
		typed(t, taken, h, "nft add table ip6 new")
		require.NoError(t, h.SetSysctl("net.ipv4.conf.all.route_localnet", "1"))
		assert.Equal(t, 1, h.DeleteConntrack(func(e conntrack.Entry) bool { return e.Original.SrcPort == 2 }))
	})
	assert.Equal(t, &was, taken, "the snapshot that was taken is not changed")
	assert.Contains(t, is.IPTables[0].Save, "-A INPUT -j DROP")
	assert.Equal(t, taken.IPTables[1], is.IPTables[1])
	require.Len(t, is.NFTables, 2)
	assert.Equal(t, taken.NFTables[0], is.NFTables[0], "nobody knows that table, and it stays")
	assert.Equal(t, "ip6 new", is.NFTables[1].Family+" "+is.NFTables[1].Name)
	assert.Equal(t, map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.route_localnet": "1"}, is.Sysctls)
	assert.Equal(t, taken.Conntrack[:1], is.Conntrack)
	assert.Equal(t, taken.Devices, is.Devices)
	assert.Equal(t, taken.Unread, is.Unread)
	assert.Equal(t, [2]any{taken.IPSets, taken.NFAcct}, [2]any{is.IPSets, is.NFAcct})
}

func connection(port uint16) Connection {
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.9.0.1")
	return Connection{
		Original: Tuple{Proto: 17, Src: src, Dst: dst, SrcPort: port, DstPort: 53}, Timeout: 100,
		Reply: Tuple{Proto: 17, Src: dst, Dst: src, SrcPort: 53, DstPort: port},
	}
}

// TestAfterKnowsOnlyTheOrderOfNewChains: those that were written since come first, and of others nobody knows more than before.
func TestAfterKnowsOnlyTheOrderOfNewChains(t *testing.T) {
	add := func(t *testing.T, taken *NodeSnapshot) func(h *packetsim.Host) {
		return func(h *packetsim.Host) {
			typed(t, taken, h, "nft add table ip third")
			typed(t, taken, h, "nft add chain ip third pre { type nat hook prerouting priority dstnat ; }")
		}
	}
	read := func(text string) *NodeSnapshot {
		s, err := Read("node", strings.NewReader(plainNode+text))
		require.NoError(t, err)
		return s
	}
	unknown := read(twoChains)
	assert.Empty(t, edited(t, unknown, add(t, unknown)).Hooks)
	known := read(twoChains + "hooks:\n- {family: 4, hook: PREROUTING, chains: [ip first pre, inet second pre]}\n")
	assert.Contains(t, edited(t, known, add(t, known)).Hooks,
		HookChains{netfilter.IPv4, "PREROUTING", []string{"ip third pre", "ip first pre", "inet second pre"}})

	both := mixed(t)
	shares := edited(t, both, func(h *packetsim.Host) {
		for _, k := range fakeipt.Kernels(h.Netfilter()) {
			var out strings.Builder
			args := []string{"iptables", "-t", "mangle", "-A", "FORWARD", "-j", "ACCEPT"}
			require.Zero(t, k.Run(args, strings.NewReader(""), &out, &out), out.String())
		}
	})
	for _, o := range shares.Order {
		assert.Equal(t, "mangle", o.Table, "of the others nobody knows")
	}
	assert.NotEmpty(t, shares.Order)
}
