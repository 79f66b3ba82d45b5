//go:build linux

package snapshot

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// lab is a node between a client and a server on the real kernel:
//
//	client 10.88.1.2 - 10.88.1.1 n0 node n1 10.88.2.1 - 10.88.2.2 server
//
// The node sends 10.99.0.1:80 to the server, masqueraded. The legacy backend holds these rules,
// the nft backend others.
type lab struct {
	t                    *testing.T
	node, client, server *kerneltest.Namespace
}

func newLab(t *testing.T) *lab {
	kerneltest.Need(t, "ip", "sysctl", "bridge", "nfacct", "ipset",
		"iptables-legacy", "iptables-legacy-save", "ip6tables-legacy-save",
		"iptables-nft", "ip6tables-nft", "iptables-nft-save", "ip6tables-nft-save")
	lab := &lab{t, kerneltest.New(t), kerneltest.New(t), kerneltest.New(t)}
	lab.node.Must("ip link set lo up")
	lab.veth(lab.client, "n0", "10.88.1")
	lab.veth(lab.server, "n1", "10.88.2")
	lab.node.Must(
		"sysctl -qw net.ipv4.ip_forward=1",
		"ip -6 addr add fd88::1/64 dev n0 nodad",
		"ip -6 route add fd99::/64 via fd88::2 metric 5",
		"ip route add blackhole 10.60.0.0/16 table 100",
		"ip rule add priority 90 fwmark 0x10/0xff iif n0 table 100",
		"ip -6 rule add priority 91 from fd77::/16 prohibit",
		"ip rule add priority 92 ipproto tcp table 100",
		"nfacct add cw-dropped",
		"iptables-legacy -t nat -A PREROUTING -d 10.99.0.1 -p tcp --dport 80 -j DNAT --to-destination 10.88.2.2:8080",
		"iptables-legacy -t nat -A POSTROUTING -o n1 -j MASQUERADE",
		"iptables-nft -A FORWARD -m conntrack --ctstate INVALID -m nfacct --nfacct-name cw-dropped -j DROP",
		"ip6tables-nft -A FORWARD -j ACCEPT",
	)
	return lab
}

// veth joins a place to the node, which is .1 of the net.
func (lab *lab) veth(place *kerneltest.Namespace, dev, prefix string) {
	lab.node.Must(
		"ip link add "+dev+" type veth peer name eth0 netns "+place.Path(),
		"ip addr add "+prefix+".1/24 brd + dev "+dev,
		"ip link set "+dev+" up",
	)
	place.Must(
		"ip link set lo up",
		"ip addr add "+prefix+".2/24 dev eth0",
		"ip link set eth0 up",
		"ip route add default via "+prefix+".1",
	)
}

// take takes a snapshot of the node.
func (lab *lab) take() (s *NodeSnapshot) {
	lab.node.Do(func() {
		var err error
		s, err = Take(context.Background(), exec.New())
		require.NoError(lab.t, err)
	})
	return s
}

// connect opens a connection through the node that lasts until the test's end, and gives the
// client's port. It also sends a datagram that gets no answer of its own.
func (lab *lab) connect() uint16 {
	var listener net.Listener
	var client, datagrams net.Conn
	lab.server.Do(func() {
		var err error
		listener, err = net.Listen("tcp4", "10.88.2.2:8080")
		require.NoError(lab.t, err)
	})
	lab.t.Cleanup(func() { _ = listener.Close() })
	lab.client.Do(func() {
		var err error
		client, err = net.Dial("tcp4", "10.99.0.1:80")
		require.NoError(lab.t, err)
		datagrams, err = net.Dial("udp4", "10.88.2.2:9")
		require.NoError(lab.t, err)
		_, err = datagrams.Write([]byte("nobody answers"))
		require.NoError(lab.t, err)
	})
	lab.t.Cleanup(func() { _, _ = client.Close(), datagrams.Close() })
	return client.LocalAddr().(*net.TCPAddr).AddrPort().Port()
}

