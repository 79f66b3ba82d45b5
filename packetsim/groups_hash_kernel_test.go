//go:build linux

package packetsim

import (
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// hashRules mark packets by hashes and tell the bits of the mark, and the node of each connection.
func hashRules(f netfilter.Family) string {
	var b strings.Builder
	b.WriteString(traceFirst + "-A PREROUTING -p udp -m udp --dport 7009 -j NOTRACK\nCOMMIT\n*mangle\n:PREROUTING ACCEPT [0:0]\n")
	long, short, icmp := "32", "9", "icmp"
	if f == netfilter.IPv6 {
		long, short, icmp = "128", "67", "ipv6-icmp"
	}
	const seed = " --hmark-rnd 0xfeedcafe --hmark-mod 65536"
	const all, allCT = "--hmark-tuple src,dst,sport,dport,proto" + seed, "--hmark-tuple src,dst,sport,dport,proto,ct" + seed
	for match, options := range map[string]string{
		"-p udp -m udp --dport 7001": all + " --hmark-offset 3",
		"-p udp -m udp --dport 7002": "--hmark-src-prefix " + short + " --hmark-dst-prefix 24 --hmark-rnd 0x5 --hmark-mod 65521",
		"-p udp -m udp --dport 7003": allCT,
		"-p udp -m udp --dport 7009": allCT + " --hmark-offset 77",
		"-p udp -m udp --dport 7004": "--hmark-src-prefix " + long +
			" --hmark-sport 0x1234 --hmark-dport-mask 0xfff0 --hmark-rnd 0x6 --hmark-mod 65521",
		"-p tcp":                          all,
		"-p sctp":                         all,
		"-p 50":                           "--hmark-tuple src,spi,proto --hmark-rnd 0x7 --hmark-mod 65521",
		"-p 51":                           "--hmark-src-prefix 16 --hmark-spi-mask 0xff --hmark-spi 0x100 --hmark-rnd 0x7 --hmark-mod 65521",
		"-p " + icmp:                      all,
		"-p 47":                           all,
		"-p udp -m udp --dport 7010":      "--hmark-tuple src,dport --hmark-proto-mask 0xf" + seed,
		"-p udp -m udp --dport 8000:":     "--hmark-tuple src,dst,sport,dport,ct --hmark-rnd 0x9 --hmark-mod 65521 --hmark-offset 1",
		"-p udp -m udp --sport 8000:":     "--hmark-tuple src,dst,sport,dport,ct --hmark-rnd 0x9 --hmark-mod 65521 --hmark-offset 1",
		"-p udp -m udp --sport 7100:7200": all,
	} {
		fmt.Fprintf(&b, "-A PREROUTING %s -j HMARK %s\n", match, options)
	}
	b.WriteString("COMMIT\n*filter\n:FORWARD ACCEPT [0:0]\n")
	for bit := range 17 {
		fmt.Fprintf(&b, "-A FORWARD -m mark --mark 0x%x/0x%x\n", 1<<bit, 1<<bit)
	}
	for node := range 7 {
		fmt.Fprintf(&b, "-A FORWARD -m cluster --cluster-total-nodes 7 --cluster-local-node %d --cluster-hash-seed 0xdeadbeef\n", node+1)
	}
	b.WriteString("-A FORWARD -m cluster --cluster-total-nodes 4 ! --cluster-local-nodemask 5 --cluster-hash-seed 1\nCOMMIT\n")
	return b.String()
}

var hashCases = []kernelCase{
	{"HMARK of packets", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7001"}, {place: "client", packet: "udp 10.77.1.3:7 > 10.77.2.2:7001"},
		{place: "client", packet: "udp 10.77.1.4:41001 > 10.77.2.3:7002"}, {place: "client", packet: "udp 10.77.1.5:41001 > 10.77.2.2:7004"},
		{place: "client", packet: "tcp 10.77.1.6:41001 > 10.77.2.2:80"},
		{place: "server", packet: "tcp 10.77.2.2:80 > 10.77.1.6:41001 flags SYN,ACK"},
		{place: "client", packet: "sctp 10.77.1.7:41001 > 10.77.2.2:80"}, {place: "client", packet: "47 10.77.1.8 > 10.77.2.2"},
		{place: "client", packet: "udp 10.77.1.9:7150 > 10.77.2.2:7010"},
	}},
	{"HMARK of indexes and ICMP", []kernelPacket{
		{place: "client", packet: "50 10.77.1.2 > 10.77.2.2 spi 0x12345678"},
		{place: "client", packet: "51 10.77.1.2 > 10.77.2.2 spi 0x87654321"},
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2"},
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2 type 3/3", inner: "udp 10.77.2.2:41026 > 10.77.1.2:8080"},
	}},
	{"HMARK of connections", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7003"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:7009"},
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:8000"}, {place: "server", packet: "udp 10.77.2.2:8000 > 10.77.1.2:41001"},
	}},
}

