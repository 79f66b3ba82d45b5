package packetsim

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// manyNode is a host on which programs have joined a group of each family on eth0.
func manyNode(t *testing.T, rules string) *Host {
	t.Helper()
	k := fakeipt.New(fakeipt.Options{})
	if rules != "" {
		restoreInto(t, k, netfilter.IPv6, rules)
	}
	if rules != "" && !strings.Contains(rules, "fd00") {
		restoreInto(t, k, netfilter.IPv4, rules)
	}
	h, err := NewHost(HostConfig{
		Name: "node", Netfilter: k.Namespace(), Routes: testRoutes(),
		Devices: []Device{
			{Name: "eth0", Up: true, Addresses: addresses("192.168.0.3/24", "fd00:1::3/64"),
				Groups: []netip.Addr{netip.MustParseAddr("239.1.1.1"), netip.MustParseAddr("ff0e::1:1")}},
			{Name: "veth1", Up: true, Addresses: addresses("10.244.0.1/32", "fd00:2::1/128"), Groups: []netip.Addr{}},
			{Name: "veth2", Up: true, Addresses: addresses("10.244.0.1/32"), Groups: []netip.Addr{}},
		},
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"},
	})
	require.NoError(t, err)
	return h
}

// withCopies is an outcome, and that of each packet that the host made because of it.
func withCopies(o Outcome) []string {
	all := []string{brief(o)}
	for i := range o.Replies {
		all = append(all, brief(o.Replies[i].Outcome))
	}
	return all
}

func TestHostSendsToMany(t *testing.T) {
	h := manyNode(t, "")
	rows := []struct {
		name, packet string
		want         []string // what becomes of the packet, and of the host's own copy
	}{
		{"all on lo", "udp 192.168.0.3:1 > 127.255.255.255:9 local", []string{"accept local 192.168.0.3:1>127.255.255.255:9"}},
		{"all on lo, from lo", "udp 127.0.0.1:1 > 127.255.255.255:9 local", []string{"accept local 127.0.0.1:1>127.255.255.255:9"}},
		{"all on the link", "udp 192.168.0.3:1 > 192.168.0.255:9 local",
			[]string{"accept forward eth0 192.168.0.3:1>192.168.0.255:9", "accept local 192.168.0.3:1>192.168.0.255:9"}},
		{"all on the link of the source", "udp 10.244.0.1:1 > 255.255.255.255:9 local",
			[]string{"accept forward veth1 10.244.0.1:1>255.255.255.255:9", "accept local 10.244.0.1:1>255.255.255.255:9"}},
		{"all, from lo", "udp 127.0.0.1:1 > 255.255.255.255:9 local", []string{"accept local 127.0.0.1:1>255.255.255.255:9"}},
		{"all hosts", "udp 192.168.0.3:1 > 224.0.0.1:9 local",
			[]string{"accept forward eth0 192.168.0.3:1>224.0.0.1:9", "accept local 192.168.0.3:1>224.0.0.1:9"}},
		{"a group that a program has joined", "udp 192.168.0.3:1 > 239.1.1.1:9 local",
			[]string{"accept forward eth0 192.168.0.3:1>239.1.1.1:9", "accept local 192.168.0.3:1>239.1.1.1:9"}},
		{"that group on another device", "udp 10.244.0.1:1 > 239.1.1.1:9 local", []string{"accept forward veth1 10.244.0.1:1>239.1.1.1:9"}},
		{"a group on lo", "udp 127.0.0.1:1 > 239.1.1.1:9 local", []string{"drop no member of the group"}},
		{"all nodes", "udp [fd00:1::3]:1 > [ff02::1]:9 local",
			[]string{"accept forward eth0 [fd00:1::3]:1>[ff02::1]:9", "accept local [fd00:1::3]:1>[ff02::1]:9"}},
		{"all routers", "udp [fd00:1::3]:1 > [ff05::2]:9 local",
			[]string{"accept forward eth0 [fd00:1::3]:1>[ff05::2]:9", "accept local [fd00:1::3]:1>[ff05::2]:9"}},
		{"another group", "udp [fd00:1::3]:1 > [ff0e::1:2]:9 local", []string{"accept forward eth0 [fd00:1::3]:1>[ff0e::1:2]:9"}},
		{"all nodes of the device", "udp [fd00:1::3]:1 > [ff01::1]:9 local",
			[]string{"drop the group is the host's own", "accept local [fd00:1::3]:1>[ff01::1]:9"}},
		{"a group without a hop", "udp 192.168.0.3:1 > 239.1.1.1:9 local ttl 0",
			[]string{"drop ttl exceeded", "accept local 192.168.0.3:1>239.1.1.1:9"}},
		{"another group without a hop", "udp 192.168.0.3:1 > 239.1.1.2:9 local ttl 0", []string{"accept forward eth0 192.168.0.3:1>239.1.1.2:9"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, withCopies(walkOne(t, h, row.packet))) })
	}
}

