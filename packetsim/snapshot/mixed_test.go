package snapshot

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// mixed is a node with rules of both backends: of the packet of mixedPacket, legacy drops what is not marked, and nft marks it.
func mixed(t *testing.T) *NodeSnapshot {
	s, err := Read("node.yaml", strings.NewReader(`version: 1
hostname: node1
devices:
- {name: eth0, index: 2, up: true, addresses: [{address: 192.168.0.2/24}]}
- {name: br0, index: 3, kind: bridge, up: true}
- {name: port1, index: 4, master: br0, up: true}
routes:
- {dst: 0.0.0.0/0, via: 192.168.0.1, dev: eth0, table: 254}
- {dst: 192.168.0.2/32, type: local, dev: eth0, table: 255, scope: host}
sysctls: {net.ipv4.ip_forward: "1"}
iptables:
- backend: legacy
  family: 4
  save: |
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    -A FORWARD -m mark ! --mark 0x1 -j DROP
    COMMIT
- backend: nft
  family: 4
  save: |
    *filter
    :INPUT ACCEPT [0:0]
    :FORWARD ACCEPT [0:0]
    :OUTPUT ACCEPT [0:0]
    -A FORWARD -p tcp -j MARK --set-xmark 0x1/0xffffffff
    COMMIT
`))
	require.NoError(t, err)
	return s
}

const mixedPacket = "tcp 10.0.0.1:40000 > 10.9.0.1:80 in eth0"

func traceOf(t *testing.T, s *NodeSnapshot, o HostOptions) packetsim.TraceResult {
	in, err := inet.ParseInput(mixedPacket)
	require.NoError(t, err)
	result, err := s.Trace(in, o, packetsim.WalkOptions{})
	require.NoError(t, err)
	require.Len(t, result.Outcomes, 1)
	return result
}

func TestTraceTakesTheOrderOfTheSnapshot(t *testing.T) {
	for first, want := range map[netfilter.Dialect]packetsim.Verdict{"nft": packetsim.Accept, "legacy": packetsim.Drop} {
		s := mixed(t)
		s.Order = []HookOrder{{Family: netfilter.IPv4, Hook: "FORWARD", Table: "filter", First: first}}
		for _, assumed := range []netfilter.Dialect{"", netfilter.Legacy, netfilter.NFT} {
			result := traceOf(t, s, HostOptions{First: assumed})
			assert.Equal(t, want, result.Outcomes[0].Verdict, "%s first", first)
			assert.Equal(t, first, result.Outcomes[0].Steps[0].Dialect)
			assert.Empty(t, result.Doubts)
		}
	}
}

func TestTraceSaysWhatAnUnknownOrderMeans(t *testing.T) {
	result := traceOf(t, mixed(t), HostOptions{})
	assert.Equal(t, packetsim.Accept, result.Outcomes[0].Verdict)
	otherwise := func(first string) []packetsim.Doubt {
		return []packetsim.Doubt{{Kind: packetsim.DoubtOrder, Unless: "packets meet the rules of iptables-" + first + " first in filter FORWARD",
			See: "nft list hooks"}}
	}
	assert.Equal(t, otherwise("legacy"), result.Doubts)

	partly := mixed(t)
	for i := range partly.IPTables { // the order of another hook is known, and is the other one
		partly.IPTables[i].Save = strings.Replace(partly.IPTables[i].Save, "*filter", "*mangle\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n*filter", 1)
	}
	for _, family := range netfilter.Families() {
		partly.Order = append(partly.Order, HookOrder{Family: family, Hook: "PREROUTING", Table: "mangle", First: "legacy"},
			HookOrder{Family: family, Hook: "INPUT", Table: "filter", First: "legacy"})
	}
	assert.Equal(t, otherwise("legacy"), traceOf(t, partly, HostOptions{}).Doubts)
	result = traceOf(t, mixed(t), HostOptions{First: "legacy"})
	assert.Equal(t, packetsim.Drop, result.Outcomes[0].Verdict)
	assert.Equal(t, otherwise("nft"), result.Doubts)

	same := mixed(t)
	same.IPTables[0].Save = strings.Replace(same.IPTables[0].Save, "! --mark 0x1", "--mark 0x5", 1)
	assert.Empty(t, traceOf(t, same, HostOptions{}).Doubts, "the packet ends the same")

	elsewhere := mixed(t)
	for i := range elsewhere.IPTables {
		elsewhere.IPTables[i].Save = strings.Replace(elsewhere.IPTables[i].Save, "-A FORWARD", "-A OUTPUT", 1)
	}
	assert.Empty(t, traceOf(t, elsewhere, HostOptions{}).Doubts, "the packet does not come to OUTPUT")
}

