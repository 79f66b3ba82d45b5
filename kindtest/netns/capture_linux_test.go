package netns

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
)

func packetOf(t *testing.T, text string) packetsim.Packet {
	t.Helper()
	in, err := packetsim.ParseInput(text)
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
			c, err := parseCapture(craft(&p, tell{seq: 7, ack: 9, payload: []byte("Q12345678901")}))
			require.NoError(t, err)
			assert.Equal(t, p.Proto, c.Proto)
			assert.Equal(t, netip.AddrPortFrom(p.Src, p.SrcPort), c.source())
			assert.Equal(t, netip.AddrPortFrom(p.Dst, p.DstPort), c.destination())
			assert.Equal(t, p.TCPFlags, c.TCPFlags)
			assert.Equal(t, p.ICMPType, c.ICMPType)
			assert.EqualValues(t, 64, c.TTL)
		})
	}
}

// TestPrintOutlivesTranslation: a packet is known again whatever is translated.
func TestPrintOutlivesTranslation(t *testing.T) {
	print := func(text string, say tell) string {
		p := packetOf(t, text)
		c, err := parseCapture(craft(&p, say))
		require.NoError(t, err)
		return c.print
	}
	first := tell{seq: 7, ack: 9, chunk: packetsim.SCTPInit, payload: []byte("Q00000000001")}
	other := tell{seq: 8, ack: 10, chunk: packetsim.SCTPInit, payload: []byte("Q00000000002")}
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

func FuzzParseCapture(f *testing.F) {
	p := packetsim.Packet{Proto: packetsim.TCP, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	f.Add(craft(&p, tell{}))
	p.Src, p.Dst = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	f.Add(craft(&p, tell{}))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseCapture(b); err == nil {
			require.NotEmpty(t, c.print)
		}
	})
}