func TestHostHearsWhatIsForMany(t *testing.T) {
	h := manyNode(t, "")
	rows := []struct{ name, packet, want string }{
		{"all on the link", "udp 192.168.0.9:1 > 192.168.0.255:9 in eth0 link broadcast", "accept local 192.168.0.9:1>192.168.0.255:9"},
		{"all on another link", "udp 10.244.0.11:1 > 192.168.0.255:9 in veth1 link broadcast", "accept local 10.244.0.11:1>192.168.0.255:9"},
		{"all, from the host's own address", "udp 192.168.0.3:1 > 255.255.255.255:9 in eth0 link broadcast", "drop martian source"},
		{"all hosts", "udp 192.168.0.9:1 > 224.0.0.1:9 in eth0 link multicast", "accept local 192.168.0.9:1>224.0.0.1:9"},
		{"all hosts, from nobody", "udp 0.0.0.0:1 > 224.0.0.1:9 in eth0 link multicast", "accept local 0.0.0.0:1>224.0.0.1:9"},
		{"a group that a program has joined", "udp 192.168.0.9:1 > 239.1.1.1:9 in eth0 link multicast", "accept local 192.168.0.9:1>239.1.1.1:9"},
		{"that group, from nobody", "udp 0.0.0.0:1 > 239.1.1.1:9 in eth0 link multicast", "drop martian source"},
		{"that group by another device", "udp 10.244.0.11:1 > 239.1.1.1:9 in veth1 link multicast", "drop no member of the group"},
		{"in a frame to all", "udp 192.168.0.9:1 > 10.244.0.11:9 in eth0 link broadcast", "drop a frame to many is not forwarded"},
		{"all nodes", "udp [fd00:1::9]:1 > [ff02::1]:9 in eth0 link multicast", "accept local [fd00:1::9]:1>[ff02::1]:9"},
		{"who has the host's address", "icmpv6 fd00:1::9 > ff02::1:ff00:3 type 135/0 in eth0 link multicast",
			"accept local fd00:1::9>ff02::1:ff00:3"},
		{"who has another", "icmpv6 fd00:1::9 > ff02::1:ff00:4 type 135/0 in eth0 link multicast", "drop no member of the group"},
		{"the sender's own group", "udp [fd00:1::9]:1 > [ff01::1]:9 in eth0 link multicast", "drop address is not allowed on the wire"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, brief(walkOne(t, h, row.packet))) })
	}
}

// TestNobodyIsToldOfWhatIsForMany holds REJECT: no error is sent about a packet to many.
func TestNobodyIsToldOfWhatIsForMany(t *testing.T) {
	h := manyNode(t, "*filter\n-A INPUT -p udp -j REJECT\n-A OUTPUT -p tcp -j REJECT --reject-with tcp-reset\nCOMMIT\n")
	for _, packet := range []string{
		"udp 192.168.0.9:1 > 224.0.0.1:9 in eth0 link multicast", "udp [fd00:1::9]:1 > [ff02::1]:9 in eth0 link multicast",
		"udp 192.168.0.9:1 > 192.168.0.3:9 in eth0 link broadcast", "tcp 192.168.0.3:1 > 192.168.0.255:9 local",
	} {
		o := walkOne(t, h, packet)
		assert.Equal(t, Reject, o.Verdict, packet)
		assert.Empty(t, o.Replies, packet)
	}
}

// TestCopyKeepsTheKindOfItsFrame has what Linux 6.18 did: nobody is told that the copy of a broadcast was refused, though its own way
// leads to one machine.
func TestCopyKeepsTheKindOfItsFrame(t *testing.T) {
	h, _ := testNode{rules4: "*mangle\n-A INPUT -j TEE --gateway 10.244.0.12 --oif veth2\nCOMMIT\n" +
		"*filter\n-A OUTPUT -m pkttype --pkt-type broadcast\n-A OUTPUT -j REJECT\nCOMMIT\n"}.build(t)
	for packet, errors := range map[string]int{
		"udp 192.168.0.9:1 > 192.168.0.255:9 in eth0 link broadcast": 0,
		"udp 192.168.0.9:1 > 192.168.0.3:9 in eth0 link broadcast":   0,
		"udp 192.168.0.9:1 > 192.168.0.3:9 in eth0 link unicast":     1,
	} {
		o := walkOne(t, h, packet)
		require.Len(t, o.Replies, 1, packet)
		assert.Equal(t, Reject, o.Replies[0].Outcome.Verdict, packet)
		assert.Len(t, o.Replies[0].Outcome.Replies, errors, packet)
	}
	_, err := h.Walk(parse(t, "udp 192.168.0.9:1 > 192.168.0.3:9 in eth0"))
	require.ErrorIs(t, err, errNoLinkType, "the copy is asked for what nobody has told")
}

