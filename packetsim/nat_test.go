package packetsim

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// natRules are a few services as kube-proxy writes them: 10.96.0.1 with the pod .12, 10.96.0.2 with the pods .11 and .12, both masqueraded
// from outside of the pods' network; node port 30080 for the first.
const natRules = `*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:MASQ - [0:0]
:ONE - [0:0]
:TWO - [0:0]
:SEP11 - [0:0]
:SEP12 - [0:0]
:SERVICES - [0:0]
-A PREROUTING -j SERVICES
-A OUTPUT -j SERVICES
-A POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE
-A MASQ -j MARK --set-xmark 0x4000/0x4000
-A SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j ONE
-A SERVICES -d 10.96.0.1/32 -p udp -m udp --dport 80 -j ONE
-A SERVICES -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j TWO
-A SERVICES -p tcp -m tcp --dport 30080 -m addrtype --dst-type LOCAL -j ONE
-A ONE ! -s 10.244.0.0/16 -j MASQ
-A ONE -j SEP12
-A TWO ! -s 10.244.0.0/16 -j MASQ
-A TWO -m statistic --mode random --probability 0.25000000000 -j SEP11
-A TWO -j SEP12
-A SEP11 -s 10.244.0.11/32 -j MASQ
-A SEP11 -p tcp -m tcp -j DNAT --to-destination 10.244.0.11:8080
-A SEP12 -s 10.244.0.12/32 -j MASQ
-A SEP12 -p tcp -m tcp -j DNAT --to-destination 10.244.0.12:8080
-A SEP12 -p udp -m udp -j DNAT --to-destination 10.244.0.12:8080
COMMIT
`

func TestNATOfFirstPackets(t *testing.T) {
	h, _ := testNode{rules4: natRules, sysctls: map[string]string{"net.ipv4.conf.all.route_localnet": "1"}}.build(t)
	rows := []struct {
		name, packet, want, dnat string
		masqueraded              bool
	}{
		{"pod to service", "tcp 10.244.0.11:1000 > 10.96.0.1:80 in veth1", "accept forward veth2 10.244.0.11:1000>10.244.0.12:8080",
			"10.244.0.12:8080", false},
		{"hairpin", "tcp 10.244.0.12:1000 > 10.96.0.1:80 in veth2", "accept forward veth2 10.244.0.1:1000>10.244.0.12:8080", "10.244.0.12:8080",
			true},
		{"outside to node port", "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0", "accept forward veth2 10.244.0.1:1000>10.244.0.12:8080",
			"10.244.0.12:8080", true},
		{"node to service", "tcp 192.168.0.3:1000 > 10.96.0.1:80 local", "accept forward veth2 10.244.0.1:1000>10.244.0.12:8080",
			"10.244.0.12:8080", true},
		{"loopback to node port", "tcp 127.0.0.1:1000 > 127.0.0.1:30080 local", "accept forward veth2 10.244.0.1:1000>10.244.0.12:8080",
			"10.244.0.12:8080", true},
		{"another port", "tcp 10.244.0.11:1000 > 10.96.0.1:81 in veth1", "accept forward eth0 10.244.0.11:1000>10.96.0.1:81 via 192.168.0.1", "",
			false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := walkOne(t, h, row.packet)
			assert.Equal(t, row.want, brief(o))
			assert.Equal(t, row.dnat, o.DNAT)
			assert.Equal(t, row.masqueraded, o.Masqueraded)
		})
	}
}

func TestWalkGivesEveryEndpoint(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	outcomes, err := h.Walk(parse(t, "tcp 10.244.0.11:1000 > 10.96.0.2:80 in veth1"))
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	assert.Equal(t, 0.25, outcomes[0].Probability)
	assert.Equal(t, "accept forward veth1 10.244.0.1:1000>10.244.0.11:8080", brief(outcomes[0]))
	assert.Equal(t, 0.75, outcomes[1].Probability)
	assert.Equal(t, "accept forward veth2 10.244.0.11:1000>10.244.0.12:8080", brief(outcomes[1]))
}

func TestReplyIsTranslatedBack(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0")
	back := step(t, h, "tcp 10.244.0.12:8080 > 10.244.0.1:1000 in veth2 flags SYN,ACK")
	assert.Equal(t, "accept forward eth0 192.168.0.3:30080>192.168.0.9:1000", brief(back))
	assert.Empty(t, back.Steps, "nat chains see first packets only")
	assert.Empty(t, back.DNAT)
	next := step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0 flags ACK")
	assert.Equal(t, "accept forward veth2 10.244.0.1:1000>10.244.0.12:8080", brief(next))
	assert.True(t, next.Masqueraded)
}

