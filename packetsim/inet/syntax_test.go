package inet

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseInputReads(t *testing.T) {
	v4 := func(p Packet) Packet {
		p.Src, p.Dst = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		return p
	}
	v6 := func(p Packet) Packet {
		p.Src, p.Dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
		return p
	}
	for _, tc := range []struct {
		name string
		text string
		want Input
	}{
		{"a TCP packet is a SYN", "tcp 10.0.0.1:40000 > 10.0.0.2:80 in veth1",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 40000, DstPort: 80, TCPFlags: SYN}), In: "veth1"}},
		{"flags", "tcp 10.0.0.1:1 > 10.0.0.2:2 flags SYN,ACK",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN | ACK})}},
		{"no flag at all", "tcp 10.0.0.1:1 > 10.0.0.2:2 flags NONE",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2})}},
		{"IPv6 with ports in brackets", "udp [fd00::1]:53 > [fd00::2]:5353 local",
			Input{Packet: v6(Packet{Proto: UDP, SrcPort: 53, DstPort: 5353}), Local: true}},
		{"an ICMP packet is an echo request", "icmp 10.0.0.1 > 10.0.0.2",
			Input{Packet: v4(Packet{Proto: ICMP, ICMPType: 8})}},
		{"an ICMPv6 packet is an echo request", "icmpv6 fd00::1 > fd00::2",
			Input{Packet: v6(Packet{Proto: ICMPv6, ICMPType: 128})}},
		{"ICMP type and code", "icmp 10.0.0.1 > 10.0.0.2 type 3/1",
			Input{Packet: v4(Packet{Proto: ICMP, ICMPType: 3, ICMPCode: 1})}},
		{"a protocol by number has no ports", "47 10.0.0.1 > 10.0.0.2", Input{Packet: v4(Packet{Proto: 47})}},
		{"TCP by number has ports", "6 10.0.0.1:1 > 10.0.0.2:2",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN})}},
		{"mark, hop limit and length in any order", "sctp 10.0.0.1:1 > 10.0.0.2:2 len 100 ttl 3 mark 0x4000 in eth0",
			Input{Packet: v4(Packet{Proto: SCTP, SrcPort: 1, DstPort: 2, Mark: 0x4000, TTL: 3, Length: 100}), In: "eth0"}},
		{"not to be cut", "udp 10.0.0.1:1 > 10.0.0.2:2 len 1500 df",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2, Length: 1500, DontFragment: true})}},
		{"service", "udp 10.0.0.1:1 > 10.0.0.2:2 tos 0xb8 ttl 3",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2, TTL: 3, TOS: 0xb8})}},
		{"segment size", "tcp 10.0.0.1:1 > 10.0.0.2:2 mss 1460",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN, MSS: 1460})}},
		{"payload", "tcp 10.0.0.1:1 > 10.0.0.2:2 payload 47455420 seq 1",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN, Numbers: &TCPNumbers{Seq: 1, Data: 4},
				Payload: []byte("GET ")})}},
		{"no payload", "udp 10.0.0.1:1 > 10.0.0.2:2 payload none",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2, Payload: []byte{}})}},
		{"index of IPsec", "50 10.0.0.1 > 10.0.0.2 spi 0x12", Input{Packet: v4(Packet{Proto: ESP, SPI: new(uint32(0x12))})}},
		{"a header of AH", "51 10.0.0.1 > 10.0.0.2 ah 24", Input{Packet: v4(Packet{Proto: AH, AH: &AHHeader{Length: 24}})}},
		{"all of a header of AH", "51 10.0.0.1 > 10.0.0.2 spi 7 ah 1028/5",
			Input{Packet: v4(Packet{Proto: AH, SPI: new(uint32(7)), AH: &AHHeader{Length: 1028, Reserved: 5}})}},
		{"a decimal mark", "udp 10.0.0.1:0 > 10.0.0.2:65535 mark 16384",
			Input{Packet: v4(Packet{Proto: UDP, DstPort: 65535, Mark: 0x4000})}},
		{"words with several blanks between", "  udp\t10.0.0.1:1  >  10.0.0.2:2 ",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2})}},
		{"a device named like a word", "udp 10.0.0.1:1 > 10.0.0.2:2 in local",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2}), In: "local"}},
		{"a source left to the host", "udp 0.0.0.0:1 > 10.0.0.2:2 local",
			Input{Packet: Packet{Proto: UDP, Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 1, DstPort: 2}, Local: true}},
		{"one TCP number makes the others zero", "tcp 10.0.0.1:1 > 10.0.0.2:2 ack 7",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN, Numbers: &TCPNumbers{Ack: 7}})}},
		{"every TCP number and option", "tcp 10.0.0.1:1 > 10.0.0.2:2 seq 1 ack 2 window 3 data 4 wscale 0 sack-permitted sack 5-6,7-8 " +
			"out-of-window",
			Input{Packet: v4(Packet{Proto: TCP, SrcPort: 1, DstPort: 2, TCPFlags: SYN, OutOfWindow: true, Numbers: &TCPNumbers{
				Seq: 1, Ack: 2, Window: 3, Data: 4, HasScale: true, SACKPermitted: true, SACK: []SACKBlock{{5, 6}, {7, 8}}}})}},
		{"SCTP chunks by name and number", "sctp 10.0.0.1:1 > 10.0.0.2:2 vtag 18 chunks INIT/0/0x12,200/3,COOKIE_ACK",
			Input{Packet: v4(Packet{Proto: SCTP, SrcPort: 1, DstPort: 2, VerificationTag: 18,
				Chunks: []SCTPChunk{{Type: SCTPInit, InitTag: 18}, {Type: 200, Flags: 3}, {Type: SCTPCookieAck}}})}},
		{"an owner", "udp 10.0.0.1:1 > 10.0.0.2:2 local socket uid=1000,gid=100,groups=4+27,mark=0x1",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2, Socket: &Socket{UID: 1000, GID: 100, Groups: []uint32{4, 27}, Mark: 1}}),
				Local: true}},
		{"a socket of the kernel", "47 10.0.0.1 > 10.0.0.2 local socket kernel,transparent",
			Input{Packet: v4(Packet{Proto: 47, Socket: &Socket{Kernel: true, Transparent: true}}), Local: true}},
		{"no socket", "47 10.0.0.1 > 10.0.0.2 socket none", Input{Packet: v4(Packet{Proto: 47, Socket: &Socket{None: true}})}},
		{"a frame to a port of a bridge", "47 10.0.0.1 > 10.0.0.2 in veth1 mac 02:00:00:00:00:0a link unicast nexthop 10.0.0.3",
			Input{Packet: v4(Packet{Proto: 47, MAC: MAC{2, 0, 0, 0, 0, 10}, LinkType: LinkUnicast}), In: "veth1",
				NextHop: netip.MustParseAddr("10.0.0.3")}},
		{"a quoted packet", "icmp 10.0.0.1 > 10.0.0.2 type 3/3 quotes { udp 10.0.0.2:1 > 10.0.0.9:2 ttl 3 } ttl 5",
			Input{Packet: v4(Packet{Proto: ICMP, ICMPType: 3, ICMPCode: 3, TTL: 5, Inner: &Packet{Proto: UDP, SrcPort: 1, DstPort: 2, TTL: 3,
				Src: netip.MustParseAddr("10.0.0.2"), Dst: netip.MustParseAddr("10.0.0.9")}})}},
		{"an IPv6 packet in a tunnel", "udp 10.0.0.1:1 > 10.0.0.2:8472 vxlan 7 { icmpv6 fd00::1 > fd00::2 id 9 }",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 8472, VNI: 7, Carried: func() *Packet {
				p := v6(Packet{Proto: ICMPv6, ICMPType: 128, ICMPID: 9})
				return &p
			}()})}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseInput(tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestParseInputRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		text   string
		column int
		msg    string
	}{
		{"an empty line", "", 1, "the line ends here: write a packet such as"},
		{"an unknown protocol", "tpc 10.0.0.1:1 > 10.0.0.2:2", 1, "unknown protocol: write tcp"},
		{"a protocol beyond one byte", "256 10.0.0.1 > 10.0.0.2", 1, "unknown protocol"},
		{"no source", "tcp", 4, "the line ends here: write the source address"},
		{"no destination", "tcp 10.0.0.1:1 >", 17, "the line ends here: write the destination address"},
		{"no arrow", "tcp 10.0.0.1:1 10.0.0.2:2", 16, `write ">" between`},
		{"an arrow without blanks", "tcp 10.0.0.1:1>10.0.0.2:2", 5, "not an IP address"},
		{"a source without port", "tcp 10.0.0.1 > 10.0.0.2:2", 5, "protocol tcp needs a port: write 10.0.0.1:80"},
		{"an IPv6 destination without port", "tcp [fd00::1]:1 > fd00::2", 19, "protocol tcp needs a port: write [fd00::2]:80"},
		{"an empty port", "tcp 10.0.0.1: > 10.0.0.2:2", 5, "not a number: write one from 0 to 65535"},
		{"a port beyond 16 bits", "tcp 10.0.0.1:65536 > 10.0.0.2:2", 5, "out of range: write a number from 0 to 65535"},
		{"a port far beyond any number", "tcp 10.0.0.1:99999999999999999999999 > 10.0.0.2:2", 5, "out of range"},
		{"a port with leading zeros", "tcp 10.0.0.1:080 > 10.0.0.2:2", 5, "a number has no leading zeros"},
		{"a signed port", "tcp 10.0.0.1:+80 > 10.0.0.2:2", 5, "not a number"},
		{"an address with leading zeros", "tcp 10.0.0.1:1 > 010.0.0.2:2", 18, "an IPv4 address has no leading zeros"},
		{"an IPv6 zone", "icmpv6 fe80::1%eth0 > fe80::2", 8, `leave out %eth0 and name the device by "in DEV"`},
		{"an IPv4-mapped address", "icmpv6 ::ffff:10.0.0.1 > fe80::2", 8, "write 10.0.0.1"},
		{"addresses of two families", "udp 10.0.0.1:1 > [fd00::2]:2", 18, "the source 10.0.0.1 is of the other address family"},
		{"icmp between IPv6 addresses", "icmp fd00::1 > fd00::2", 16, "icmp is IPv4 only: write icmpv6"},
		{"icmpv6 between IPv4 addresses", "58 10.0.0.1 > 10.0.0.2", 15, "icmpv6 is IPv6 only: write icmp"},
		{"a port for ICMP", "icmp 10.0.0.1:1 > 10.0.0.2", 6, "protocol icmp has no ports"},
		{"brackets without a port", "icmpv6 [fd00::1] > fd00::2", 8, "brackets go around an IPv6 address with a port"},
		{"brackets around IPv4", "udp [10.0.0.1]:1 > 10.0.0.2:2", 5, "brackets are for IPv6 addresses"},
		{"an unknown word", "udp 10.0.0.1:1 > 10.0.0.2:2 dev eth0", 29, "unknown word: write one of in DEV"},
		{"a word without its value", "udp 10.0.0.1:1 > 10.0.0.2:2 in", 31, `write a device name after "in"`},
		{"a word twice", "udp 10.0.0.1:1 > 10.0.0.2:2 ttl 1 ttl 2", 35, "given twice"},
		{"a device and local", "udp 10.0.0.1:1 > 10.0.0.2:2 in eth0 local", 37, `"in eth0" is given as well`},
		{"local and a device", "udp 10.0.0.1:1 > 10.0.0.2:2 local in eth0", 35, `"local" is given as well`},
		{"a device name beyond the kernel's limit", "udp 10.0.0.1:1 > 10.0.0.2:2 in abcdefghijklmnop", 32, "at most 15 bytes"},
		{"a device name with a slash", "udp 10.0.0.1:1 > 10.0.0.2:2 in a/b", 32, "not a device name"},
		{"flags on UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 flags SYN", 29, "only TCP packets have flags"},
		{"an unknown flag", "tcp 10.0.0.1:1 > 10.0.0.2:2 flags SYN,FOO", 35, "unknown TCP flag"},
		{"a type on TCP", "tcp 10.0.0.1:1 > 10.0.0.2:2 type 8/0", 29, "only ICMP packets have a type"},
		{"a type without code", "icmp 10.0.0.1 > 10.0.0.2 type 8", 31, "write the type and the code, such as 8/0"},
		{"a type beyond one byte", "icmp 10.0.0.1 > 10.0.0.2 type 256/0", 31, "out of range: write a number from 0 to 255"},
		{"a mark that is no number", "udp 10.0.0.1:1 > 10.0.0.2:2 mark 0xg", 34, "not a 32-bit hexadecimal number"},
		{"a mark beyond 32 bits", "udp 10.0.0.1:1 > 10.0.0.2:2 mark 4294967296", 34, "out of range"},
		{"a service of more than a byte", "udp 10.0.0.1:1 > 10.0.0.2:2 tos 256", 33, "from 0 to 255"},
		{"a segment size of zero", "tcp 10.0.0.1:1 > 10.0.0.2:2 mss 0", 33, "from 1 to 65535"},
		{"a segment size of UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 mss 5", 29, "only TCP packets have a segment size"},
		{"an index of UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 spi 5", 29, "only IPsec packets have an index of security parameters"},
		{"a header of AH in ESP", "50 10.0.0.1 > 10.0.0.2 ah 24", 24, "only AH packets have such a header"},
		{"a header of AH with half a word", "51 10.0.0.1 > 10.0.0.2 ah 26", 27, "write a multiple of 4 from 8 to 1028"},
		{"a header of AH with a reserved field that is too great", "51 10.0.0.1 > 10.0.0.2 ah 24/65536", 27, "65535"},
		{"an index of more than 16 bits", "108 10.0.0.1 > 10.0.0.2 spi 65536", 29, "up to 65535"},
		{"a payload of half a byte", "udp 10.0.0.1:1 > 10.0.0.2:2 payload 123", 37, "pairs of hexadecimal digits"},
		{"a payload of another length", "tcp 10.0.0.1:1 > 10.0.0.2:2 payload 12 data 2", 29, "1 bytes, and \"data\" says 2"},
		{"a payload and a length", "udp 10.0.0.1:1 > 10.0.0.2:2 payload 12 len 50", 29, "\"len\" is given as well"},
		{"a payload of IPsec", "50 10.0.0.1 > 10.0.0.2 payload 12", 24, "no rule looks at the payload"},
		{"a payload beside a quoted packet", "icmp 10.0.0.1 > 10.0.0.2 type 3/3 payload 12 quotes { udp 10.0.0.2:1 > 10.0.0.9:2 }", 35,
			"no payload of its own"},
		{"a hop limit that is too large", "udp 10.0.0.1:1 > 10.0.0.2:2 ttl 256", 33, "from 0 to 255"},
		{"a length below the header", "udp [fd00::1]:1 > [fd00::2]:2 len 39", 35, "from 40 to 65535"},
		{"TCP numbers on UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 seq 1", 29, "only TCP packets have sequence numbers"},
		{"a window beyond 16 bits", "tcp 10.0.0.1:1 > 10.0.0.2:2 window 65536", 36, "from 0 to 65535"},
		{"a SACK block without its end", "tcp 10.0.0.1:1 > 10.0.0.2:2 sack 1-2,3", 34, `"3" is not a block: write LEFT-RIGHT`},
		{"a SACK block of words", "tcp 10.0.0.1:1 > 10.0.0.2:2 sack 1-x", 34, `block "1-x": not a number`},
		{"an unknown chunk", "sctp 10.0.0.1:1 > 10.0.0.2:2 chunks DATA,FOO", 37, `chunk "FOO": unknown type: write a name such as INIT`},
		{"a chunk of four parts", "sctp 10.0.0.1:1 > 10.0.0.2:2 chunks INIT/0/0/0", 37, "write the type, the flags and the initiate tag"},
		{"an identifier on UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 id 1", 29, "only ICMP packets have an identifier"},
		{"a socket that is none and more", "udp 10.0.0.1:1 > 10.0.0.2:2 socket none,uid=0", 36, "write none alone"},
		{"an owner of the kernel's socket", "udp 10.0.0.1:1 > 10.0.0.2:2 socket kernel,uid=0", 36, "a socket of the kernel has no owner"},
		{"an unknown word about the socket", "udp 10.0.0.1:1 > 10.0.0.2:2 socket root", 36, `"root": unknown word: write none, kernel, uid=N`},
		{"a socket's word with a value too many", "udp 10.0.0.1:1 > 10.0.0.2:2 socket wildcard=1", 36, "write none, kernel, uid=N"},
		{"an owner twice", "udp 10.0.0.1:1 > 10.0.0.2:2 socket uid=1,uid=1", 36, `"uid" is given twice`},
		{"a MAC address that is none", "udp 10.0.0.1:1 > 10.0.0.2:2 mac 02:00", 33, "is not a MAC address"},
		{"a MAC address of zeros", "udp 10.0.0.1:1 > 10.0.0.2:2 mac 00:00:00:00:00:00", 33, "leave the word out"},
		{"an unknown kind of link-layer address", "udp 10.0.0.1:1 > 10.0.0.2:2 link anycast", 34, "write unicast, broadcast or multicast"},
		{"a next hop that is no address", "udp 10.0.0.1:1 > 10.0.0.2:2 nexthop eth0", 37, "not an IP address"},
		{"a quoted packet in UDP", "udp 10.0.0.1:1 > 10.0.0.2:2 quotes { 47 10.0.0.1 > 10.0.0.2 }", 29, "only ICMP packets have a quoted packet"},
		{"a quoted packet of the other family", "icmp 10.0.0.1 > 10.0.0.2 quotes { 47 fd00::1 > fd00::2 }", 33, "of the other address family"},
		{"a quoted packet without braces", "icmp 10.0.0.1 > 10.0.0.2 quotes 47 10.0.0.1 > 10.0.0.2", 33, `write "{" before the packet`},
		{"a brace that does not end", "icmp 10.0.0.1 > 10.0.0.2 quotes { 47 10.0.0.1 > 10.0.0.2", 33, `the "}" is missing`},
		{"nothing in braces", "icmp 10.0.0.1 > 10.0.0.2 quotes { }", 35, "the packet in braces ends here: write a packet"},
		{"a device of a quoted packet", "icmp 10.0.0.1 > 10.0.0.2 quotes { 47 10.0.0.1 > 10.0.0.2 in eth0 }", 58, "does not come to a host"},
		{"a network identifier beyond 24 bits", "udp 10.0.0.1:1 > 10.0.0.2:2 vxlan 16777216 { 47 10.0.0.1 > 10.0.0.2 }", 35,
			"from 0 to 16777215"},
		{"packets in one another without end", "icmp 10.0.0.1 > 10.0.0.2" + strings.Repeat(" quotes { icmp 10.0.0.1 > 10.0.0.2", 17) +
			strings.Repeat(" }", 17), 577, "more than 16 packets in one another"},
		{"a column counted in characters", "udp 10.0.0.1:1 > 10.0.0.2:2 in ä type", 34, "write an ICMP type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseInput(tc.text)
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			assert.Contains(t, syntax.Msg, tc.msg)
			if tc.name != "a column counted in characters" {
				assert.Equal(t, tc.column, syntax.Column)
			} else {
				assert.Equal(t, len([]rune(tc.text))+1, syntax.Column)
			}
		})
	}
}

func TestParseInputReadsWhatFullPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputGen().Draw(t, "input")
		got, err := ParseInput(in.Full())
		require.NoError(t, err, in.Full())
		require.Equal(t, in, got, in.Full())
	})
}

// inputGen makes every input that a packet of its protocol can be.
func inputGen() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		v6 := rapid.Bool().Draw(t, "v6")
		in := Input{Packet: packetGen(v6, 2).Draw(t, "packet")}
		switch rapid.IntRange(0, 2).Draw(t, "way") {
		case 0:
			in.In = rapid.StringMatching(`[a-z{}][a-z0-9.@{}-]{0,14}`).Draw(t, "dev")
			if rapid.Bool().Draw(t, "hasNextHop") {
				in.NextHop = addrGen(v6).Draw(t, "nexthop")
			}
		case 1:
			in.Local = true
			if in.Src.IsUnspecified() {
				in.Src = netip.Addr{}
			}
		}
		return in
	})
}

// packetGen makes packets with at most so many packets in one another.
func packetGen(v6 bool, depth int) *rapid.Generator[Packet] {
	return rapid.Custom(func(t *rapid.T) Packet {
		p := Packet{Src: addrGen(v6).Draw(t, "src"), Dst: addrGen(v6).Draw(t, "dst"), Proto: Proto(rapid.Uint8().Draw(t, "proto"))}
		if known := rapid.SampledFrom([]Proto{0, TCP, UDP, SCTP, ICMP, ICMPv6, ESP, AH}).Draw(t, "known"); known != 0 {
			p.Proto = known
		}
		some := func(what string) bool { return rapid.IntRange(0, 2).Draw(t, what) == 0 }
		if p.Proto.HasPorts() {
			p.SrcPort, p.DstPort = rapid.Uint16().Draw(t, "sport"), rapid.Uint16().Draw(t, "dport")
		}
		switch {
		case p.Proto.IsICMP():
			p.Proto = map[bool]Proto{false: ICMP, true: ICMPv6}[v6]
			p.ICMPType, p.ICMPCode, p.ICMPID = rapid.Uint8().Draw(t, "type"), rapid.Uint8().Draw(t, "code"), rapid.Uint16().Draw(t, "id")
			if depth > 0 && some("quotes") {
				p.Inner = new(packetGen(v6, depth-1).Draw(t, "inner"))
			}
		case p.Proto == TCP:
			p.TCPFlags, p.OutOfWindow = TCPFlags(rapid.Uint8().Draw(t, "flags")), rapid.Bool().Draw(t, "outOfWindow")
			if some("numbers") {
				p.Numbers = numbersGen().Draw(t, "numbers")
			}
			p.MSS = rapid.Uint16().Draw(t, "mss")
		case p.Proto.hasSPI() && p.Proto != IPComp:
			if some("spi") {
				p.SPI = new(rapid.Uint32().Draw(t, "index"))
			}
			if p.Proto == AH && some("ah") {
				p.AH = &AHHeader{Length: 8 + 4*uint16(rapid.Uint8().Draw(t, "ah length")), Reserved: rapid.Uint16().Draw(t, "reserved")}
			}
		case p.Proto == SCTP:
			p.VerificationTag = rapid.Uint32().Draw(t, "vtag")
			for range rapid.IntRange(0, 3).Draw(t, "chunks") {
				p.Chunks = append(p.Chunks, SCTPChunk{Type: SCTPChunkType(rapid.Uint8().Draw(t, "chunk")), Flags: rapid.Uint8Max(2).Draw(t, "flags"),
					InitTag: rapid.Uint32Max(2).Draw(t, "tag")})
			}
		case p.Proto == UDP && depth > 0 && some("carries"):
			p.VNI, p.Carried = rapid.Uint32Max(1<<24-1).Draw(t, "vni"), new(packetGen(rapid.Bool().Draw(t, "carried v6"), depth-1).Draw(t,
				"carried"))
		}
		p.Mark, p.TTL, p.TOS = rapid.Uint32().Draw(t, "mark"), rapid.Uint8().Draw(t, "ttl"), rapid.Uint8().Draw(t, "tos")
		p.Spent = p.TTL == 0 && some("spent")
		p.DontFragment = !v6 && some("df")
		switch {
		case rapid.Bool().Draw(t, "hasLength"):
			p.Length = rapid.IntRange(40, 65535).Draw(t, "len")
		case p.Proto != SCTP && !p.Proto.hasSPI() && p.Inner == nil && p.Carried == nil && some("payload"):
			p.Payload = rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "payload")
			if p.Numbers != nil {
				p.Numbers.Data = uint32(len(p.Payload))
			}
		}
		if some("checksum") {
			p.ChecksumOff = rapid.Uint16Max(0xfffe).Draw(t, "checksum off")
		}
		if some("socket") {
			p.Socket = socketGen().Draw(t, "socket")
		}
		if some("mac") {
			p.MAC = MAC(rapid.SliceOfN(rapid.Byte(), len(p.MAC), len(p.MAC)).Draw(t, "mac"))
		}
		p.LinkType = rapid.SampledFrom([]LinkType{"", LinkUnicast, LinkBroadcast, LinkMulticast}).Draw(t, "link")
		return p
	})
}

