package packetsim

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// restored is a netfilter configuration filled by iptables-restore.
func restored(t testing.TB, family netfilter.Family, rules string) *fakeipt.Kernel {
	t.Helper()
	k := fakeipt.New(fakeipt.Options{})
	restoreInto(t, k, family, rules)
	return k
}

func restoreInto(t testing.TB, k *fakeipt.Kernel, family netfilter.Family, rules string, options ...string) {
	t.Helper()
	tool := "iptables-restore"
	if family == netfilter.IPv6 {
		tool = "ip6tables-restore"
	}
	var out, errOut bytes.Buffer
	status := k.Run(append([]string{tool}, options...), strings.NewReader(rules), &out, &errOut)
	require.Zerof(t, status, "%s: %s", tool, errOut.String())
}

// testNode is a node of a small cluster: eth0 to other nodes and the outside, two pods behind veths.
type testNode struct {
	rules4, rules6 string
	sysctls        map[string]string
	routes         []Route
	policy         []PolicyRule
	conntrack      []conntrack.Entry
}

func (n testNode) build(t testing.TB) (*Host, *clocktesting.FakeClock) {
	t.Helper()
	k := fakeipt.New(fakeipt.Options{})
	if n.rules4 != "" {
		restoreInto(t, k, netfilter.IPv4, n.rules4)
	}
	if n.rules6 != "" {
		restoreInto(t, k, netfilter.IPv6, n.rules6)
	}
	sysctls := map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}
	for key, value := range n.sysctls {
		sysctls[key] = value
	}
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	h, err := NewHost(HostConfig{
		Name: "node", Devices: testDevices(), Routes: append(testRoutes(), n.routes...), PolicyRules: n.policy,
		Sysctls: sysctls, Netfilter: k.Namespace(), Clock: clock, Conntrack: n.conntrack,
	})
	require.NoError(t, err)
	return h, clock
}

func addresses(list ...string) []Address {
	var as []Address
	for _, s := range list {
		as = append(as, Address{Prefix: netip.MustParsePrefix(s)})
	}
	return as
}

func testDevices() []Device {
	return []Device{
		{Name: "eth0", Up: true, Addresses: addresses("192.168.0.3/24", "fd00:1::3/64", "fe80::3/64")},
		{Name: "veth1", Up: true, Addresses: addresses("10.244.0.1/32", "fd00:2::1/128", "fe80::1/64")},
		{Name: "veth2", Up: true, Addresses: addresses("10.244.0.1/32", "fd00:2::1/128", "fe80::2/64")},
		{Name: "down0", Addresses: addresses("10.9.0.1/24")},
	}
}