func TestTakeOfTheKernel(t *testing.T) {
	lab := newLab(t)
	port := lab.connect()
	s := lab.take()
	t.Run("what was configured is in it", func(t *testing.T) { checkKernelSnapshot(t, s, port) })
	t.Run("no table came into being", func(t *testing.T) {
		assert.Equal(t, "nat\n", lab.node.Must("cat /proc/net/ip_tables_names /proc/net/ip6_tables_names"))
	})
	t.Run("it is read back", func(t *testing.T) {
		var b bytes.Buffer
		require.NoError(t, s.Write(&b, YAML))
		again, err := Read("node.yaml", &b)
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
	t.Run("two backends hold rules", func(t *testing.T) {
		assert.Equal(t, netfilter.Dialects(), s.Dialects())
		h, err := NewHost(s, HostOptions{})
		require.NoError(t, err)
		assert.Len(t, fakeipt.Kernels(h.Netfilter()), 2)
	})
	t.Run("the live connection goes on in a host", func(t *testing.T) {
		h, err := NewHost(s, HostOptions{Dialect: "legacy"})
		require.NoError(t, err)
		walkLiveConnection(t, h, s, port)
	})
}

// TestKernelTakeOfMixedTools takes a node with rules of both backends and with tables that are neither's. Whether the kernel says in which
// order it runs them depends on nfnetlink_hook.
func TestKernelTakeOfMixedTools(t *testing.T) {
	kerneltest.Need(t, "nft")
	lab := newLab(t)
	lab.node.Must(
		"iptables-legacy -A FORWARD -p tcp --dport 8080 -j ACCEPT",
		"nft add table inet guard", "nft add chain inet guard onward { type filter hook forward priority 10; }", "nft add chain inet guard plain",
		"nft add table netdev edge", "nft add chain netdev edge arriving { type filter hook ingress device n1 priority -5; }",
		"nft add table bridge br", "nft add table ip mangle", "nft add chain ip mangle extra { type filter hook input priority -7; }",
	)
	s := lab.take()
	assert.Equal(t, netfilter.Dialects(), s.Dialects())
	var tables []NFTable
	for _, table := range s.NFTables {
		own := table.Name == "mangle" // the tools of iptables have tables of that name: its rules are not taken
		assert.Equal(t, own, table.Rules == "", table.Name)
		table.Rules = ""
		tables = append(tables, table)
	}
	assert.ElementsMatch(t, []NFTable{
		{Family: "inet", Name: "guard",
			Chains: []NFChain{{Name: "onward", Hook: "forward", Priority: 10, Type: "filter", May: []NFEffect{EffectPass}}}},
		{Family: "netdev", Name: "edge",
			Chains: []NFChain{{Name: "arriving", Hook: "ingress", Priority: -5, Device: "n1", Type: "filter", May: []NFEffect{EffectPass}}}},
		{Family: "bridge", Name: "br"},
		{Family: "ip", Name: "mangle",
			Chains: []NFChain{{Name: "extra", Hook: "input", Priority: -7, Type: "filter", May: []NFEffect{EffectPass}}}},
	}, tables)
	told := slices.ContainsFunc(s.Unread, func(u Unread) bool { return u.What == "order of the iptables backends" })
	if len(s.Order) > 0 { // the legacy table came last
		assert.Contains(t, s.Order, HookOrder{Family: netfilter.IPv4, Hook: "FORWARD", Table: "filter", First: "legacy"})
	}
	assert.NotEqual(t, told, len(s.Order) > 0, "the order is known, or it is said that it is not")

	in, err := inet.ParseInput("tcp 10.88.1.2:4000 > 10.99.0.1:80 in n0")
	require.NoError(t, err)
	result, err := s.Trace(in, HostOptions{First: "legacy"}, packetsim.WalkOptions{})
	require.NoError(t, err)
	require.Len(t, result.Outcomes, 1)
	assert.Equal(t, "10.88.2.2:8080", result.Outcomes[0].DNAT)
	var dialects []netfilter.Dialect
	for _, step := range result.Outcomes[0].Steps {
		if step.Hook == "FORWARD" && step.Table == "filter" {
			dialects = append(dialects, step.Dialect)
		}
	}
	assert.Equal(t, []netfilter.Dialect{netfilter.Legacy, netfilter.NFT}, dialects)
	assert.Equal(t, []packetsim.Doubt{{Kind: packetsim.DoubtUnread, Unless: "the policy rule of priority 92 routes it another way",
		See: "ip -j rule"}}, result.Doubts, "no native chain has a rule, and in either order the packet ends the same")
}

// TestKernelTakeOfTablesThatNFTChanged takes tables with names of iptables' that hold what nft made.
func TestKernelTakeOfTablesThatNFTChanged(t *testing.T) {
	kerneltest.Need(t, "ip", "iptables-nft", "iptables-nft-save", "ip6tables-nft-save", "nft")
	const incompatible = "Table `filter' is incompatible, use 'nft' tool."
	whole := []NFChain{{Name: "FORWARD", Hook: "forward", Type: "filter", May: []NFEffect{EffectDrop}}}
	rule := func(text string) string { return "nft add rule ip filter FORWARD " + text }
	inForward := func(numbers string) []Unread {
		return []Unread{{"chain FORWARD of nftables table ip filter",
			"not supported: nft made rules in it, of which iptables-nft-save may leave " +
				"parts out in silence (rule " + numbers + ")"}}
	}
	for _, row := range []struct {
		name     string
		commands []string
		tables   []NFTable
		unread   []Unread
	}{
		{"what iptables makes", []string{
			"iptables-nft -A FORWARD -p tcp --dport 80 -m mark --mark 5 -j ACCEPT",
			"iptables-nft -A FORWARD -p tcp --syn -m comment --comment a -j LOG",
			"iptables-nft -A FORWARD -s 10.0.0.0/9 -m limit --limit 5/s", "iptables-nft -t nat -A POSTROUTING -j MASQUERADE",
			"iptables-nft -t mangle -A PREROUTING -p udp -m multiport --dports 1,2 -j MARK --set-mark 5", "iptables-nft -A FORWARD -j NFLOG",
		}, nil, nil},
		{"a lookup",
			[]string{rule("ip saddr vmap { 10.0.0.1 : drop } counter"), rule("counter accept"), rule("tcp dport { 22, 80 } counter drop")}, nil,
			inForward("2, 4")},
		{"a range, which is printed as its end", []string{rule("ip saddr 10.0.0.1-10.0.0.9 drop")}, nil, inForward("2")},
		{"a chain of another name", []string{"nft add chain ip filter own { type filter hook input priority 5; }"},
			[]NFTable{{Family: "ip", Name: "filter",
				Chains: []NFChain{{Name: "own", Hook: "input", Priority: 5, Type: "filter", May: []NFEffect{EffectPass}}}}},
			[]Unread{{"nftables table ip filter", "not supported: only its chains that iptables made are read"}}},
		{"a chain of another priority", []string{"nft add chain ip filter INPUT { type filter hook input priority -5; }"},
			[]NFTable{{Family: "ip", Name: "filter",
				Chains: []NFChain{{Name: "INPUT", Hook: "input", Priority: -5, Type: "filter", May: []NFEffect{EffectPass}}}}},
			[]Unread{{"nftables table ip filter", "not supported: only its chains that iptables made are read"}}},
		{"an expression that no tool knows", []string{rule("ct state new drop")}, []NFTable{{Family: "ip", Name: "filter", Chains: whole}},
			[]Unread{{"nftables table ip filter", incompatible}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			node := kerneltest.New(t)
			node.Must("nft add table ip filter", "nft add chain ip filter FORWARD { type filter hook forward priority 0; }",
				"iptables-nft -A FORWARD -p tcp --dport 5 -j ACCEPT")
			node.Must(row.commands...)
			node.Do(func() {
				s, err := Take(t.Context(), exec.New())
				require.NoError(t, err)
				assert.Equal(t, row.tables, s.NFTables)
				assert.Equal(t, row.unread, s.Unread)
			})
		})
	}
}

// TestDevicesAreInTheOrderOfTheirCreation: the kernel masquerades what leaves by a device without a fitting address with that of the one
// that came first, whatever its index. The walk takes the same from a snapshot.
func TestDevicesAreInTheOrderOfTheirCreation(t *testing.T) {
	kerneltest.Need(t, "ip", "iptables-nft", "iptables-nft-save", "conntrack")
	node := kerneltest.New(t)
	node.Must(
		"ip link set lo up",
		"ip link add early index 500 type veth peer name early0 index 501", "ip link add late index 5 type veth peer name late0 index 6",
		"ip addr add 10.1.0.1/24 dev early", "ip addr add 10.2.0.1/24 dev late",
		"ip link set early up", "ip link set late up", "ip link set early0 up", "ip link set late0 up",
		"ip route add 10.9.9.9 dev late",
		"iptables-nft -t nat -A OUTPUT -d 10.9.9.9 -j DNAT --to-destination 10.1.0.1",
		"iptables-nft -t nat -A POSTROUTING -o lo -j MASQUERADE",
	)
	var s *NodeSnapshot
	node.Do(func() {
		sender, err := net.Dial("udp4", "10.9.9.9:53")
		require.NoError(t, err)
		_, err = sender.Write([]byte("anything"))
		require.NoError(t, err)
		require.NoError(t, sender.Close())
		s, err = Take(t.Context(), exec.New())
		require.NoError(t, err)
	})
	var names []string
	for _, d := range s.Devices {
		names = append(names, d.Name)
	}
	assert.Less(t, slices.Index(names, "early"), slices.Index(names, "late"))
	entry := node.Must("conntrack -L -p udp --orig-dst 10.9.9.9")
	s.Conntrack = nil
	h, err := NewHost(s, HostOptions{Dialect: "nft"})
	require.NoError(t, err)
	sent := inet.Packet{Proto: inet.UDP, Src: netip.MustParseAddr("10.2.0.1"), Dst: netip.MustParseAddr("10.9.9.9"), SrcPort: 4000,
		DstPort: 53}
	outcomes, err := h.Walk(inet.Input{Packet: sent, Local: true})
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	assert.Contains(t, entry, "src=10.1.0.1 dst="+outcomes[0].Packet.Src.String(), "the kernel's entry")
}

func checkKernelSnapshot(t *testing.T, s *NodeSnapshot, port uint16) {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	devices := map[string]Device{}
	for _, d := range s.Devices {
		devices[d.Name] = d
	}
	assert.Equal(t, "loopback", devices["lo"].Kind)
	assert.Equal(t, "veth", devices["n0"].Kind)
	assert.NotNil(t, devices["n0"].PeerNetns)
	assert.Contains(t, devices["n0"].Addresses, Address{Prefix: prefix("10.88.1.1/24"), Scope: packetsim.ScopeGlobal,
		Broadcast: addr("10.88.1.255")})
	assert.Contains(t, devices["n0"].Addresses, Address{Prefix: prefix("fd88::1/64"), Scope: packetsim.ScopeGlobal})

	assert.Contains(t, s.Routes, Route{Dst: prefix("10.60.0.0/16"), Type: packetsim.RouteBlackhole, Table: 100, Scope: packetsim.ScopeGlobal,
		Protocol: "boot"})
	assert.Contains(t, s.Routes, Route{Dst: prefix("fd99::/64"), Type: packetsim.RouteUnicast, Via: addr("fd88::2"), Dev: "n0",
		Table: packetsim.TableMain, Metric: 5, Scope: packetsim.ScopeGlobal, Protocol: "boot"})
	assert.Contains(t, s.Routes, Route{Dst: prefix("10.88.1.1/32"), Type: packetsim.RouteLocal, Dev: "n0", Src: addr("10.88.1.1"),
		Table: packetsim.TableLocal, Scope: packetsim.ScopeHost, Protocol: "kernel"})
	assert.Contains(t, s.PolicyRules, PolicyRule{Family: netfilter.IPv4, Priority: 90, Mark: 0x10, MarkMask: 0xff, In: "n0",
		Action: packetsim.RuleLookup, Table: 100})
	assert.Contains(t, s.PolicyRules, PolicyRule{Family: netfilter.IPv6, Priority: 91, From: prefix("fd77::/16"),
		Action: packetsim.RuleProhibit})
	assert.Contains(t, s.PolicyRules,
		PolicyRule{Family: netfilter.IPv4, Priority: 0, Action: packetsim.RuleLookup, Table: packetsim.TableLocal})

	assert.Equal(t, []Unread{{What: "IPv4 policy rule of priority 92",
		Why: "not supported: selector or option 22 (FRA_* of linux/fib_rules.h)"}}, withoutAddresses(s.Unread))

	assert.Equal(t, "1", s.Sysctls["net.ipv4.ip_forward"])
	assert.Contains(t, s.Sysctls, "net.ipv4.conf.n1.rp_filter")
	assert.Contains(t, s.Sysctls, "net.netfilter.nf_conntrack_tcp_be_liberal")

	var dialects []netfilter.Dialect
	for _, r := range s.IPTables {
		dialects = append(dialects, r.Dialect)
	}
	assert.Equal(t, []netfilter.Dialect{netfilter.Legacy, netfilter.NFT, netfilter.NFT}, dialects)
	assert.Contains(t, s.IPTables[0].Save, "-j MASQUERADE")
	assert.Contains(t, s.IPTables[1].Save, "--nfacct-name  cw-dropped")
	assert.Equal(t, []NFAcct{{Name: "cw-dropped"}}, s.NFAcct)

	require.Len(t, s.Conntrack, 2)
	assert.Equal(t, inet.UDP, s.Conntrack[1].Original.Proto)
	assert.False(t, s.Conntrack[1].Replied)
	assert.Empty(t, s.Conntrack[1].State)
	c := s.Conntrack[0]
	assert.Equal(t, Tuple{Proto: inet.TCP, Src: addr("10.88.1.2"), Dst: addr("10.99.0.1"), SrcPort: port, DstPort: 80}, c.Original)
	assert.Equal(t, addr("10.88.2.2"), c.Reply.Src)
	assert.Equal(t, addr("10.88.2.1"), c.Reply.Dst)
	assert.Equal(t, "ESTABLISHED", c.State)
	assert.True(t, c.Replied)
	assert.True(t, c.Assured)
	assert.Greater(t, c.Timeout, uint32(1000))
}

func walkLiveConnection(t *testing.T, h *packetsim.Host, s *NodeSnapshot, port uint16) {
	walk := func(p inet.Packet, in string) packetsim.Outcome {
		p.Proto, p.TCPFlags = inet.TCP, inet.PSH|inet.ACK
		outcomes, err := h.Walk(inet.Input{Packet: p, In: in})
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		require.Equal(t, packetsim.Accept, outcomes[0].Verdict, outcomes[0].Why)
		for _, step := range outcomes[0].Steps {
			assert.NotEqual(t, "nat", step.Table, "nat sees a connection's first packet only")
		}
		return outcomes[0]
	}
	out := walk(inet.Packet{Src: s.Conntrack[0].Original.Src, Dst: s.Conntrack[0].Original.Dst, SrcPort: port, DstPort: 80}, "n0")
	assert.Equal(t, "n1", out.Out)
	assert.Equal(t, "10.88.2.2:8080", out.DNAT)
	assert.True(t, out.Masqueraded)

	reply := s.Conntrack[0].Reply
	back := walk(inet.Packet{Src: reply.Src, Dst: reply.Dst, SrcPort: reply.SrcPort, DstPort: reply.DstPort}, "n1")
	assert.Equal(t, "n0", back.Out)
	assert.Equal(t, netip.MustParseAddr("10.99.0.1"), back.Packet.Src)
	assert.Equal(t, port, back.Packet.DstPort)
}

// withoutAddresses leaves out the link-local addresses that are still tried for duplicates.
func withoutAddresses(unread []Unread) []Unread {
	return slices.DeleteFunc(slices.Clone(unread), func(u Unread) bool { return strings.HasPrefix(u.What, "address fe80:") })
}