func numbersGen() *rapid.Generator[*TCPNumbers] {
	return rapid.Custom(func(t *rapid.T) *TCPNumbers {
		n := &TCPNumbers{Seq: rapid.Uint32().Draw(t, "seq"), Ack: rapid.Uint32().Draw(t, "ack"), Window: rapid.Uint16().Draw(t, "window"),
			Data: rapid.Uint32().Draw(t, "data"), HasScale: rapid.Bool().Draw(t, "hasScale"), SACKPermitted: rapid.Bool().Draw(t, "sackPermitted")}
		if n.HasScale {
			n.Scale = rapid.Uint8().Draw(t, "scale")
		}
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			n.SACK = append(n.SACK, SACKBlock{rapid.Uint32().Draw(t, "left"), rapid.Uint32().Draw(t, "right")})
		}
		return n
	})
}

func socketGen() *rapid.Generator[*Socket] {
	return rapid.Custom(func(t *rapid.T) *Socket {
		s := &Socket{None: rapid.Bool().Draw(t, "none")}
		if s.None {
			return s
		}
		s.Kernel, s.Mark = rapid.Bool().Draw(t, "kernel"), rapid.Uint32Max(2).Draw(t, "mark")
		s.Raw = rapid.Bool().Draw(t, "raw")
		s.Transparent, s.Wildcard = rapid.Bool().Draw(t, "transparent"), rapid.Bool().Draw(t, "wildcard")
		s.Cgroup = rapid.SampledFrom([]string{"", "/", "/system.slice/a"}).Draw(t, "cgroup")
		if rapid.Bool().Draw(t, "has classid") {
			s.ClassID = new(rapid.Uint32Max(2).Draw(t, "classid"))
		}
		if !s.Kernel {
			s.UID, s.GID = rapid.Uint32Max(2).Draw(t, "uid"), rapid.Uint32().Draw(t, "gid")
			for range rapid.IntRange(0, 3).Draw(t, "groups") {
				s.Groups = append(s.Groups, rapid.Uint32().Draw(t, "group"))
			}
		}
		return s
	})
}

