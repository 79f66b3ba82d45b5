package packetsim

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestChosenAddresses: the kernel chose these addresses on Linux 6.18.
func TestChosenAddresses(t *testing.T) {
	for _, row := range chosenAddresses {
		h, _ := testNode{rules4: "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j SNAT --to-source " + row.target + "\nCOMMIT\n"}.build(t)
		o := walkOne(t, h, "udp "+row.src+":1000 > 8.8.8.8:80 in veth1")
		assert.Equal(t, row.want, o.Final.Src.String(), "%s from %s", row.target, row.src)
	}
}

var chosenAddresses = []struct{ target, src, want string }{
	{"10.79.0.1-10.79.0.9", "10.244.0.11", "10.79.0.8"},
	{"10.79.0.1-10.79.0.9", "10.244.0.12", "10.79.0.1"},
	{"10.79.0.1-10.79.0.9 --persistent", "10.244.0.11", "10.79.0.5"},
	{"10.79.0.1-10.79.255.254", "10.244.0.11", "10.79.215.123"},
}

func TestDestinationPorts(t *testing.T) {
	for _, row := range []struct{ name, target, want string }{
		{"kept in the range", "10.244.0.12:70-90", "10.244.0.12:80"},
		{"the first of the range", "10.244.0.12:8080-8090", "10.244.0.12:8080"},
		{"shifted from a base", "10.244.0.12:8000-8100/60", "10.244.0.12:8020"},
		{"shifted round the range", "10.244.0.12:8000-8004/78", "10.244.0.12:8002"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j DNAT --to-destination " + row.target +
				"\nCOMMIT\n"}.build(t)
			assert.Equal(t, row.want, walkOne(t, h, "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1").DNAT)
		})
	}
}

func TestRandomDestinationPortIsEveryOne(t *testing.T) {
	h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.12:8080-8084 " +
		"--random\nCOMMIT\n"}.build(t)
	outcomes, err := h.Walk(parse(t, "tcp 10.244.0.11:1000 > 8.8.8.8:80 in veth1"))
	require.NoError(t, err)
	require.Len(t, outcomes, 5)
	seen := map[string]bool{}
	for _, o := range outcomes {
		assert.InDelta(t, 0.2, o.Probability, 1e-8)
		seen[o.DNAT] = true
	}
	assert.Len(t, seen, 5)
}

func TestSourceIsUsedAgain(t *testing.T) {
	const rules = "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p udp -j SNAT --to-source 10.0.0.1:5000-5009\nCOMMIT\n"
	h, _ := testNode{rules4: rules}.build(t)
	first := step(t, h, "udp 10.244.0.11:1000 > 8.8.8.8:53 in veth1")
	other := step(t, h, "udp 10.244.0.11:1000 > 9.9.9.9:53 in veth1")
	assert.Equal(t, first.Packet.SrcPort, other.Packet.SrcPort, "another destination leaves the mapping unique")
}

func TestLowPortsStayLow(t *testing.T) {
	for port, want := range map[string][2]uint16{"100": {1, 511}, "700": {600, 1023}, "4000": {1024, 65535}} {
		h, _ := testNode{rules4: "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j SNAT --to-source 10.0.0.1\nCOMMIT\n"}.build(t)
		step(t, h, "udp 10.244.0.12:"+port+" > 8.8.8.8:53 in veth2")
		for seed := range uint64(20) {
			mark := h.checkpoint()
			o, err := h.Step(parse(t, "udp 10.244.0.11:"+port+" > 8.8.8.8:53 in veth1"), SeededChance(seed))
			h.rollback(mark)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, o.Packet.SrcPort, want[0])
			assert.LessOrEqual(t, o.Packet.SrcPort, want[1])
			assert.Zero(t, o.Final.SrcPort)
		}
	}
}

