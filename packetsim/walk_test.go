package packetsim

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

func TestWalkRoutes(t *testing.T) {
	h, _ := testNode{routes: []Route{
		{Dst: netip.MustParsePrefix("10.1.0.0/16"), Type: RouteUnreachable}, {Dst: netip.MustParsePrefix("10.2.0.0/16"), Type: RouteProhibit},
		{Dst: netip.MustParsePrefix("10.3.0.0/16"), Type: RouteBlackhole},
		{Dst: netip.MustParsePrefix("10.4.0.0/16"), Type: RouteThrow},
		{Dst: netip.MustParsePrefix("10.5.0.0/16"), Dev: "eth0", Metric: 20, Via: netip.MustParseAddr("192.168.0.20")},
		{Dst: netip.MustParsePrefix("10.5.0.0/16"), Dev: "eth0", Metric: 10, Via: netip.MustParseAddr("192.168.0.10")},
		{Dst: netip.MustParsePrefix("10.5.5.0/24"), Dev: "down0"},
	}}.build(t)
	rows := []struct{ name, packet, want string }{
		{"pod to pod", "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "accept forward veth2 10.244.0.11:1>10.244.0.12:80"},
		{"pod to the outside", "udp 10.244.0.11:1 > 8.8.8.8:53 in veth1", "accept forward eth0 10.244.0.11:1>8.8.8.8:53 via 192.168.0.1"},
		{"pod to the node", "tcp 10.244.0.11:1 > 192.168.0.3:22 in veth1", "accept local 10.244.0.11:1>192.168.0.3:22"},
		{"node to a pod", "tcp 192.168.0.3:1 > 10.244.0.12:80 local", "accept forward veth2 192.168.0.3:1>10.244.0.12:80"},
		{"node to itself", "tcp 192.168.0.3:1 > 192.168.0.3:80 local", "accept local 192.168.0.3:1>192.168.0.3:80"},
		{"node to its loopback", "tcp 127.0.0.1:1 > 127.0.0.9:80 local", "accept local 127.0.0.1:1>127.0.0.9:80"},
		{"smallest metric", "udp 10.244.0.11:1 > 10.5.0.1:1 in veth1", "accept forward eth0 10.244.0.11:1>10.5.0.1:1 via 192.168.0.10"},
		{"device of the longest prefix is down", "udp 10.244.0.11:1 > 10.5.5.1:1 in veth1",
			"accept forward eth0 10.244.0.11:1>10.5.5.1:1 via 192.168.0.10"},
		{"unreachable", "udp 10.244.0.11:1 > 10.1.0.1:1 in veth1", "reject icmp-host-unreachable unreachable route"},
		{"prohibited", "udp 10.244.0.11:1 > 10.2.0.1:1 in veth1", "reject icmp-admin-prohibited prohibited route"},
		{"blackhole", "udp 10.244.0.11:1 > 10.3.0.1:1 in veth1", "drop blackhole route"},
		{"throw leaves the table", "udp 10.244.0.11:1 > 10.4.0.1:1 in veth1", "reject icmp-net-unreachable no route"},
		{"node to an unreachable route", "udp 192.168.0.3:1 > 10.1.0.1:1 local", "drop unreachable route"},
		{"last hop", "udp 10.244.0.11:1 > 8.8.8.8:53 in veth1 ttl 1", "reject icmp-time-exceeded ttl exceeded"},
		{"last hop to the node itself", "udp 10.244.0.11:1 > 192.168.0.3:53 in veth1 ttl 1", "accept local 10.244.0.11:1>192.168.0.3:53"},
		{"device that is down", "udp 10.9.0.2:1 > 192.168.0.3:53 in down0", "drop device is down"},
		{"loopback source from outside", "tcp 127.0.0.1:1 > 192.168.0.3:80 in eth0", "drop martian source"},
		{"loopback destination from outside", "tcp 192.168.0.9:1 > 127.0.0.1:10255 in eth0", "drop martian destination"},
		{"own address from outside", "tcp 192.168.0.3:1 > 10.244.0.11:80 in eth0", "drop martian source"},
		{"broadcast source", "udp 255.255.255.255:1 > 192.168.0.3:1 in eth0", "drop martian source"},
		{"zero source", "udp 0.0.0.0:1 > 192.168.0.3:1 in eth0", "drop martian source"},
		{"subnet broadcast", "udp 192.168.0.9:1 > 192.168.0.255:1 in eth0", "accept local 192.168.0.9:1>192.168.0.255:1"},
		{"limited broadcast", "udp 0.0.0.0:68 > 255.255.255.255:67 in eth0", "accept local 0.0.0.0:68>255.255.255.255:67"},
		{"source that is not the node's", "tcp 1.2.3.4:1 > 10.244.0.12:80 local", "drop source is not an address of the host"},
		{"loopback source leaves", "tcp 127.0.0.1:1 > 10.244.0.12:80 local", "drop loopback source leaves the host"},
		{"IPv6 pod to pod", "tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1", "accept forward veth2 [fd00:2::11]:1>[fd00:2::12]:80"},
		{"IPv6 pod to the outside", "tcp [fd00:2::11]:1 > [2001:db8::1]:80 in veth1",
			"accept forward eth0 [fd00:2::11]:1>[2001:db8::1]:80 via fd00:1::1"},
		{"IPv6 node to itself", "tcp [::1]:1 > [fd00:1::3]:80 local", "accept local [::1]:1>[fd00:1::3]:80"},
		{"IPv6 loopback from outside", "tcp [fd00:1::9]:1 > [::1]:80 in eth0", "drop address is not allowed on the wire"},
		{"IPv6 link-local source", "tcp [fe80::9]:1 > [fd00:2::11]:80 in eth0", "reject icmp6-beyond-scope link-local source is not forwarded"},
		{"IPv6 last hop", "tcp [fd00:2::11]:1 > [2001:db8::1]:80 in veth1 ttl 1", "reject icmp6-time-exceeded ttl exceeded"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, brief(walkOne(t, h, row.packet))) })
	}
}

