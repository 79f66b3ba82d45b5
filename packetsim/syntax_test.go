package packetsim

import (
	"fmt"
	"net/netip"
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
		{"a decimal mark", "udp 10.0.0.1:0 > 10.0.0.2:65535 mark 16384",
			Input{Packet: v4(Packet{Proto: UDP, DstPort: 65535, Mark: 0x4000})}},
		{"words with several blanks between", "  udp\t10.0.0.1:1  >  10.0.0.2:2 ",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2})}},
		{"a device named like a word", "udp 10.0.0.1:1 > 10.0.0.2:2 in local",
			Input{Packet: v4(Packet{Proto: UDP, SrcPort: 1, DstPort: 2}), In: "local"}},
		{"a source left to the host", "udp 0.0.0.0:1 > 10.0.0.2:2 local",
			Input{Packet: Packet{Proto: UDP, Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 1, DstPort: 2}, Local: true}},
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
		{"a hop limit of zero", "udp 10.0.0.1:1 > 10.0.0.2:2 ttl 0", 33, "from 1 to 255"},
		{"a length below the header", "udp [fd00::1]:1 > [fd00::2]:2 len 39", 35, "from 40 to 65535"},
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

func TestParseInputReadsWhatStringPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputGen().Draw(t, "input")
		got, err := ParseInput(in.String())
		require.NoError(t, err, in.String())
		require.Equal(t, in, got, in.String())
	})
}

// inputGen makes every input that the syntax has words for.
func inputGen() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		v6 := rapid.Bool().Draw(t, "v6")
		in := Input{}
		in.Src, in.Dst = addrGen(v6).Draw(t, "src"), addrGen(v6).Draw(t, "dst")
		in.Proto = Proto(rapid.Uint8().Draw(t, "proto"))
		if known := rapid.SampledFrom([]Proto{0, TCP, UDP, SCTP, ICMP, ICMPv6}).Draw(t, "known"); known != 0 {
			in.Proto = known
		}
		if in.Proto.isICMP() {
			in.Proto = map[bool]Proto{false: ICMP, true: ICMPv6}[v6]
			in.ICMPType, in.ICMPCode = rapid.Uint8().Draw(t, "type"), rapid.Uint8().Draw(t, "code")
		}
		if in.Proto.HasPorts() {
			in.SrcPort, in.DstPort = rapid.Uint16().Draw(t, "sport"), rapid.Uint16().Draw(t, "dport")
		}
		if in.Proto == TCP {
			in.TCPFlags = TCPFlags(rapid.Uint8().Draw(t, "flags"))
		}
		in.Mark, in.TTL = rapid.Uint32().Draw(t, "mark"), rapid.Uint8().Draw(t, "ttl")
		if rapid.Bool().Draw(t, "hasLength") {
			in.Length = rapid.IntRange(40, 65535).Draw(t, "len")
		}
		switch rapid.IntRange(0, 2).Draw(t, "way") {
		case 0:
			in.In = rapid.StringMatching(`[a-z][a-z0-9.@-]{0,14}`).Draw(t, "dev")
		case 1:
			in.Local = true
			if in.Src.IsUnspecified() {
				in.Src = netip.Addr{}
			}
		}
		return in
	})
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
	f.Add("udp [fd00::1]:53 > [fd00::2]:53 local mark 0x4000 ttl 3 len 100")
	f.Add("icmp 10.0.0.1 > 10.0.0.2 type 3/1")
	f.Add("tcp 10.0.0.1:1 > 10.0.0.2:2 flags SYN,ACK,")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := ParseInput(text)
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Positive(t, syntax.Column)
			return
		}
		again, err := ParseInput(in.String())
		require.NoError(t, err)
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
