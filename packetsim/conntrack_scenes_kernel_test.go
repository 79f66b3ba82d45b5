//go:build linux

package packetsim

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// scene is a play of the test's own packets, with the rules given.
func (lab *ctLab) scene(t *testing.T, family netfilter.Family, rules string) *ctPlay {
	rules = ctRules(family, rules)
	lab.restore(family, rules)
	sysctls := lab.conntrackSysctls()
	lab.flush()
	return &ctPlay{
		lab: lab, fatalf: t.Fatalf, family: family, learned: map[conntrack.Tuple]conntrack.Tuple{},
		host: lab.twin(restored(t, family, emptyRules+rules), sysctls),
	}
}

// flow is a packet of the client to a port of the server.
func (p *ctPlay) flow(proto inet.Proto, sport, dport uint16) inet.Packet {
	packet := inet.Packet{Proto: proto, Src: p.addr("CLIENT"), Dst: p.addr("SERVER"), SrcPort: sport, DstPort: dport}
	if proto == inet.TCP {
		packet.TCPFlags, packet.Numbers = inet.SYN, &inet.TCPNumbers{Seq: 1, Window: 1000}
	}
	return packet
}

// agree waits until the tables of the kernel and the Host are the same.
func (p *ctPlay) agree(t *testing.T, when string) {
	t.Helper()
	deadline := time.Now().Add(settleTime)
	for {
		why := compareEntries(p.lab.entries(p.family), p.host.Conntrack(), p.late)
		if why == "" {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %s", when, why)
		p.lab.wait()
	}
}

func TestMasqueradesAreForgottenAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore")
	lab := newCTLab(t)
	rules := "*nat\n-A POSTROUTING -p udp -j MASQUERADE\n-A POSTROUTING -p tcp -j SNAT --to-source POOL1\nCOMMIT\n"
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		p := lab.scene(t, family, rules)
		begin := func() {
			lab.flush()
			p.host.DeleteConntrack(func(conntrack.Entry) bool { return true })
			p.forward(p.flow(inet.UDP, 1000, 80))
			p.forward(p.flow(inet.UDP, 1001, 80))
			p.forward(p.flow(inet.TCP, 1000, 80))
		}
		begin()
		lab.run("ip", "addr", "del", map[netfilter.Family]string{netfilter.IPv4: "10.78.2.1/24", netfilter.IPv6: "fd78:2::1/64"}[family], "dev",
			"cts")
		devices := ctDevices()
		devices[1].Addresses = nil
		require.NoError(t, p.host.SetNetwork(devices, nil, nil, false))
		p.agree(t, "address taken away")
		lab.restoreServer()
		require.NoError(t, p.host.SetNetwork(ctDevices(), ctRoutes(), nil, false))

		begin()
		lab.run("ip", "link", "set", "cts", "down")
		devices = ctDevices()
		devices[1].Up = false
		require.NoError(t, p.host.SetNetwork(devices, nil, nil, false))
		p.agree(t, "device down")
		lab.restoreServer()
		require.NoError(t, p.host.SetNetwork(ctDevices(), ctRoutes(), nil, false))
		lab.captured("server", family)
	}
}

// restoreServer brings the device to the server back to what it was.
func (lab *ctLab) restoreServer() {
	lab.run("ip", "link", "set", "cts", "up")
	lab.run("ip", "addr", "replace", "10.78.2.1/24", "dev", "cts")
	lab.run("ip", "addr", "replace", "fd78:2::1/64", "dev", "cts", "nodad")
	for _, addr := range []string{"10.78.2.2", "10.78.2.3", "fd78:2::2", "fd78:2::3"} {
		lab.run("ip", "neigh", "replace", addr, "lladdr", placeMAC("server").String(), "dev", "cts", "nud", "permanent")
	}
	lab.run("ip", "route", "replace", "default", "via", "10.78.2.2")
	lab.run("ip", "-6", "route", "replace", "default", "via", "fd78:2::2")
	lab.awaitLinks()
}