func TestTraceOfOneBackendNamesTheOther(t *testing.T) {
	result := traceOf(t, mixed(t), HostOptions{Dialect: "legacy"})
	assert.Equal(t, packetsim.Drop, result.Outcomes[0].Verdict)
	assert.Equal(t, []string{"the rules of iptables-nft, which the kernel runs too, are left out"}, result.Notes)
}

func TestTraceNamesWhatIsNotWalked(t *testing.T) {
	s := mixed(t)
	s.IPTables = s.IPTables[1:]
	s.NFTables = []NFTable{
		{Family: "inet", Name: "guard", Chains: []NFChain{
			{Name: "fwd", Hook: "forward", Priority: 10}, {Name: "in", Hook: "input"}, {Name: "early", Hook: "ingress", Device: "eth0"},
		}},
		{Family: "ip6", Name: "six", Chains: []NFChain{{Name: "fwd", Hook: "forward"}}},
		{Family: "bridge", Name: "br", Chains: []NFChain{{Name: "fwd", Hook: "forward"}}},
		{Family: "netdev", Name: "dev", Chains: []NFChain{
			{Name: "out", Hook: "egress", Device: "eth0"}, {Name: "in", Hook: "ingress", Device: "lo"},
		}},
		{Family: "arp", Name: "who", Chains: []NFChain{{Name: "in", Hook: "forward"}}},
	}
	s.IPTables[0].Save = strings.Replace(s.IPTables[0].Save, "COMMIT", "-A INPUT -m geoip --source-country DE -j DROP\nCOMMIT", 1)
	s.Unread = []Unread{{What: "nftables table inet guard", Why: "not supported"}, {What: "recent list L", Why: "not supported"}}
	result := traceOf(t, s, HostOptions{})
	assert.Equal(t, []packetsim.Doubt{
		{Kind: packetsim.DoubtNFTables, Unless: "table inet guard stops or changes it (chain fwd in forward, priority 10)",
			See: "nft list table inet guard"},
		{Kind: packetsim.DoubtNFTables, Unless: "table inet guard stops or changes it (chain early in ingress, priority 0)",
			See: "nft list table inet guard"},
		{Kind: packetsim.DoubtNFTables, Unless: "table netdev dev stops or changes it (chain out in egress, priority 0)",
			See: "nft list table netdev dev"},
	}, result.Doubts)
	assert.Empty(t, result.Notes)
}

// TestMixedHostIsASnapshot: what Of makes of a host with both backends walks as it does, and says the order.
func TestMixedHostIsASnapshot(t *testing.T) {
	for _, first := range netfilter.Dialects() {
		s := mixed(t)
		h, err := NewHost(s, HostOptions{First: first, Netfilter: "nft"})
		require.NoError(t, err)
		assert.Equal(t, netfilter.NFT, fakeipt.First(h.Netfilter()).Dialect())
		again, err := Of(h)
		require.NoError(t, err)
		assert.Contains(t, again.Order, HookOrder{Family: netfilter.IPv4, Hook: "FORWARD", Table: "filter", First: first})
		var b bytes.Buffer
		require.NoError(t, again.Write(&b, YAML))
		read, err := Read("node.yaml", &b)
		require.NoError(t, err)
		assert.Equal(t, again, read)
		assert.Equal(t, traceOf(t, s, HostOptions{First: first}).Outcomes, traceOf(t, read, HostOptions{}).Outcomes)
	}
}

func TestReadRefusesBadHooks(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"order: [{family: 5, hook: INPUT, table: filter, first: nft}]", "order[0].family: 5 is not a family"},
		{"order: [{family: 4, hook: input, table: filter, first: nft}]", `order[0].hook: "input" is not known`},
		{"order: [{family: 4, hook: INPUT, table: broute, first: nft}]", `order[0].table: "broute" is not known`},
		{"order: [{family: 4, hook: INPUT, table: filter, first: both}]", `order[0].first: "both" is not known`},
		{"order: [{family: 4, hook: INPUT, table: filter, first: nft}, {family: 4, hook: INPUT, table: filter, first: nft}]",
			"order[1]: the order of table filter in INPUT, IPv4 is given twice"},
		{"nftables: [{family: ip4, name: x}]", `nftables[0].family: "ip4" is not known`},
		{"nftables: [{family: ip, name: \"\"}]", "nftables[0].name"},
		{"nftables: [{family: ip, name: x, chains: [{name: \"\", hook: input, priority: 0}]}]", "nftables[0].chains[0].name"},
		{"nftables: [{family: ip, name: x, chains: [{name: c, hook: input, priority: 0, may: [log]}]}]",
			`nftables[0].chains[0].may[0]: "log" is not known`},
		{"nftables: [{family: ip, name: x, chains: [{name: c, hook: INPUT, priority: 0}]}]", `nftables[0].chains[0].hook: "INPUT" is not known`},
	} {
		_, err := Read("n", strings.NewReader("version: 1\nhostname: n\n"+row.text+"\n"))
		assert.ErrorContains(t, err, row.want)
	}
}
