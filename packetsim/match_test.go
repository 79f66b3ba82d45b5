package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

const tcpHTTP = "tcp 10.244.0.11:1000 > 10.244.0.12:80 in veth1"

func TestRuleConditions(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-s 10.244.0.11", tcpHTTP, true},
		{"! -s 10.244.0.11", tcpHTTP, false},
		{"-s 10.244.0.0/24 -d 10.244.0.12", tcpHTTP, true},
		{"-d 10.0.0.12/255.0.0.255", tcpHTTP, true},
		{"-d 10.0.0.13/255.0.0.255", tcpHTTP, false},
		{"-i veth1 -o veth2", tcpHTTP, true},
		{"-i veth+", tcpHTTP, true},
		{"! -i veth+", tcpHTTP, false},
		{"-o eth0", tcpHTTP, false},
		{"-p tcp", tcpHTTP, true},
		{"! -p tcp", tcpHTTP, false},
		{"-p mptcp", tcpHTTP, false},
		{"! -p mptcp", tcpHTTP, true},
		{"-p udp", tcpHTTP, false},
		{"-f", tcpHTTP, false},
		{"! -f", tcpHTTP, true},
		{"-m comment --comment words", tcpHTTP, true},
		{"-s fd00:2::/64", "tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1", true},
		{"! -d fd00:2::12", "tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1", false},
	})
}

func TestMatchTCP(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-p tcp -m tcp --dport 80", tcpHTTP, true},
		{"-p tcp -m tcp --dport 81", tcpHTTP, false},
		{"-p tcp -m tcp ! --dport 80", tcpHTTP, false},
		{"-p tcp -m tcp --dport 80:90 --sport 1000", tcpHTTP, true},
		{"-p tcp -m tcp --sport 1:999", tcpHTTP, false},
		{"-p tcp -m tcp --syn", tcpHTTP, true},
		{"-p tcp -m tcp --syn", tcpHTTP + " flags SYN,ACK", false},
		{"-p tcp -m tcp ! --syn", tcpHTTP + " flags ACK", true},
		{"-p tcp -m tcp --tcp-flags SYN,ACK ACK", tcpHTTP + " flags ACK,PSH", true},
	})
}

func TestMatchUDPAndSCTP(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-p udp -m udp --dport 53", "udp 10.244.0.11:1 > 10.244.0.12:53 in veth1", true},
		{"-p udp -m udp ! --sport 1", "udp 10.244.0.11:1 > 10.244.0.12:53 in veth1", false},
		{"-p udp -m udp --dport 80", tcpHTTP, false},
		{"-p sctp -m sctp --dport 53", "sctp 10.244.0.11:1 > 10.244.0.12:53 in veth1", true},
		{"-p sctp -m sctp --dport 54", "sctp 10.244.0.11:1 > 10.244.0.12:53 in veth1", false},
	})
}

func TestMatchMultiport(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-p tcp -m multiport --dports 79,80:90", tcpHTTP, true},
		{"-p tcp -m multiport --dports 1000", tcpHTTP, false},
		{"-p tcp -m multiport --sports 1000", tcpHTTP, true},
		{"-p tcp -m multiport --ports 1000", tcpHTTP, true},
		{"-p tcp -m multiport ! --ports 1000", tcpHTTP, false},
	})
}

func TestMatchICMP(t *testing.T) {
	const echo = "icmp 10.244.0.11 > 10.244.0.12 in veth1"
	checkMatches(t, []matchRow{
		{"-p icmp -m icmp --icmp-type 8", echo, true},
		{"-p icmp -m icmp --icmp-type 0", echo, false},
		{"-p icmp -m icmp ! --icmp-type 0", echo, true},
		{"-p icmp -m icmp --icmp-type any", echo, true},
		{"-p icmp -m icmp --icmp-type 3/3", echo + " type 3/3", true},
		{"-p icmp -m icmp --icmp-type 3/4", echo + " type 3/3", false},
		{"-p ipv6-icmp -m icmp6 --icmpv6-type 128", "icmpv6 fd00:2::11 > fd00:2::12 in veth1", true},
		{"-p ipv6-icmp -m icmp6 --icmpv6-type 129", "icmpv6 fd00:2::11 > fd00:2::12 in veth1", false},
	})
}