func TestNodeGetsItsReply(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 192.168.0.3:1000 > 10.96.0.1:80 local")
	assert.Equal(t, "accept local 10.96.0.1:80>192.168.0.3:1000", brief(step(t, h,
		"tcp 10.244.0.12:8080 > 10.244.0.1:1000 in veth2 flags SYN,ACK")))
}

func TestClashingTuplesGetAnotherPort(t *testing.T) {
	h, _ := testNode{rules4: natRules}.build(t)
	step(t, h, "tcp 192.168.0.9:1000 > 192.168.0.3:30080 in eth0")
	masqueraded := step(t, h, "tcp 192.168.0.8:1000 > 192.168.0.3:30080 in eth0")
	assert.Zero(t, masqueraded.Final.SrcPort, "the kernel chooses it")
	assert.NotContains(t, []uint16{0, 1000}, masqueraded.Packet.SrcPort)

	step(t, h, "tcp 10.244.0.11:2000 > 10.96.0.1:80 in veth1")
	direct := step(t, h, "tcp 10.244.0.11:2000 > 10.244.0.12:8080 in veth1")
	assert.True(t, direct.Masqueraded, "a binding of no rule changes the port, too")
	assert.NotContains(t, []uint16{0, 2000}, direct.Packet.SrcPort)
}

func TestSourcePortRanges(t *testing.T) {
	rows := []struct {
		name, target string
		low, high    uint16
		chosen       bool
	}{
		{"kept", "MASQUERADE", 3000, 3000, false},
		{"random", "MASQUERADE --random", 1024, 65535, true},
		{"fully random", "MASQUERADE --random-fully", 1024, 65535, true},
		{"moved into a range", "MASQUERADE --to-ports 5000-5010", 5000, 5010, true},
		{"kept in a range", "MASQUERADE --to-ports 2900-3100", 3000, 3000, false},
		{"one port", "SNAT --to-source 10.0.0.1:77", 77, 77, false},
		{"an address", "SNAT --to-source 10.0.0.1", 3000, 3000, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p tcp -j " + row.target + "\nCOMMIT\n"}.build(t)
			o := walkOne(t, h, "tcp 10.244.0.11:3000 > 8.8.8.8:80 in veth1")
			assert.GreaterOrEqual(t, o.Packet.SrcPort, row.low)
			assert.LessOrEqual(t, o.Packet.SrcPort, row.high)
			if row.chosen {
				assert.Zero(t, o.Final.SrcPort)
			} else {
				assert.Equal(t, o.Packet.SrcPort, o.Final.SrcPort)
			}
		})
	}
}

func TestNATTargets(t *testing.T) {
	rows := []struct{ name, chain, packet, want string }{
		{"redirect of the node", "-A OUTPUT -p tcp -j REDIRECT --to-ports 99", "tcp 192.168.0.3:1 > 8.8.8.8:80 local",
			"accept local 192.168.0.3:1>127.0.0.1:99"},
		{"redirect from a device", "-A PREROUTING -p tcp -j REDIRECT --to-ports 99", "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1",
			"accept local 10.244.0.11:1>10.244.0.1:99"},
		{"address only", "-A PREROUTING -p tcp -j DNAT --to-destination 10.244.0.12", "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1",
			"accept forward veth2 10.244.0.11:1>10.244.0.12:80"},
		{"port only", "-A PREROUTING -p tcp -j DNAT --to-destination :81", "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1",
			"accept forward veth2 10.244.0.11:1>10.244.0.12:81"},
		{"to the node itself", "-A PREROUTING -p tcp -j DNAT --to-destination 192.168.0.3:22", "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1",
			"accept local 10.244.0.11:1>192.168.0.3:22"},
		{"to loopback without route_localnet", "-A PREROUTING -p tcp -j DNAT --to-destination 127.0.0.1:22",
			"tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1", "drop martian destination"},
		{"source in INPUT", "-A INPUT -p tcp -j SNAT --to-source 1.2.3.4", "tcp 10.244.0.11:1 > 192.168.0.3:22 in veth1",
			"accept local 1.2.3.4:1>192.168.0.3:22"},
		{"echo request", "-A POSTROUTING -j MASQUERADE", "icmp 10.244.0.11 > 8.8.8.8 in veth1",
			"accept forward eth0 192.168.0.3>8.8.8.8 via 192.168.0.1"},
		{"another protocol", "-A POSTROUTING -j MASQUERADE", "47 10.244.0.11 > 8.8.8.8 in veth1",
			"accept forward eth0 192.168.0.3>8.8.8.8 via 192.168.0.1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n" + row.chain + "\nCOMMIT\n"}.build(t)
			assert.Equal(t, row.want, brief(walkOne(t, h, row.packet)))
		})
	}
}