func TestWalkSysctls(t *testing.T) {
	rows := []struct {
		name, key, value, packet, want string
	}{
		{"forwarding off", "net.ipv4.ip_forward", "0", "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "drop forwarding is off"},
		{"IPv6 forwarding off", "net.ipv6.conf.all.forwarding", "0", "tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1", "drop forwarding is off"},
		{"route_localnet of all", "net.ipv4.conf.all.route_localnet", "1", "tcp 192.168.0.9:1 > 127.0.0.1:10255 in eth0",
			"accept local 192.168.0.9:1>127.0.0.1:10255"},
		{"route_localnet of the device", "net.ipv4.conf.eth0.route_localnet", "1", "tcp 192.168.0.9:1 > 127.0.0.1:10255 in eth0",
			"accept local 192.168.0.9:1>127.0.0.1:10255"},
		{"route_localnet of another device", "net.ipv4.conf.veth1.route_localnet", "1", "tcp 192.168.0.9:1 > 127.0.0.1:10255 in eth0",
			"drop martian destination"},
		{"route_localnet lets loopback leave", "net.ipv4.conf.veth2.route_localnet", "1", "tcp 127.0.0.1:1 > 10.244.0.12:80 local",
			"accept forward veth2 127.0.0.1:1>10.244.0.12:80"},
		{"accept_local", "net.ipv4.conf.eth0.accept_local", "1", "tcp 192.168.0.3:1 > 10.244.0.11:80 in eth0",
			"accept forward veth1 192.168.0.3:1>10.244.0.11:80"},
		{"strict filter, right device", "net.ipv4.conf.all.rp_filter", "1", "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1",
			"accept forward veth2 10.244.0.11:1>10.244.0.12:80"},
		{"strict filter, wrong device", "net.ipv4.conf.all.rp_filter", "1", "tcp 10.244.0.11:1 > 10.244.0.12:80 in eth0",
			"drop reverse path filter"},
		{"strict filter of one device", "net.ipv4.conf.eth0.rp_filter", "1", "tcp 10.244.0.11:1 > 10.244.0.12:80 in eth0",
			"drop reverse path filter"},
		{"loose filter, wrong device", "net.ipv4.conf.all.rp_filter", "2", "tcp 10.244.0.11:1 > 10.244.0.12:80 in eth0",
			"accept forward veth2 10.244.0.11:1>10.244.0.12:80"},
		{"a TTL of the host's own packets", "net.ipv4.ip_default_ttl", "9", "udp 192.168.0.3:1 > 192.168.0.3:1 local",
			"accept local 192.168.0.3:1>192.168.0.3:1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{sysctls: map[string]string{row.key: row.value}}.build(t)
			assert.Equal(t, row.want, brief(walkOne(t, h, row.packet)))
		})
	}
}