// TestDeletionAsKernel deletes with the real tool and by the filter that is to be the same.
func TestDeletionAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "conntrack")
	machineConntrack(t, "buckets", quickTable)
	lab := newCTLab(t)
	p := lab.scene(t, netfilter.IPv4, `*raw
-A PREROUTING -p udp -m udp --dport 9 -j CT --zone 3
-A PREROUTING -p udp -m udp --dport 10 -j CT --zone-orig 4
COMMIT
*mangle
-A PREROUTING -p udp -m udp --dport 7 -j CONNMARK --set-xmark 0x5/0xffffffff
COMMIT
*nat
-A PREROUTING -d VIP1 -p udp -j DNAT --to-destination SERVER:8080
-A POSTROUTING -p tcp -j SNAT --to-source POOL1
COMMIT
`)
	none, three, four := uint16(0), uint16(3), uint16(4)
	for _, row := range []struct {
		args   string
		filter conntrack.Filter
	}{
		{"-p udp", conntrack.Filter{Proto: inet.UDP}},
		{"-p tcp --state SYN_SENT", conntrack.Filter{Proto: inet.TCP, State: "SYN_SENT"}},
		{"-p udp --orig-port-dst 80", conntrack.Filter{Proto: inet.UDP, OrigDstPort: 80}},
		{"-p udp --sport 1001", conntrack.Filter{Proto: inet.UDP, OrigSrcPort: 1001}},
		{"-p udp --reply-port-src 8080", conntrack.Filter{Proto: inet.UDP, ReplySrcPort: 8080}},
		{"-d 10.99.0.1", conntrack.Filter{OrigDst: netip.MustParsePrefix("10.99.0.1/32")}},
		{"-s 10.78.1.0/24", conntrack.Filter{OrigSrc: netip.MustParsePrefix("10.78.1.0/24")}},
		{"-r 10.78.2.2", conntrack.Filter{ReplySrc: netip.MustParsePrefix("10.78.2.2/32")}},
		{"-q 10.79.0.1", conntrack.Filter{ReplyDst: netip.MustParsePrefix("10.79.0.1/32")}},
		{"-n", conntrack.Filter{SrcNAT: true}},
		{"-g", conntrack.Filter{DstNAT: true}},
		{"-m 5", conntrack.Filter{Mark: 5, MarkMask: 0xffffffff}},
		{"-m 1/1", conntrack.Filter{Mark: 1, MarkMask: 1}},
		{"-w 3", conntrack.Filter{Zone: &three}},
		{"--orig-zone 4", conntrack.Filter{OrigZone: &four}},
		{"-u UNREPLIED", conntrack.Filter{}},
		{"-u SEEN_REPLY", conntrack.Filter{SeenReply: true}},
		{"-u ASSURED", conntrack.Filter{Assured: true}},
		{"-f ipv6", conntrack.Filter{Family: netfilter.IPv6}},
		{"-f ipv4", conntrack.Filter{Family: netfilter.IPv4}},
		{"--orig-src 10.78.1.2 --orig-dst 10.78.2.2", conntrack.Filter{OrigSrc: netip.MustParsePrefix("10.78.1.2/32"),
			OrigDst: netip.MustParsePrefix("10.78.2.2/32")}},
		{"--reply-src 10.78.2.2 --reply-dst 10.78.1.2", conntrack.Filter{ReplySrc: netip.MustParsePrefix("10.78.2.2/32"),
			ReplyDst: netip.MustParsePrefix("10.78.1.2/32")}},
		{"-p tcp --dport 80", conntrack.Filter{Proto: inet.TCP, OrigDstPort: 80}},
		{"-p tcp --reply-port-dst 1000", conntrack.Filter{Proto: inet.TCP, ReplyDstPort: 1000}},
		{"-p udp -s 10.78.1.2 -m 5/0xff", conntrack.Filter{Proto: inet.UDP, OrigSrc: netip.MustParsePrefix("10.78.1.2/32"), Mark: 5,
			MarkMask: 0xff}},
		{"-m 0", conntrack.Filter{MarkMask: 0xffffffff}},
		{"-w 0", conntrack.Filter{Zone: &none}},
		{"-w 4", conntrack.Filter{Zone: &four}},
		{"--reply-zone 3", conntrack.Filter{ReplyZone: &three}},
		{"--reply-zone 0", conntrack.Filter{ReplyZone: &none}},
		{"-p icmp", conntrack.Filter{Proto: inet.ICMP}},
		{"-d 10.99.0.9", conntrack.Filter{OrigDst: netip.MustParsePrefix("10.99.0.9/32")}},
	} {
		lab.flush()
		p.host.DeleteConntrack(func(conntrack.Entry) bool { return true })
		for _, dport := range []uint16{7, 9, 10, 80} {
			p.forward(p.flow(inet.UDP, 1000, dport))
		}
		p.forward(p.flow(inet.TCP, 1000, 80))
		p.exchange("server", p.back(p.flow(inet.UDP, 1000, 80)))
		vip := p.flow(inet.UDP, 1001, 80)
		vip.Dst = p.addr("VIP1")
		p.forward(vip)
		out, _ := exec.Command("conntrack", append([]string{"-D"}, strings.Fields(row.args)...)...).CombinedOutput()
		deleted := p.host.DeleteConntrack(row.filter.Matches)
		assert.Contains(t, string(out), fmt.Sprintf(": %d flow entries have been deleted.", deleted), "conntrack -D %s", row.args)
		why := compareEntries(lab.entries(netfilter.IPv4), p.host.Conntrack(), p.late)
		assert.Empty(t, why, "conntrack -D %s: %s", row.args, out)
	}
}