// TestInputGenFillsEveryField fails for a field that the generator, and so the law about the syntax, does not know.
func TestInputGenFillsEveryField(t *testing.T) {
	filled := map[string]bool{}
	for seed := range 300 {
		noteFields(filled, reflect.ValueOf(inputGen().Example(seed)))
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Input](), reflect.TypeFor[Packet](), reflect.TypeFor[TCPNumbers](),
		reflect.TypeFor[SACKBlock](),
		reflect.TypeFor[SCTPChunk](), reflect.TypeFor[Socket](), reflect.TypeFor[AHHeader]()} {
		for i := range typ.NumField() {
			assert.True(t, filled[typ.Name()+"."+typ.Field(i).Name], "%s.%s", typ.Name(), typ.Field(i).Name)
		}
	}
}

// noteFields notes the fields that are not zero, of the value and of what it points to.
func noteFields(filled map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noteFields(filled, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(filled, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); !field.IsZero() {
				filled[v.Type().Name()+"."+v.Type().Field(i).Name] = true
				noteFields(filled, field)
			}
		}
	}
}

func addrGen(v6 bool) *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		if !v6 {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
		}
		addr := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
		if addr.Is4In6() {
			return netip.IPv6Unspecified()
		}
		return addr
	})
}

func FuzzParseInput(f *testing.F) {
	f.Add("tcp 10.244.0.11:40000 > 172.30.0.10:80 in veth1")
	f.Add("udp [fd00::1]:53 > [fd00::2]:53 local mark 0x4000 ttl 3 len 100 tos 0x10")
	f.Add("tcp 10.0.0.1:1 > 10.0.0.2:2 mss 1460 wscale 7")
	f.Add("tcp 10.0.0.1:1 > 10.0.0.2:2 payload 4745 seq 1")
	f.Add("50 10.0.0.1 > 10.0.0.2 spi 0x12")
	f.Add("icmp 10.0.0.1 > 10.0.0.2 type 3/1")
	f.Add("tcp 10.0.0.1:1 > 10.0.0.2:2 flags SYN,ACK,")
	f.Add("tcp 10.0.0.1:1 > 10.0.0.2:2 in eth0 seq 1 ack 2 window 3 data 4 wscale 7 sack-permitted sack 1-2,3-4 out-of-window")
	f.Add("sctp 10.0.0.1:1 > 10.0.0.2:2 vtag 0x1 chunks INIT/0/0x12,DATA socket uid=1,gid=2,groups=3+4,transparent,wildcard,mark=5 mac " +
		"02:00:00:00:00:01 link unicast")
	f.Add("icmp 10.0.0.1 > 10.0.0.2 type 3/1 id 7 nexthop 10.0.0.3 quotes { udp 10.0.0.2:1 > 10.0.0.1:2 vxlan 7 { tcp [fd00::1]:1 > " +
		"[fd00::2]:2 } }")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := ParseInput(text)
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Positive(t, syntax.Column)
			return
		}
		again, err := ParseInput(in.Full())
		require.NoError(t, err, in.Full())
		require.Equal(t, in, again)
	})
}

func ExampleParseInput() {
	in, err := ParseInput("tcp 10.244.0.11:40000 > 172.30.0.10:80 in veth1")
	fmt.Println(in.DstPort, in.TCPFlags, in.In, err)
	_, err = ParseInput("tcp 10.244.0.11 > 172.30.0.10:80 in veth1")
	fmt.Println(err)
	// Output:
	// 80 SYN veth1 <nil>
	// packet: column 5: "10.244.0.11": protocol tcp needs a port: write 10.244.0.11:80
}