// TestOtherRulesThanTheKernelsOwnAreAPolicy: Linux looks whether the rules are its own (fib_has_custom_rules), and not how many there are.
func TestOtherRulesThanTheKernelsOwnAreAPolicy(t *testing.T) {
	own := defaultRules(netfilter.IPv4)
	spelled, replaced := slices.Clone(own), slices.Clone(own)
	for i := range spelled {
		spelled[i].Action = RuleLookup
	}
	replaced[2] = PolicyRule{Family: netfilter.IPv4, Priority: 100, Mark: 1, Table: 100}
	for name, c := range map[string]struct {
		rules  []PolicyRule
		custom bool
	}{
		"none given": {nil, false}, "its own": {own, false}, "its own, spelled out": {spelled, false},
		"one more": {append(slices.Clone(own), replaced[2]), true}, "one in place of another": {replaced, true}, "one gone": {own[:2], true},
	} {
		h, err := NewHost(HostConfig{Name: "node", Devices: testDevices(), PolicyRules: c.rules})
		require.NoError(t, err, name)
		assert.Equal(t, c.custom, h.fib4.custom, name)
		assert.False(t, h.fib6.custom, name)
	}
}

func TestPolicyRules(t *testing.T) {
	const private RouteTable = 100
	rules := append(defaultRules(netfilter.IPv4),
		PolicyRule{Family: netfilter.IPv4, Priority: 100, Mark: 0x10, MarkMask: 0xf0, Table: private},
		PolicyRule{Family: netfilter.IPv4, Priority: 101, From: netip.MustParsePrefix("10.244.0.12/32"), Table: private},
		PolicyRule{Family: netfilter.IPv4, Priority: 102, In: "eth0", To: netip.MustParsePrefix("10.7.0.0/16"), Action: RuleProhibit},
		PolicyRule{Family: netfilter.IPv4, Priority: 103, In: "lo", To: netip.MustParsePrefix("10.8.0.0/16"), Action: RuleBlackhole},
	)
	h, _ := testNode{policy: rules, routes: []Route{
		{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0", Via: netip.MustParseAddr("192.168.0.77"), Table: private},
	}}.build(t)
	rows := []struct{ name, packet, want string }{
		{"no rule", "udp 10.244.0.11:1 > 8.8.8.8:1 in veth1", "accept forward eth0 10.244.0.11:1>8.8.8.8:1 via 192.168.0.1"},
		{"by mark under a mask", "udp 10.244.0.11:1 > 8.8.8.8:1 in veth1 mark 0x115",
			"accept forward eth0 10.244.0.11:1>8.8.8.8:1 via 192.168.0.77"},
		{"by source", "udp 10.244.0.12:1 > 8.8.8.8:1 in veth2", "accept forward eth0 10.244.0.12:1>8.8.8.8:1 via 192.168.0.77"},
		{"by device", "udp 192.168.0.9:1 > 10.7.0.1:1 in eth0", "reject icmp-admin-prohibited prohibited route"},
		{"by another device", "udp 10.244.0.11:1 > 10.7.0.1:1 in veth1", "accept forward eth0 10.244.0.11:1>10.7.0.1:1 via 192.168.0.1"},
		{"of the node itself", "udp 192.168.0.3:1 > 10.8.0.1:1 local", "drop blackhole route"},
		{"mark of the node itself", "udp 192.168.0.3:1 > 8.8.8.8:1 local mark 0x10",
			"accept forward eth0 192.168.0.3:1>8.8.8.8:1 via 192.168.0.77"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, brief(walkOne(t, h, row.packet))) })
	}
}