func TestMatchMark(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-m mark --mark 0x4000/0x4000", tcpHTTP + " mark 0x4001", true},
		{"-m mark --mark 0x4000/0x4000", tcpHTTP, false},
		{"-m mark ! --mark 0x4000/0x4000", tcpHTTP, true},
		{"-m mark --mark 0x4000", tcpHTTP + " mark 0x4001", false},
	})
}

func TestMatchConntrack(t *testing.T) {
	checkMatches(t, []matchRow{
		{"-m conntrack --ctstate NEW", tcpHTTP, true},
		{"-m conntrack ! --ctstate NEW", tcpHTTP, false},
		{"-m conntrack --ctstate ESTABLISHED,RELATED", tcpHTTP, false},
		{"-m conntrack --ctstate INVALID", tcpHTTP + " flags SYN,ACK", true},
		{"-m conntrack --ctstate DNAT", tcpHTTP, false},
		{"-m conntrack ! --ctstate DNAT", tcpHTTP, true},
		{"-m conntrack --ctorigdst 10.244.0.12", tcpHTTP, true},
		{"-m conntrack --ctorigdst 10.244.0.12", tcpHTTP + " flags SYN,ACK", false},
		{"-m conntrack --ctproto tcp --ctorigdstport 80", tcpHTTP, true},
		{"-m conntrack --ctproto udp", tcpHTTP, false},
		{"-m conntrack --ctdir ORIGINAL", tcpHTTP, true},
		{"-m conntrack --ctdir REPLY", tcpHTTP, false},
		{"-m conntrack --ctstatus NONE", tcpHTTP, false},
		{"-m conntrack ! --ctstatus NONE", tcpHTTP, true},
		{"-m conntrack --ctstatus CONFIRMED", tcpHTTP, false},
		{"-m state --state NEW", tcpHTTP, true},
		{"-m state ! --state NEW", tcpHTTP, false},
		{"-m state --state INVALID", tcpHTTP + " flags RST", true},
	})
}

func TestConntrackStatesOfNAT(t *testing.T) {
	h, _ := testNode{rules4: natRules + "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m conntrack --ctstate DNAT -m conntrack ! --ctstate " +
		"SNAT -j DROP\nCOMMIT\n"}.build(t)
	assert.Equal(t, Drop, walkOne(t, h, "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1").Verdict)
	assert.Equal(t, Accept, walkOne(t, h, tcpHTTP).Verdict)
}

func TestMatchAddrtype(t *testing.T) {
	const in6 = "tcp [fd00:2::11]:1 > [fd00:2::12]:80 in veth1"
	checkMatches(t, []matchRow{
		{"-m addrtype --dst-type LOCAL", tcpHTTP, false},
		{"-m addrtype ! --dst-type LOCAL", tcpHTTP, true},
		{"-m addrtype --dst-type UNICAST", tcpHTTP, true},
		{"-m addrtype --src-type UNICAST --dst-type UNICAST", tcpHTTP, true},
		{"-m addrtype --src-type LOCAL,UNICAST", tcpHTTP, true},
		{"-m addrtype --dst-type BROADCAST", tcpHTTP, false},
		{"-m addrtype --dst-type LOCAL", in6, false},
		{"-m addrtype --dst-type UNICAST", in6, true},
	})
}

func TestAddressTypes(t *testing.T) {
	rows := []struct{ name, types, packet string }{
		{"own", "LOCAL", "tcp 10.244.0.11:1 > 192.168.0.3:80 in veth1"},
		{"whole loopback network", "LOCAL", "tcp 127.0.0.1:1 > 127.7.7.7:80 local"},
		{"subnet broadcast", "BROADCAST", "udp 192.168.0.9:1 > 192.168.0.255:80 in eth0"},
		{"IPv6 own", "LOCAL", "tcp [fd00:2::11]:1 > [fd00:1::3]:80 in veth1"},
		{"IPv6 own, several types", "LOCAL,UNICAST", "tcp [fd00:2::11]:1 > [fd00:1::3]:80 in veth1"},
		{"limited to the device", "LOCAL --limit-iface-in", "tcp 10.244.0.11:1 > 10.244.0.1:80 in veth1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rules := "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m addrtype --dst-type " + row.types + " -j DROP\nCOMMIT\n"
			node := testNode{rules4: rules}
			if parse(t, row.packet).Dst.Is6() {
				node = testNode{rules6: rules}
			}
			h, _ := node.build(t)
			assert.Equal(t, Drop, walkOne(t, h, row.packet).Verdict)
		})
	}
	h, _ := testNode{rules4: "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m addrtype --dst-type LOCAL --limit-iface-in -j DROP\nCOMMIT\n"}.build(t)
	assert.Equal(t, Accept, walkOne(t, h, "tcp 10.244.0.11:1 > 192.168.0.3:80 in veth1").Verdict, "the address is another device's")
}

