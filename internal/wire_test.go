package internal_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func packetOf(t testing.TB, text string) inet.Packet {
	t.Helper()
	in, err := inet.ParseInput(text)
	require.NoError(t, err)
	return in.Packet
}

// TestDecodeReadsWhatEncodeWrites has packets of every protocol, and an ICMP error about each.
func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	for _, text := range []string{
		"tcp 10.78.1.2:40001 > 10.198.0.1:80 flags SYN,ACK ttl 63 tos 0xb9 mss 1460", "udp 10.78.1.2:1 > 10.198.0.1:65535 ttl 1",
		"sctp [fd78:1::2]:40001 > [fd98::1]:80 ttl 64 tos 0xff",
		"icmp 10.78.1.2 > 10.198.0.1 ttl 64", "icmpv6 fd78:1::2 > fd98::1 type 129/0 ttl 64", "47 10.78.1.2 > 10.198.0.1 ttl 64",
	} {
		t.Run(text, func(t *testing.T) {
			sent := packetOf(t, text)
			read, id, err := wire.Decode(wire.Encode(&sent, wire.Fields{ID: 0x4321}))
			require.NoError(t, err)
			assert.Equal(t, uint32(0x4321), id)
			assert.Equal(t, sent, read)
			about := inet.Packet{Proto: inet.ICMP, TTL: 9, Src: sent.Dst, Dst: sent.Src, ICMPType: 3, ICMPCode: 3, Inner: &sent}
			if sent.Is6() {
				about.Proto, about.ICMPType = inet.ICMPv6, 1
			}
			read, _, err = wire.Decode(wire.Encode(&about, wire.Fields{}))
			require.NoError(t, err)
			assert.Equal(t, about, read)
		})
	}
}

// TestEncodeWritesThePayload and the indexes of IPsec, which Decode does not read.
func TestEncodeWritesThePayload(t *testing.T) {
	for text, want := range map[string]string{
		"tcp 10.0.0.1:1 > 10.0.0.2:2 payload 474554 seq 1": "GET", "udp 10.0.0.1:1 > 10.0.0.2:2 payload 474554": "GET",
		"icmp 10.0.0.1 > 10.0.0.2 payload 474554": "GET", "47 10.0.0.1 > 10.0.0.2 payload 474554": "GET",
		"50 10.0.0.1 > 10.0.0.2 spi 0x01020304": "\x01\x02\x03\x04\x00\x00\x00\x00",
		"51 10.0.0.1 > 10.0.0.2 spi 0x01020304": "\x3b\x01\x00\x00\x01\x02\x03\x04\x00\x00\x00\x00",
		"108 10.0.0.1 > 10.0.0.2 spi 0x0304":    "\x3b\x00\x03\x04",
	} {
		p := packetOf(t, text)
		b := wire.Encode(&p, wire.Fields{})
		assert.Equal(t, want, string(b[len(b)-len(want):]), text)
		assert.Equal(t, len(b), int(binary.BigEndian.Uint16(b[2:])), text)
	}
}

func TestEncodeSumsUp(t *testing.T) {
	payload := []byte("odd") // of an odd length, as the sum takes two bytes at a time
	for at, text := range map[int]string{20: "udp 10.0.0.1:40000 > 10.0.0.2:53", 40: "tcp [fd00::1]:40000 > [fd00::2]:80"} {
		p := packetOf(t, text)
		b := wire.Encode(&p, wire.Fields{DontFragment: true, Payload: payload})
		pseudo := append(append(p.Src.AsSlice(), p.Dst.AsSlice()...), 0, byte(p.Proto), 0, byte(len(b)-at))
		assert.Zero(t, wire.Checksum(append(pseudo, b[at:]...)), text)
		if at == 20 {
			assert.Zero(t, wire.Checksum(b[:20]), "IP header")
			assert.Equal(t, byte(0x40), b[6])
		}
	}
}

// TestEncodeNeverSaysThatUDPHasNoChecksum looks for a payload with which the sum is zero.
func TestEncodeNeverSaysThatUDPHasNoChecksum(t *testing.T) {
	p, full := packetOf(t, "udp [fd00::1]:40000 > [fd00::2]:53"), 0
	for n := range 1 << 16 {
		b := wire.Encode(&p, wire.Fields{Payload: []byte{byte(n >> 8), byte(n)}})
		sum := binary.BigEndian.Uint16(b[46:])
		require.NotZero(t, sum)
		if sum == 0xffff {
			full++
		}
	}
	assert.Positive(t, full)
}

// TestEncodeSumsUpSCTP compares with a sum that is made another way.
func TestEncodeSumsUpSCTP(t *testing.T) {
	p := packetOf(t, "sctp 10.0.0.1:40000 > 10.0.0.2:80")
	p.Chunks = []inet.SCTPChunk{{Type: inet.SCTPInit, InitTag: 7}}
	b := wire.Encode(&p, wire.Fields{})
	require.Len(t, b, 20+12+20)
	assert.Equal(t, []byte{1, 0, 0, 20, 0, 0, 0, 7}, b[32:40])
	sum := binary.LittleEndian.Uint32(b[28:])
	b[28], b[29], b[30], b[31] = 0, 0, 0, 0
	assert.Equal(t, castagnoli(b[20:]), sum)
}

// castagnoli is CRC32c bit by bit.
func castagnoli(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		for range 8 {
			if sum&1 == 1 {
				sum = sum>>1 ^ 0x82f63b78
			} else {
				sum >>= 1
			}
		}
	}
	return ^sum
}

func TestDecodeRefusesWhatIsShort(t *testing.T) {
	for _, text := range []string{"udp 10.0.0.1:1 > 10.0.0.2:2", "icmpv6 fd00::1 > fd00::2 type 128/0"} {
		p := packetOf(t, text)
		whole := wire.Encode(&p, wire.Fields{})
		for n := range len(whole) {
			_, _, err := wire.Decode(whole[:n])
			require.ErrorIs(t, err, wire.ErrShort, "%s, %d bytes", text, n)
		}
	}
}

func TestVXLANCarriesAFrame(t *testing.T) {
	p := packetOf(t, "udp [fd00::1]:1 > [fd00::2]:2")
	inner := wire.Encode(&p, wire.Fields{})
	to, from := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	b := wire.VXLAN(0x010203, wire.Ethernet(to, from, inner))
	assert.Equal(t, []byte{8, 0, 0, 0, 1, 2, 3, 0}, b[:8])
	assert.Equal(t, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd}, b[8:22])
	assert.Equal(t, inner, b[22:])
}

func FuzzWireDecode(f *testing.F) {
	p := inet.Packet{Proto: inet.TCP, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	f.Add(wire.Encode(&p, wire.Fields{}))
	about := inet.Packet{Proto: inet.ICMP, ICMPType: 3, Src: p.Dst, Dst: p.Src, Inner: &p}
	f.Add(wire.Encode(&about, wire.Fields{}))
	f.Add([]byte{0x4f})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := wire.DecodeHeader(b)
		if p, id, whole := wire.Decode(b); whole == nil {
			require.NoError(t, err)
			require.Equal(t, h.Proto, p.Proto)
			require.Equal(t, h.ID, id)
		}
	})
}