func TestSourceFor(t *testing.T) {
	h, _ := testNode{}.build(t)
	for dst, want := range map[string]string{
		"8.8.8.8": "192.168.0.3", "10.244.0.11": "10.244.0.1", "127.0.0.9": "127.0.0.1", "192.168.0.3": "192.168.0.3",
		"fd00:2::11": "fd00:2::1", "2001:db8::1": "fd00:1::3", "::1": "::1", "fd00:1::3": "fd00:1::3",
	} {
		src, err := h.SourceFor(netip.MustParseAddr(dst))
		require.NoError(t, err)
		assert.Equal(t, want, src.String(), "to %s", dst)
	}
}

// TestWalkStages has all tables with all chains, and no rule but one that needs conntrack: the policies show the order.
func TestWalkStages(t *testing.T) {
	h, _ := testNode{rules4: `*raw
:PREROUTING ACCEPT [0:0]
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
-A PREROUTING -d 1.1.1.1 -j DNAT --to-destination 2.2.2.2
COMMIT
*filter
:INPUT ACCEPT [0:0]
COMMIT
*security
:INPUT ACCEPT [0:0]
COMMIT
`}.build(t)
	rows := []struct{ name, packet, want string }{
		{"forward", "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "raw:PREROUTING:policy:1 mangle:PREROUTING:policy:1 nat:PREROUTING:policy:2 " +
			"mangle:FORWARD:policy:1 filter:FORWARD:policy:1 security:FORWARD:policy:1 mangle:POSTROUTING:policy:1 nat:POSTROUTING:policy:1"},
		{"in", "tcp 10.244.0.11:1 > 192.168.0.3:80 in veth1", "raw:PREROUTING:policy:1 mangle:PREROUTING:policy:1 nat:PREROUTING:policy:2 " +
			"mangle:INPUT:policy:1 filter:INPUT:policy:1 security:INPUT:policy:1 nat:INPUT:policy:1"},
		{"out", "tcp 192.168.0.3:1 > 10.244.0.12:80 local", "raw:OUTPUT:policy:1 mangle:OUTPUT:policy:1 nat:OUTPUT:policy:1 " +
			"filter:OUTPUT:policy:1 " +
			"security:OUTPUT:policy:1 mangle:POSTROUTING:policy:1 nat:POSTROUTING:policy:1"},
		{"to itself, nat once", "tcp 127.0.0.1:1 > 127.0.0.1:80 local", "raw:OUTPUT:policy:1 mangle:OUTPUT:policy:1 nat:OUTPUT:policy:1 " +
			"filter:OUTPUT:policy:1 " +
			"security:OUTPUT:policy:1 mangle:POSTROUTING:policy:1 nat:POSTROUTING:policy:1 raw:PREROUTING:policy:1 mangle:PREROUTING:policy:1 " +
			"mangle:INPUT:policy:1 filter:INPUT:policy:1 security:INPUT:policy:1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, way(walkOne(t, h, row.packet))) })
	}
}

func TestNatChainsNeedARuleThatTracks(t *testing.T) {
	h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp\nCOMMIT\n"}.build(t)
	assert.Empty(t, walkOne(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1").Steps)
	step(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1")
	assert.Empty(t, h.Conntrack())
}

func TestWalkChains(t *testing.T) {
	rows := []struct{ name, rules, want string }{
		{"run to the end", "-A FORWARD -j A\n-A A -p udp\n", "drop filter:FORWARD:rule:1 filter:A:return:2 filter:FORWARD:policy:2"},
		{"no target", "-A FORWARD -p tcp\n", "drop filter:FORWARD:rule:1 filter:FORWARD:policy:2"},
		{"return with a condition", "-A FORWARD -j A\n-A A -p tcp -j RETURN\n",
			"drop filter:FORWARD:rule:1 filter:A:rule:1 filter:FORWARD:policy:2"},
		{"return without one", "-A FORWARD -j A\n-A A -p udp\n-A A -j RETURN\n",
			"drop filter:FORWARD:rule:1 filter:A:return:2 filter:FORWARD:policy:2"},
		{"accept without one", "-A FORWARD -j A\n-A A -j ACCEPT\n", "accept filter:FORWARD:rule:1 filter:A:return:1"},
		{"return from a built-in chain", "-A FORWARD -p tcp -j RETURN\n-A FORWARD -j ACCEPT\n",
			"drop filter:FORWARD:rule:1 filter:FORWARD:policy:3"},
		{"accept in a built-in chain", "-A FORWARD -j ACCEPT\n", "accept filter:FORWARD:policy:1"},
		{"goto comes back to the caller's caller", "-A FORWARD -j A\n-A FORWARD -p tcp -j ACCEPT\n-A A -g B\n-A A -j DROP\n",
			"accept filter:FORWARD:rule:1 filter:A:rule:1 filter:B:return:1 filter:FORWARD:rule:2"},
		{"goto from a built-in chain ends in the policy", "-A FORWARD -g A\n-A FORWARD -j ACCEPT\n",
			"drop filter:FORWARD:rule:1 filter:A:return:1 filter:FORWARD:policy:3"},
		{"log goes on", "-A FORWARD -j LOG\n-A FORWARD -p tcp -j ACCEPT\n", "accept filter:FORWARD:rule:1 filter:FORWARD:rule:2"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*filter\n:FORWARD DROP [0:0]\n:A - [0:0]\n:B - [0:0]\n" + row.rules + "COMMIT\n"}.build(t)
			o := walkOne(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1")
			assert.Equal(t, row.want, string(o.Verdict)+" "+way(o))
		})
	}
}

func TestStepHasTheRuleAsSaved(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -d 10.244.0.12 -p tcp -j DROP\nCOMMIT\n"}.build(t)
	o := walkOne(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1")
	require.Len(t, o.Steps, 1)
	assert.Equal(t, Step{
		Hook: "FORWARD", Table: "filter", Chain: "FORWARD", Kind: StepRule, Number: 1,
		Rule: &netfilter.Rule{Text: "-A FORWARD -d 10.244.0.12/32 -p tcp -j DROP", Fact: netfilter.Fact{
			Conditions: netfilter.Conditions{Dst: netip.MustParsePrefix("10.244.0.12/32"), Protocol: 6}, Verdict: netfilter.Drop,
		}},
	}, o.Steps[0])
}

func TestCountersAdvanceOnlyInAStep(t *testing.T) {
	h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp\nCOMMIT\n"}.build(t)
	chain := fakeipt.First(h.Netfilter()).Ruleset(netfilter.IPv4).Table("filter").Chain("FORWARD")
	walkOne(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1 len 100")
	assert.Zero(t, chain.Rules[0].Counters.Packets())
	step(t, h, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1 len 100")
	step(t, h, "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1 len 50")
	assert.EqualValues(t, 1, chain.Rules[0].Counters.Packets())
	assert.EqualValues(t, 100, chain.Rules[0].Counters.Bytes())
	assert.EqualValues(t, 2, chain.Counters.Packets())
	assert.EqualValues(t, 150, chain.Counters.Bytes())
}

func TestRerouteInOutput(t *testing.T) {
	h, _ := testNode{
		rules4: "*mangle\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -p udp -j MARK --set-mark 7\nCOMMIT\n",
		policy: append(defaultRules(netfilter.IPv4), PolicyRule{Family: netfilter.IPv4, Priority: 5, Mark: 7, Table: 7}),
		routes: []Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "veth1", Table: 7}},
	}.build(t)
	assert.Equal(t, "accept forward eth0 192.168.0.3:1>8.8.8.8:1 via 192.168.0.1", brief(walkOne(t, h, "tcp 192.168.0.3:1 > 8.8.8.8:1 local")))
	assert.Equal(t, "accept forward veth1 192.168.0.3:1>8.8.8.8:1", brief(walkOne(t, h, "udp 192.168.0.3:1 > 8.8.8.8:1 local")))
}
