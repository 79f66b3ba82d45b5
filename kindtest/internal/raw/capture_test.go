package raw

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func packetOf(t *testing.T, text string) inet.Packet {
	t.Helper()
	in, err := inet.ParseInput(text)
	require.NoError(t, err)
	return in.Packet
}

func TestCraftedPacketsAreReadBack(t *testing.T) {
	for _, text := range []string{
		"tcp 10.0.0.1:40000 > 10.0.0.2:80 flags SYN",
		"tcp 10.0.0.1:40000 > 10.0.0.2:80 flags PSH,ACK",
		"tcp [fd00::1]:40000 > [fd00::2]:80 flags RST",
		"udp 10.0.0.1:40000 > 10.0.0.2:53",
		"udp [fd00::1]:40000 > [fd00::2]:53",
		"sctp 10.0.0.1:40000 > 10.0.0.2:80",
		"icmp 10.0.0.1 > 10.0.0.2 type 8/0",
		"icmpv6 fd00::1 > fd00::2 type 128/0",
	} {
		t.Run(text, func(t *testing.T) {
			p := packetOf(t, text)
			c, err := Parse(Craft(&p, Tell{Seq: 7, Ack: 9, Payload: []byte("Q12345678901")}))
			require.NoError(t, err)
			assert.Equal(t, p.Proto, c.Proto)
			assert.Equal(t, netip.AddrPortFrom(p.Src, p.SrcPort), c.Source())
			assert.Equal(t, netip.AddrPortFrom(p.Dst, p.DstPort), c.Destination())
			assert.Equal(t, p.TCPFlags, c.TCPFlags)
			assert.Equal(t, p.ICMPType, c.ICMPType)
			assert.EqualValues(t, 64, c.TTL)
		})
	}
}

// TestPrintOutlivesTranslation: a packet is known again whatever is translated.
func TestPrintOutlivesTranslation(t *testing.T) {
	print := func(text string, say Tell) string {
		p := packetOf(t, text)
		c, err := Parse(Craft(&p, say))
		require.NoError(t, err)
		return c.Print
	}
	first := Tell{Seq: 7, Ack: 9, Chunk: inet.SCTPInit, Payload: []byte("Q00000000001")}
	other := Tell{Seq: 8, Ack: 10, Chunk: inet.SCTPInit, Payload: []byte("Q00000000002")}
	for _, c := range []struct{ name, sent, translated string }{
		{"TCP", "tcp 10.0.0.1:40000 > 172.30.0.1:80", "tcp 10.0.0.9:1234 > 10.0.0.2:8080"},
		{"UDP", "udp 10.0.0.1:40000 > 172.30.0.1:53", "udp 10.0.0.9:1234 > 10.0.0.2:5353"},
		{"UDP in IPv6", "udp [fd00::1]:40000 > [fd00::9]:53", "udp [fd00::3]:1234 > [fd00::2]:5353"},
		{"SCTP", "sctp 10.0.0.1:40000 > 172.30.0.1:80", "sctp 10.0.0.9:1234 > 10.0.0.2:8080"},
		{"an echo request", "icmp 10.0.0.1 > 172.30.0.1 type 8/0", "icmp 10.0.0.9 > 172.30.0.1 type 8/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, print(c.sent, first), print(c.translated, first))
			assert.NotEqual(t, print(c.sent, first), print(c.sent, other), "another packet")
		})
	}
	assert.NotEqual(t,
		print("tcp 10.0.0.1:1 > 10.0.0.2:2 flags SYN", first), print("tcp 10.0.0.1:1 > 10.0.0.2:2 flags RST", first), "other flags")
}

func FuzzParse(f *testing.F) {
	p := inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	f.Add(Craft(&p, Tell{}))
	p.Src, p.Dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	f.Add(Craft(&p, Tell{}))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := Parse(b); err == nil {
			require.NotEmpty(t, c.Print)
		}
	})
}
