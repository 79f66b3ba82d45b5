package ctnetlink

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// recorded is a UDP entry of a real kernel, with NAT and in zone 7: the message of a list without its netlink header.
// CTA_COUNTERS and the like are left out.
func recorded() []byte {
	return []byte{
		0x02, 0x00, 0x00, 0x00, // AF_INET
		0x34, 0x00, 0x01, 0x80, // CTA_TUPLE_ORIG
		0x14, 0x00, 0x01, 0x80, 0x08, 0x00, 0x01, 0x00, 10, 0, 9, 9, 0x08, 0x00, 0x02, 0x00, 172, 30, 0, 41,
		0x1c, 0x00, 0x02, 0x80, 0x05, 0x00, 0x01, 0x00, 17, 0, 0, 0,
		0x06, 0x00, 0x02, 0x00, 0x9c, 0x40, 0, 0, 0x06, 0x00, 0x03, 0x00, 0x00, 0x35, 0, 0,
		0x34, 0x00, 0x02, 0x80, // CTA_TUPLE_REPLY
		0x14, 0x00, 0x01, 0x80, 0x08, 0x00, 0x01, 0x00, 10, 0, 0, 1, 0x08, 0x00, 0x02, 0x00, 10, 0, 9, 9,
		0x1c, 0x00, 0x02, 0x80, 0x05, 0x00, 0x01, 0x00, 17, 0, 0, 0,
		0x06, 0x00, 0x02, 0x00, 0x14, 0xe9, 0, 0, 0x06, 0x00, 0x03, 0x00, 0x9c, 0x40, 0, 0,
		0x08, 0x00, 0x0c, 0x00, 0xde, 0xad, 0xbe, 0xef, // CTA_ID
		0x08, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x88, // CTA_STATUS
		0x06, 0x00, 0x12, 0x00, 0x00, 0x07, 0, 0, // CTA_ZONE
	}
}

func TestParse(t *testing.T) {
	message := recorded()
	message = append(message, 0x08, 0x00, 0x07, 0x00, 0, 0, 0, 30) // CTA_TIMEOUT
	message = append(message, 0x08, 0x00, 0x0b, 0x00, 0, 0, 0, 1)  // CTA_USE, which an Entry has not
	e, err := Parse(message)
	require.NoError(t, err)
	client, service, endpoint := netip.MustParseAddr("10.0.9.9"), netip.MustParseAddr("172.30.0.41"), netip.MustParseAddr("10.0.0.1")
	assert.Equal(t, Entry{
		Original: Tuple{Protocol: unix.IPPROTO_UDP, Src: client, Dst: service, SrcPort: 40000, DstPort: 53},
		Reply:    Tuple{Protocol: unix.IPPROTO_UDP, Src: endpoint, Dst: client, SrcPort: 5353, DstPort: 40000},
		Zone:     7,
		ID:       0xdeadbeef,
		Status:   0x180 | StatusConfirmed,
		Timeout:  30,
	}, e)
}

// The bytes are as the kernel documents them: nested attributes are flagged, numbers are big-endian.
func TestParseReadsStateAndZonesOfOneDirection(t *testing.T) {
	message := recorded()[:4]
	message = append(message,
		0x3c, 0x00, 0x01, 0x80, // CTA_TUPLE_ORIG
		0x14, 0x00, 0x01, 0x80, 0x08, 0x00, 0x01, 0x00, 10, 0, 9, 9, 0x08, 0x00, 0x02, 0x00, 172, 30, 0, 41,
		0x1c, 0x00, 0x02, 0x80, 0x05, 0x00, 0x01, 0x00, 6, 0, 0, 0,
		0x06, 0x00, 0x02, 0x00, 0x9c, 0x40, 0, 0, 0x06, 0x00, 0x03, 0x00, 0x00, 0x35, 0, 0,
		0x06, 0x00, 0x03, 0x00, 0x00, 0x09, 0, 0) // CTA_TUPLE_ZONE
	message = append(message, recorded()[56:108]...)
	message = append(message, 0x10, 0x00, 0x04, 0x80, 0x0c, 0x00, 0x01, 0x80, 0x05, 0x00, 0x01, 0x00, 3, 0, 0, 0) // CTA_PROTOINFO
	message = append(message, 0x08, 0x00, 0x08, 0x00, 0, 0, 0x40, 0)                                              // CTA_MARK
	e, err := Parse(message)
	require.NoError(t, err)
	assert.True(t, e.HasState)
	assert.Equal(t, uint8(nl.TCP_CONNTRACK_ESTABLISHED), e.State)
	assert.Equal(t, uint16(9), e.Original.Zone)
	assert.Zero(t, e.Reply.Zone)
	assert.Equal(t, uint32(0x4000), e.Mark)
}