// TestOwnCopyIsHeardAsOfItsKind asks for the kind of frame, which a packet of the host has not and its copy has.
func TestOwnCopyIsHeardAsOfItsKind(t *testing.T) {
	h := manyNode(t, "*filter\n-A INPUT -m pkttype --pkt-type broadcast -j DROP\n-A INPUT -m pkttype --pkt-type multicast -j DROP\n"+
		"-A INPUT -m pkttype --pkt-type unicast\nCOMMIT\n")
	rows := []struct{ packet, rule string }{
		{"udp 192.168.0.3:1 > 192.168.0.255:9 local", "filter:INPUT:rule:1"},
		{"udp 192.168.0.3:1 > 224.0.0.1:9 local", "filter:INPUT:rule:2"},
		{"udp [fd00:1::3]:1 > [ff02::1]:9 local", "filter:INPUT:rule:2"},
	}
	for _, row := range rows {
		o := walkOne(t, h, row.packet)
		require.Len(t, o.Replies, 1, row.packet)
		steps := o.Replies[0].Outcome.Steps
		require.NotEmpty(t, steps, row.packet)
		assert.Equal(t, row.rule, steps[len(steps)-1].String(), row.packet)
	}
}

// TestWhatIsNotKnownOfManyIsRefused: no answer is better than a wrong one.
func TestWhatIsNotKnownOfManyIsRefused(t *testing.T) {
	h, _ := testNode{}.build(t)
	rows := []struct{ name, packet, want string }{
		{"to a group", "udp 192.168.0.3:1 > 239.1.1.1:9 local", "not known, since snapshots do not say it (ip maddr show): eth0, 239.1.1.1"},
		{"for a group", "udp [fd00:1::9]:1 > [ff0e::1:1]:9 in eth0", "not known, since snapshots do not say it (ip maddr show): eth0, ff0e::1:1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := h.Walk(parse(t, row.packet))
			require.ErrorContains(t, err, row.want)
		})
	}
	bridged, err := NewHost(HostConfig{Devices: []Device{
		{Name: "br0", Kind: "bridge", Up: true, Addresses: addresses("10.244.0.1/24")}, {Name: "veth1", Master: "br0", Up: true},
	}})
	require.NoError(t, err)
	for _, dst := range []string{"10.244.0.255", "255.255.255.255", "224.0.0.1"} {
		_, err := bridged.Walk(parse(t, "udp 10.244.0.2:1 > "+dst+":9 in veth1"))
		require.ErrorContains(t, err, "not supported: a frame to many by a port of a bridge")
	}
}

// TestCopyForAGroupIsHeardByNobody: IPv6 gives the host what TEE sends for a group, too, by the route to the gateway.
func TestCopyForAGroupIsHeardByNobody(t *testing.T) {
	h := manyNode(t, "*mangle\n-A INPUT -s fd00:1::9/128 -j TEE --gateway fd00:1::8\nCOMMIT\n")
	o := walkOne(t, h, "udp [fd00:1::9]:1 > [ff02::1]:9 in eth0 link multicast")
	require.Len(t, o.Replies, 1)
	assert.Equal(t, []string{"accept forward eth0 [fd00:1::9]:1>[ff02::1]:9 via fd00:1::8", "drop a frame to many is not forwarded"},
		withCopies(o.Replies[0].Outcome))
}

// TestNPTOfTheHostsOwnCopyIsRefused: in the kernel it changes the packet that leaves as well.
func TestNPTOfTheHostsOwnCopyIsRefused(t *testing.T) {
	h := manyNode(t, "*mangle\n-A INPUT -j SNPT --src-pfx fd00:1::/64 --dst-pfx fd00:9::/64\nCOMMIT\n")
	_, err := h.Walk(parse(t, "udp [fd00:1::3]:1 > [ff02::1]:9 local"))
	require.ErrorContains(t, err, "not supported: SNPT or DNPT of the host's own copy")
}