func TestMatchStatisticRandom(t *testing.T) {
	rows := []struct {
		probability string
		want        []float64 // of dropping and of passing
	}{
		{"0.5", []float64{0.5, 0.5}},
		{"0.33333333349", []float64{715827883.0 / (1 << 31), 1 - 715827883.0/(1<<31)}},
		{"1.0", []float64{1}},
		{"0.0", []float64{1}},
	}
	for _, row := range rows {
		t.Run(row.probability, func(t *testing.T) {
			h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m statistic --mode random --probability " + row.probability +
				" -j DROP\nCOMMIT\n"}.build(t)
			outcomes, err := h.Walk(parse(t, tcpHTTP))
			require.NoError(t, err)
			var got []float64
			for _, o := range outcomes {
				got = append(got, o.Probability)
			}
			assert.Equal(t, row.want, got)
		})
	}
}

func TestMatchStatisticNth(t *testing.T) {
	for packet, want := range map[string]string{"0": "*--*--", "1": "-*--*-", "2": "--*--*"} {
		h, _ := testNode{rules4: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m statistic --mode nth --every 3 --packet " + packet +
			" -j DROP\nCOMMIT\n"}.build(t)
		got := ""
		for range want {
			walkOne(t, h, tcpHTTP)
			if step(t, h, tcpHTTP).Verdict == Drop {
				got += "*"
			} else {
				got += "-"
			}
		}
		assert.Equal(t, want, got, "--packet %s", packet)
	}
}

func TestMatchNFAcctCounts(t *testing.T) {
	k := fakeipt.New(fakeipt.Options{})
	require.NoError(t, k.Namespace().Accounts().Add("seen"))
	restoreInto(t, k, netfilter.IPv4, "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m nfacct --nfacct-name seen -m mark --mark 1 -j "+
		"DROP\nCOMMIT\n")
	h, err := NewHost(HostConfig{Devices: testDevices(), Routes: testRoutes(), Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: k.Namespace()})
	require.NoError(t, err)
	walkOne(t, h, tcpHTTP+" len 90")
	step(t, h, tcpHTTP+" len 90")
	object, ok := k.Namespace().Accounts().Get("seen")
	require.True(t, ok)
	assert.EqualValues(t, 1, object.Packets, "counted where a later match does not hold, and not by Walk")
	assert.EqualValues(t, 90, object.Bytes)
}

func TestTargetMarks(t *testing.T) {
	rows := []struct {
		name, rules string
		want        uint32
	}{
		{"set under a mask", "-A FORWARD -j MARK --set-xmark 0x4000/0x4000", 0x4001},
		{"set all", "-A FORWARD -j MARK --set-mark 0x4000", 0x4000},
		{"exclusive or", "-A FORWARD -j MARK --xor-mark 0x3", 0x2},
		{"save and restore", "-A FORWARD -j CONNMARK --save-mark\n-A FORWARD -j MARK --set-mark 0\n-A FORWARD -j CONNMARK --restore-mark", 0x1},
		{"connection's mark", "-A FORWARD -j CONNMARK --set-mark 0x9\n-A FORWARD -j CONNMARK --restore-mark", 0x9},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*mangle\n:FORWARD ACCEPT [0:0]\n" + row.rules + "\nCOMMIT\n"}.build(t)
			assert.Equal(t, row.want, walkOne(t, h, tcpHTTP+" mark 1").Final.Mark)
		})
	}
}