func TestNoFreePortClashes(t *testing.T) {
	h, _ := testNode{rules4: "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p tcp -j SNAT --to-source 10.0.0.1:77\nCOMMIT\n"}.build(t)
	syn := func(src string, seq uint32) Outcome {
		in := parse(t, "tcp "+src+" > 8.8.8.8:80 in veth1")
		in.Numbers = &inet.TCPNumbers{Seq: seq, Window: 1000}
		o, err := h.Step(in, SeededChance(0))
		require.NoError(t, err)
		return o
	}
	require.Equal(t, Accept, syn("10.244.0.11:1", 1000).Verdict)
	assert.Equal(t, ReasonPortsExhausted, syn("10.244.0.11:2", 2000).Reason)

	for _, s := range []struct {
		packet  string
		numbers inet.TCPNumbers
	}{
		{"tcp 8.8.8.8:80 > 10.0.0.1:77 in eth0 flags SYN,ACK", inet.TCPNumbers{Seq: 1, Ack: 1001, Window: 1000}},
		{"tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1 flags ACK", inet.TCPNumbers{Seq: 1001, Ack: 2, Window: 1000}},
		{"tcp 8.8.8.8:80 > 10.0.0.1:77 in eth0 flags RST", inet.TCPNumbers{Seq: 2}},
	} {
		in := parse(t, s.packet)
		in.Numbers = &s.numbers
		_, err := h.Step(in, SeededChance(0))
		require.NoError(t, err)
	}
	require.Equal(t, "CLOSE 10 ASSURED", entryText(t, h))
	assert.Equal(t, ReasonPortsExhausted, syn("10.244.0.11:2", 900).Reason, "an older number")
	assert.Equal(t, Accept, syn("10.244.0.11:2", 2000).Verdict, "the connection that is over gives its port away")
}

func TestNetmap(t *testing.T) {
	h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.9.0.0/16 -j NETMAP --to 10.244.0.0/16\n-A POSTROUTING -s " +
		"10.244.0.0/24 -j NETMAP --to 10.8.7.0/24\nCOMMIT\n"}.build(t)
	assert.Equal(t, "accept forward veth2 10.8.7.11:1>10.244.0.12:80", brief(walkOne(t, h, "tcp 10.244.0.11:1 > 10.9.0.12:80 in veth1")))
}

func TestMasqueradesAreForgotten(t *testing.T) {
	rules := "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p udp -j MASQUERADE\n-A POSTROUTING -p tcp -j SNAT --to-source " +
		"192.168.0.3\nCOMMIT\n"
	for _, row := range []struct {
		name   string
		change func(*Device)
		left   int
	}{
		{"nothing changes", func(*Device) {}, 3},
		{"device goes down", func(d *Device) { d.Up = false }, 2},
		{"device is taken away", func(d *Device) { d.Name = "eth9" }, 2},
		{"address is taken away", func(d *Device) { d.Addresses = addresses("192.168.0.4/24") }, 2},
		{"another address comes", func(d *Device) { d.Addresses = append(d.Addresses, addresses("192.168.0.4/24")...) }, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: rules}.build(t)
			step(t, h, "udp 10.244.0.11:1 > 8.8.8.8:53 in veth1")
			step(t, h, "tcp 10.244.0.11:1 > 8.8.8.8:53 in veth1")
			step(t, h, "udp 10.244.0.11:1 > 10.244.0.12:53 in veth1")
			devices := testDevices()
			row.change(&devices[0])
			require.NoError(t, h.SetNetwork(devices, nil, nil, false))
			assert.Len(t, h.Conntrack(), row.left)
			h.Conntrack()
		})
	}
}

func TestRedirectOfTranslatedConnectionIsDropped(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	sent := step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0").Packet
	in := parse(t, "icmp 10.244.0.12 > 10.244.0.1 in veth2 type 5/1")
	in.Inner = &sent
	o, err := h.Step(in, SeededChance(0))
	require.NoError(t, err)
	assert.Equal(t, ReasonTranslatedRedirect, o.Reason)
}