// TestUDPStreamAsKernel: a flow that is answered for two seconds is a stream.
func TestUDPStreamAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore")
	lab := newCTLab(t)
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		p := lab.scene(t, family, ctFilter)
		packet := p.flow(inet.UDP, 1000, 80)
		for i := range 2 {
			p.forward(packet)
			p.exchange("server", p.back(packet))
			if i == 0 {
				for begun := time.Now(); time.Since(begun) < conntrack.UDPStreamAge+100*time.Millisecond; {
					lab.wait()
				}
			}
		}
		p.forward(packet)
		require.True(t, p.host.Conntrack()[0].Assured)
	}
}

// TestPacketToItselfAsKernel: a packet from a socket to the same socket is the first one and its answer at once.
func TestPacketToItselfAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore")
	lab := newCTLab(t)
	p := lab.scene(t, netfilter.IPv4, "*filter\n-A INPUT -m conntrack --ctstate NEW\n-A INPUT -m conntrack --ctstate "+
		"ESTABLISHED\nCOMMIT\n*nat\n-A OUTPUT -p tcp -j ACCEPT\nCOMMIT\n")
	self := netip.MustParseAddr("10.78.1.1")
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	addr := &unix.SockaddrInet4{Port: 5555, Addr: self.As4()}
	require.NoError(t, unix.Bind(fd, addr))
	for range 2 {
		require.NoError(t, unix.Sendto(fd, nil, 0, addr))
		_, err := p.host.Step(inet.Input{Local: true, Packet: inet.Packet{Proto: inet.UDP, Src: self, Dst: self, SrcPort: 5555, DstPort: 5555}},
			SeededChance(0))
		require.NoError(t, err)
		p.agree(t, "sent to itself")
	}
}

// TestICMPIDsAsKernel sends queries of each type to two addresses that are one server's: the second gets an id of its own, which Linux
// writes into the packet unless it is of ICMPv6 and no echo.
func TestICMPIDsAsKernel(t *testing.T) {
	needKernel(t, "iptables-legacy-restore", "ip6tables-legacy-restore")
	lab := newCTLab(t)
	rules := "*nat\n-A PREROUTING -d VIP1 -j DNAT --to-destination SERVER\n-A PREROUTING -d VIP2 -j DNAT --to-destination SERVER\nCOMMIT\n"
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		p := lab.scene(t, family, rules)
		for _, queries := range conntrack.ICMPAnswers[p.icmp()] {
			for _, word := range []string{"VIP1", "VIP2"} {
				query := inet.Packet{Proto: p.icmp(), Src: p.addr("CLIENT"), Dst: p.addr(word), ICMPType: queries[0], ICMPID: 1}
				p.forward(query)
				p.exchange("server", p.back(query))
			}
		}
	}
}