func TestParseRefuses(t *testing.T) {
	whole := recorded()
	for length := range len(whole) {
		if e, err := Parse(whole[:length]); err == nil {
			assert.GreaterOrEqual(t, length, 4+52+52, "without the reply direction: %v", e)
		}
	}
	with := func(attribute ...byte) []byte { return append(recorded(), attribute...) }
	withoutProtocol := recorded()
	withoutProtocol[4+4+20+4+2] = 9 // CTA_PROTO_NUM has become an attribute that is not known
	for name, broken := range map[string]struct {
		message []byte
		text    string
	}{
		"no original direction": {append(recorded()[:4], recorded()[56:]...),
			"original tuple: unknown netlink message: a tuple without addresses or protocol"},
		"no reply direction": {recorded()[:56], "reply tuple: unknown netlink message: a tuple without addresses or protocol"},
		"no protocol":        {withoutProtocol, "original tuple: unknown netlink message: a tuple without addresses or protocol"},
		"addresses of two families": {
			[]byte{2, 0, 0, 0, 0x30, 0, 1, 0x80, 0x20, 0, 1, 0x80, 8, 0, 1, 0, 1, 2, 3, 4, 20, 0, 4, 0,
				1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 12, 0, 2, 0x80, 5, 0, 1, 0, 17, 0, 0, 0},
			"original tuple: unknown netlink message: a tuple without addresses or protocol"},
		"a number of odd size": {with(0x05, 0x00, 0x12, 0x00, 1, 0, 0, 0),
			"unknown netlink message: attribute 18 is a number of 2 bytes and has 1"},
		"a state of two bytes": {with(0x10, 0, 4, 0x80, 0x0c, 0, 1, 0x80, 6, 0, 1, 0, 3, 0, 0, 0),
			"unknown netlink message: attribute 1 is a number of 1 bytes and has 2"},
		"an address of 5 bytes": {[]byte{2, 0, 0, 0, 0x14, 0, 1, 0x80, 0x10, 0, 1, 0x80, 9, 0, 1, 0, 1, 2, 3, 4, 5, 0, 0, 0},
			"original tuple: unknown netlink message: an address of 5 bytes"},
		"a length of zero": {with(0x00, 0x00, 0x12, 0x00), "unknown netlink message: attribute 18 of 0 bytes in 4"},
		"three bytes":      {[]byte{2, 0, 0}, "unknown netlink message: 3 bytes"},
	} {
		_, err := Parse(broken.message)
		require.ErrorIs(t, err, nlattr.ErrMessage, name)
		assert.EqualError(t, err, broken.text, name)
	}
}

// anyTuple draws what a kernel can have: fields of ICMP in ICMP only, ports in the others.
func anyTuple(t *rapid.T, size int) Tuple {
	address := func(name string) netip.Addr {
		a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, name))
		return a
	}
	tuple := Tuple{
		Protocol: rapid.SampledFrom([]uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6, 0}).
			Draw(t, "protocol"),
		Src:  address("src"),
		Dst:  address("dst"),
		Zone: rapid.Uint16().Draw(t, "zone of the direction"),
	}
	if tuple.Protocol == unix.IPPROTO_ICMP || tuple.Protocol == unix.IPPROTO_ICMPV6 {
		tuple.ICMPID = rapid.Uint16().Draw(t, "id")
		tuple.ICMPType, tuple.ICMPCode = rapid.Byte().Draw(t, "type"), rapid.Byte().Draw(t, "code")
	} else {
		tuple.SrcPort, tuple.DstPort = rapid.Uint16().Draw(t, "sport"), rapid.Uint16().Draw(t, "dport")
	}
	return tuple
}

func TestAppendedEntryIsParsedAsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{4, 16}).Draw(t, "bytes of an address")
		e := Entry{
			Original: anyTuple(t, size),
			Reply:    anyTuple(t, size),
			Zone:     rapid.Uint16().Draw(t, "zone"),
			ID:       rapid.Uint32().Draw(t, "ID"),
			Status:   rapid.Uint32().Draw(t, "status"),
			Timeout:  rapid.Uint32().Draw(t, "timeout"),
			Mark:     rapid.Uint32().Draw(t, "mark"),
			HasState: rapid.Bool().Draw(t, "has a state"),
		}
		if e.HasState {
			e.State = rapid.Byte().Draw(t, "state")
		}
		request := Request{Type: MessageNew, Flags: unix.NLM_F_ACK, Sequence: rapid.Uint32().Draw(t, "sequence"), Family: unix.AF_INET}
		message := request.Append(nil, &e)
		assert.Equal(t, uint32(len(message)), binary.NativeEndian.Uint32(message))
		assert.Equal(t, uint16(unix.NLM_F_REQUEST|unix.NLM_F_ACK), binary.NativeEndian.Uint16(message[6:]))
		assert.Equal(t, request.Sequence, binary.NativeEndian.Uint32(message[8:]))
		back, err := Parse(message[unix.NLMSG_HDRLEN:])
		require.NoError(t, err)
		require.Equal(t, e, back)
	})
}

// What an entry has not is left out, so that the kernel does not look for it.
func TestAppendEntryLeavesOut(t *testing.T) {
	whole, err := Parse(recorded())
	require.NoError(t, err)
	var types []uint16
	for a, err := range nlattr.All(AppendEntry(nil, &Entry{Reply: whole.Reply, ID: 5})) {
		require.NoError(t, err)
		types = append(types, a.Type)
	}
	assert.Equal(t, []uint16{nl.CTA_TUPLE_REPLY, nl.CTA_ID}, types)
	assert.Empty(t, AppendEntry(nil, &Entry{}))
}

// fits says whether a tuple has no fields of another protocol than its own.
func (t Tuple) fits() bool {
	if t.Protocol == unix.IPPROTO_ICMP || t.Protocol == unix.IPPROTO_ICMPV6 {
		return t.SrcPort == 0 && t.DstPort == 0
	}
	return t.ICMPID == 0 && t.ICMPType == 0 && t.ICMPCode == 0
}

// FuzzParse: bad messages are refused. What is read is the same entry when it is written.
func FuzzParse(f *testing.F) {
	f.Add(recorded())
	f.Add(recorded()[:60])
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := Parse(message)
		if err != nil || !e.Original.fits() || !e.Reply.fits() {
			return
		}
		back, err := Parse(AppendEntry([]byte{0, 0, 0, 0}, &e))
		require.NoError(t, err)
		require.Equal(t, e, back)
	})
}

func BenchmarkParse(b *testing.B) {
	message := append(recorded(), 0x08, 0x00, 0x07, 0x00, 0, 0, 0, 30, 0x08, 0x00, 0x08, 0x00, 0, 0, 0, 0, 8, 0, 11, 0, 0, 0, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(message); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendDeletion(b *testing.B) {
	e, err := Parse(recorded())
	require.NoError(b, err)
	deletion := Entry{Reply: e.Reply, Zone: e.Zone, ID: e.ID}
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		buffer = AppendEntry(buffer[:0], &deletion)
	}
}