func TestConntrackFilter(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0")
	step(t, h, "udp 10.244.0.11:2000 > 10.96.0.1:80 in veth1")
	step(t, h, "udp 10.244.0.11:3000 > 8.8.8.8:53 in veth1")
	zero, five := uint16(0), uint16(5)
	for _, row := range []struct {
		name   string
		filter conntrack.Filter
		ports  []uint16 // the source ports of those that it chooses
	}{
		{"everything", conntrack.Filter{}, []uint16{1000, 2000, 3000}},
		{"protocol", conntrack.Filter{Proto: inet.UDP}, []uint16{2000, 3000}},
		{"original destination", conntrack.Filter{OrigDst: netip.MustParsePrefix("10.96.0.1/32")}, []uint16{2000}},
		{"reply source", conntrack.Filter{ReplySrc: netip.MustParsePrefix("10.244.0.0/16"), ReplySrcPort: 8080}, []uint16{1000, 2000}},
		{"destination port", conntrack.Filter{OrigDstPort: 53}, []uint16{3000}},
		{"source translated", conntrack.Filter{SrcNAT: true}, []uint16{1000}},
		{"destination translated", conntrack.Filter{DstNAT: true}, []uint16{1000, 2000}},
		{"state", conntrack.Filter{State: "SYN_SENT"}, []uint16{1000}},
		{"replied", conntrack.Filter{SeenReply: true}, nil},
		{"another family", conntrack.Filter{Family: 6}, nil},
		{"zone", conntrack.Filter{Zone: &zero}, []uint16{1000, 2000, 3000}},
		{"another zone", conntrack.Filter{OrigZone: &five}, nil},
		{"mark", conntrack.Filter{Mark: 1, MarkMask: 1}, nil},
	} {
		var ports []uint16
		for _, e := range h.Conntrack() {
			if row.filter.Matches(e) {
				ports = append(ports, e.Original.SrcPort)
			}
		}
		assert.ElementsMatch(t, row.ports, ports, row.name)
	}
	assert.Equal(t, 2, h.DeleteConntrack(conntrack.Filter{Proto: inet.UDP}.Matches))
	assert.Len(t, h.Conntrack(), 1)
}

// TestICMPIDsOfOneServer: see TestICMPIDsAsKernel.
func TestICMPIDsOfOneServer(t *testing.T) {
	rules := func(first, second, server string) string {
		return "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d " + first + " -j DNAT --to-destination " + server +
			"\n-A PREROUTING -d " + second + " -j DNAT --to-destination " + server + "\nCOMMIT\n"
	}
	h, _ := testNode{
		rules4: rules("10.96.0.1", "10.96.0.2", "10.244.0.12"), rules6: rules("fd00:96::1", "fd00:96::2", "fd00:10:244::12"),
	}.build(t)
	for _, row := range []struct {
		packet, first, second string
		written               bool
	}{
		{"icmp 10.244.0.11 > %s in veth1 type 8/0 id 7", "10.96.0.1", "10.96.0.2", true},
		{"icmp 10.244.0.11 > %s in veth1 type 13/0 id 7", "10.96.0.1", "10.96.0.2", true},
		{"icmpv6 fd00:10:244::11 > %s in veth1 type 128/0 id 7", "fd00:96::1", "fd00:96::2", true},
		{"icmpv6 fd00:10:244::11 > %s in veth1 type 139/0 id 7", "fd00:96::1", "fd00:96::2", false},
	} {
		assert.EqualValues(t, 7, step(t, h, fmt.Sprintf(row.packet, row.first)).Packet.ICMPID, row.packet)
		second := step(t, h, fmt.Sprintf(row.packet, row.second))
		assert.Equal(t, row.written, second.Packet.ICMPID != 7, row.packet)
		entries := h.Conntrack()
		assert.NotEqual(t, uint16(7), entries[len(entries)-1].Reply.ICMPID, "conntrack has another id in any case: %s", row.packet)
	}
}