func testRoutes() []Route {
	return []Route{
		{Dst: netip.MustParsePrefix("10.244.0.11/32"), Dev: "veth1", Scope: ScopeHost},
		{Dst: netip.MustParsePrefix("10.244.0.12/32"), Dev: "veth2", Scope: ScopeHost},
		{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.1"), Dev: "eth0"},
		{Dst: netip.MustParsePrefix("fd00:2::11/128"), Dev: "veth1"},
		{Dst: netip.MustParsePrefix("fd00:2::12/128"), Dev: "veth2"},
		{Dst: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fd00:1::1"), Dev: "eth0"},
	}
}

func parse(t testing.TB, packet string) inet.Input {
	t.Helper()
	in, err := inet.ParseInput(packet)
	require.NoError(t, err)
	return in
}

// walkOne walks a packet that has one outcome.
func walkOne(t testing.TB, h *Host, packet string) Outcome {
	t.Helper()
	outcomes, err := h.Walk(parse(t, packet))
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	return outcomes[0]
}

// step keeps what the packet does. A rule that leaves something to chance takes its first way.
func step(t testing.TB, h *Host, packet string) Outcome {
	t.Helper()
	o, err := h.Step(parse(t, packet), &replayChance{})
	require.NoError(t, err)
	return o
}

// brief is an outcome in one line: "accept forward eth0 10.244.0.11:1>10.0.0.1:80", with what was special about it.
func brief(o Outcome) string {
	words := []string{string(o.Verdict)}
	if o.To != ToNone {
		words = append(words, string(o.To))
	}
	if o.Out != "" {
		words = append(words, o.Out)
	}
	if o.Verdict == Accept {
		words = append(words, header(o.Packet))
	}
	if o.NextHop.IsValid() && o.NextHop != o.Packet.Dst {
		words = append(words, "via "+o.NextHop.String())
	}
	for _, special := range []string{o.RejectWith, o.Why} {
		if special != "" {
			words = append(words, special)
		}
	}
	return strings.Join(words, " ")
}

func header(p inet.Packet) string {
	if !p.Proto.HasPorts() {
		return fmt.Sprintf("%s>%s", p.Src, p.Dst)
	}
	return netip.AddrPortFrom(p.Src, p.SrcPort).String() + ">" + netip.AddrPortFrom(p.Dst, p.DstPort).String()
}

// way is the outcome's steps in one line.
func way(o Outcome) string {
	var lines []string
	for _, s := range o.Steps {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, " ")
}

// hits says whether a rule "-A FORWARD ARGS -j DROP" drops the packet.
func hits(t *testing.T, args, packet string) bool {
	t.Helper()
	in := parse(t, packet)
	n := testNode{}
	rules := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD " + args + " -j DROP\nCOMMIT\n"
	if in.Is6() {
		n.rules6 = rules
	} else {
		n.rules4 = rules
	}
	h, _ := n.build(t)
	outcomes, err := h.Walk(in)
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	return outcomes[0].Verdict == Drop
}

// matchRow is a row of a match's table.
type matchRow struct {
	args, packet string
	want         bool
}

func checkMatches(t *testing.T, rows []matchRow) {
	for _, row := range rows {
		t.Run(row.args+" | "+row.packet, func(t *testing.T) {
			assert.Equal(t, row.want, hits(t, row.args, row.packet))
		})
	}
}

func TestNewHostRefuses(t *testing.T) {
	rows := []struct {
		name   string
		config HostConfig
		want   string
	}{
		{"a device twice", HostConfig{Devices: []Device{{Name: "a"}, {Name: "a"}}}, "device a is given twice"},
		{"a device without a name", HostConfig{Devices: []Device{{}}}, `device ""`},
		{"a route to a missing device", HostConfig{Routes: []Route{{Dst: netip.MustParsePrefix("10.0.0.0/8"), Dev: "x"}}}, `no device "x"`},
		{"a route without destination", HostConfig{Routes: []Route{{Dev: "lo"}}}, "route 4: the destination is not set"},
		{"a route of an unknown type", HostConfig{Routes: []Route{{Dst: netip.MustParsePrefix("10.0.0.0/8"), Type: "nat"}}},
			`unknown type "nat"`},
		{"a rule without family", HostConfig{PolicyRules: []PolicyRule{{}}}, "unknown family 0"},
		{"a sysctl that is no number", HostConfig{Sysctls: map[string]string{"net.ipv4.ip_forward": "yes"}}, `"yes" is not a number`},
		{"a connection in an unknown state", HostConfig{Conntrack: []conntrack.Entry{{Original: conntrack.Tuple{Proto: inet.TCP},
			Reply: conntrack.Tuple{Proto: inet.TCP},
			State: "OPEN"}}}, `unknown state "OPEN"`},
		{"tuples of two protocols", HostConfig{Conntrack: []conntrack.Entry{{Original: conntrack.Tuple{Proto: inet.TCP},
			Reply: conntrack.Tuple{Proto: inet.UDP}}}},
			"does not answer"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := NewHost(row.config)
			require.ErrorContains(t, err, row.want)
		})
	}
}

func TestWalkRefusesInput(t *testing.T) {
	h, _ := testNode{}.build(t)
	local := parse(t, "tcp 192.168.0.3:1 > 10.244.0.11:80 local")
	rows := []struct {
		name  string
		input func() inet.Input
		want  string
	}{
		{"no destination", func() inet.Input { in := local; in.Dst = netip.Addr{}; return in }, "Dst is not set"},
		{"no source from outside", func() inet.Input { in := local; in.Local, in.In, in.Src = false, "eth0", netip.Addr{}; return in },
			"Src is not set"},
		{"two families", func() inet.Input { in := local; in.Dst = netip.MustParseAddr("fd00::1"); return in }, "different families"},
		{"local and by a device", func() inet.Input { in := local; in.In = "eth0"; return in }, "want one of them"},
		{"by a missing device", func() inet.Input { in := local; in.Local, in.In = false, "eth9"; return in }, `no device "eth9"`},
		{"a group that programs may have joined", func() inet.Input { in := local; in.Dst = netip.MustParseAddr("239.1.1.1"); return in },
			"not known"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := h.Walk(row.input())
			require.ErrorContains(t, err, row.want)
		})
	}
}

func TestSysctlForwardingIsOneForAllDevices(t *testing.T) {
	h, _ := testNode{sysctls: map[string]string{"net.ipv4.conf.veth1.forwarding": "0"}}.build(t)
	packet := "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1"
	assert.Equal(t, "drop forwarding is off", brief(walkOne(t, h, packet)))
	require.NoError(t, h.SetSysctl("net.ipv4.ip_forward", "1"))
	assert.Equal(t, "accept forward veth2 10.244.0.11:1>10.244.0.12:80", brief(walkOne(t, h, packet)))
	value, ok := h.Sysctl("net.ipv4.ip_forward")
	assert.True(t, ok)
	assert.Equal(t, "1", value)
}

func TestConfigRebuildsTheHost(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1")
	twin, err := NewHost(h.Config())
	require.NoError(t, err)
	assert.Equal(t, h.Config(), twin.Config())
	for _, packet := range []string{"tcp 10.244.0.12:8080 > 10.244.0.11:1000 in veth2 flags SYN,ACK",
		"udp 10.244.0.11:5 > 8.8.8.8:53 in veth1"} {
		assert.Equal(t, walkOne(t, h, packet), walkOne(t, twin, packet))
	}
}