var hashCases6 = []kernelCase{
	{"HMARK of packets", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7001"},
		{place: "client", packet: "udp [fd77:1::3:4]:7 > [fd77:2::2]:7001"},
		{place: "client", packet: "udp [fd77:1:9:8:7:6:5:4]:41001 > [fd77:2::2]:7002"},
		{place: "client", packet: "udp [fd77:1::5]:41001 > [fd77:2::2]:7004"},
		{place: "client", packet: "tcp [fd77:1::6]:41001 > [fd77:2::2]:80"},
	}},
	{"HMARK of indexes and ICMP", []kernelPacket{
		{place: "client", packet: "50 fd77:1::2 > fd77:2::2 spi 0x12345678"}, {place: "client", packet: "icmpv6 fd77:1::2 > fd77:2::2"},
		{place: "client", packet: "icmpv6 fd77:1::2 > fd77:2::2 type 1/4", inner: "udp [fd77:2::2]:41026 > [fd77:1::2]:8080"},
	}},
	{"HMARK of connections", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:7003"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:8000"},
		{place: "server", packet: "udp [fd77:2::2]:8000 > [fd77:1::2]:41001"},
	}},
}

// prefixRules translate prefixes without conntrack, and tell the bits of the words that may have changed.
func prefixRules() string {
	var b strings.Builder
	b.WriteString(traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d fd99:5::/48 -j DNPT --src-pfx fd99:5::/48 --dst-pfx fd77:2::/48
-A PREROUTING -d fd99:6::/64 -j DNPT --src-pfx fd99:6::/64 --dst-pfx fd77:2::/64
-A PREROUTING -d fd99:7::/32 -j DNPT --src-pfx fd99:7::/32 --dst-pfx fd77:2:ff00::/40
-A PREROUTING -d fd88:aaaa:bbbb:cccc::/64 -j DNPT --src-pfx fd88:aaaa:bbbb:cccc::/64 --dst-pfx fd77:1::/64
-A POSTROUTING -s fd77:1::/64 -j SNPT --src-pfx fd77:1::/64 --dst-pfx fd88:aaaa:bbbb:cccc::/64
-A POSTROUTING -s fd77:2::/64 -d fd77:1::9 -j SNPT --src-pfx fd77:2::/48 --dst-pfx fd88:aaaa:bbbb::/48
COMMIT
*filter
:FORWARD ACCEPT [0:0]
`)
	bits := func(chain string, places ...int) {
		for _, at := range places {
			for bit := range 32 {
				fmt.Fprintf(&b, "-A %s -m u32 --u32 \"0x%x&0x%x=0x%x\"\n", chain, at, 1<<bit, 1<<bit)
			}
		}
	}
	bits("FORWARD", 24, 28, 32)
	b.WriteString("COMMIT\n*nat\n:POSTROUTING ACCEPT [0:0]\n")
	bits("POSTROUTING", 8, 12, 16, 20)
	return b.String() + "COMMIT\n"
}

var prefixCases = []kernelCase{
	{"destination", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd99:5::2]:80"},
		{place: "client", packet: "udp [fd77:1::2]:41002 > [fd99:5:0:1234::2]:80"},
		{place: "client", packet: "udp [fd77:1::2]:41003 > [fd99:6::2]:80"},
		{place: "client", packet: "udp [fd77:1::2]:41004 > [fd99:6::ffff:1:2:3]:80"},
		{place: "client", packet: "udp [fd77:1::2]:41005 > [fd99:7::2]:80"},
		{place: "client", packet: "tcp [fd77:1::ffff:ffff:1:3]:41005 > [fd99:7:1:2::2]:80"}}},
	{"source", []kernelPacket{{place: "server", packet: "udp [fd77:2::2]:41001 > [fd77:1::9]:80"},
		{place: "server", packet: "udp [fd77:2::ffff]:41001 > [fd77:1::9]:80"}}},
	{"no word to change", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41006 > [fd99:6::ffff:ffff:ffff:ffff]:80"},
		{place: "client", packet: "udp [fd77:1:0:0:ffff:ffff:ffff:ffff]:41006 > [fd77:2::2]:80"}}},
	{"error about a translated packet", []kernelPacket{{place: "client", packet: "icmpv6 fd77:1::2 > fd77:2::2 type 1/4",
		inner: "udp [fd77:2::2]:41026 > [fd77:1::2]:8080"}}},
}