func TestNATRefuses(t *testing.T) {
	for chain, want := range map[string]string{
		"-A PREROUTING -p tcp -m tcp --tcp-option 7 -j DNAT --to 10.0.0.1:8": "TCP options are not known",
	} {
		h, _ := testNode{rules4: "*nat\n:PREROUTING ACCEPT [0:0]\n" + chain + "\nCOMMIT\n"}.build(t)
		_, err := h.Walk(parse(t, "tcp 10.244.0.11:1 > 8.8.8.8:80 in veth1"))
		assert.ErrorContains(t, err, want)
	}
}

func TestMasqueradeWithoutAddressDrops(t *testing.T) {
	h, err := NewHost(HostConfig{
		Devices:   []Device{{Name: "a", Up: true}, {Name: "b", Up: true}},
		Routes:    []Route{{Dst: netip.MustParsePrefix("10.0.0.0/8"), Dev: "b"}},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(t, 4, "*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n").Namespace(),
	})
	require.NoError(t, err)
	assert.Equal(t, "drop no address to masquerade with on b", brief(walkOne(t, h, "tcp 9.9.9.9:1 > 10.0.0.1:80 in a")))
}

// TestReplyIsTheInverse: whatever the services do to a packet, the answer to what arrives comes back as the answer to what was sent.
func TestReplyIsTheInverse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h, _ := testNode{rules4: natRules}.build(t)
		for i := range rapid.IntRange(1, 6).Draw(rt, "connections") {
			source := rapid.SampledFrom([]string{"10.244.0.11 veth1", "10.244.0.12 veth2", "192.168.0.9 eth0", "192.168.0.8 eth0"}).Draw(rt,
				"source")
			var addr, dev string
			_, err := fmt.Sscan(source, &addr, &dev)
			require.NoError(rt, err)
			in := inet.Input{In: dev, Packet: inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr(addr),
				SrcPort: uint16(rapid.IntRange(1000, 1001).Draw(rt, "port")),
				Dst:     netip.MustParseAddr(rapid.SampledFrom([]string{"10.96.0.1", "10.96.0.2", "10.244.0.12"}).Draw(rt, "to")), DstPort: 80,
				TCPFlags: inet.SYN}}
			out, err := h.Step(in, SeededChance(uint64(i)))
			require.NoError(rt, err)
			if out.To != ToForward {
				continue
			}
			there := out.Packet
			back, err := h.Step(inet.Input{In: out.Out, Packet: inet.Packet{Proto: inet.TCP, Src: there.Dst, SrcPort: there.DstPort, Dst: there.Src,
				DstPort: there.SrcPort, TCPFlags: inet.SYN | inet.ACK}}, SeededChance(0))
			require.NoError(rt, err)
			require.Equal(rt, header(inet.Packet{Proto: inet.TCP, Src: in.Dst, SrcPort: in.DstPort, Dst: in.Src, DstPort: in.SrcPort}),
				header(back.Packet))
			require.Equal(rt, dev, back.Out)
		}
	})
}

// TestWalkChangesNothing: a Walk finds the same outcomes again, and leaves connections and lists as they were.
func TestWalkChangesNothing(t *testing.T) {
	rules := natRules + "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -m recent --set --name r --rsource\n" +
		"-A FORWARD -m recent --rcheck --hitcount 3 --name r --rsource -j DROP\n-A FORWARD -m statistic --mode nth --every 3 --packet 0 -j " +
		"REJECT\nCOMMIT\n"
	rapid.Check(t, func(rt *rapid.T) {
		h, clock := testNode{rules4: rules}.build(t)
		for range rapid.IntRange(0, 8).Draw(rt, "packets") {
			packet := rapid.SampledFrom([]string{
				"tcp 10.244.0.11:1000 > 10.96.0.2:80 in veth1", "udp 10.244.0.11:1000 > 10.96.0.1:80 in veth1",
				"tcp 192.168.0.9:1 > 192.168.0.3:30080 in eth0",
				"tcp 10.244.0.12:8080 > 10.244.0.11:1000 in veth2 flags SYN,ACK", "tcp 10.244.0.12:8080 > 10.244.0.11:1000 in veth2 flags RST",
			}).Draw(rt, "packet")
			first, err := h.Walk(parse(t, packet))
			require.NoError(rt, err)
			entries := h.Conntrack()
			second, err := h.Walk(parse(t, packet))
			require.NoError(rt, err)
			require.Equal(rt, first, second)
			require.Equal(rt, entries, h.Conntrack())
			sum := 0.0
			for _, o := range first {
				sum += o.Probability
			}
			require.InDelta(rt, 1, sum, 1e-12)
			_, err = h.Step(parse(t, packet), SeededChance(rapid.Uint64().Draw(rt, "seed")))
			require.NoError(rt, err)
			clock.Step(1e9 * 5)
		}
	})
}
