package conntrack

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is a UDP entry of a real kernel, with NAT and in zone 7: the message of a list without its netlink header.
// CTA_COUNTERS and the like are left out.
func recorded() []byte {
	return []byte{
		0x02, 0x00, 0x00, 0x00, // AF_INET
		0x34, 0x00, 0x01, 0x80, // CTA_TUPLE_ORIG
		0x14, 0x00, 0x01, 0x80, 0x08, 0x00, 0x01, 0x00, 10, 0, 9, 9, 0x08, 0x00, 0x02, 0x00, 172, 30, 0, 41,
		0x1c, 0x00, 0x02, 0x80, 0x05, 0x00, 0x01, 0x00, 17, 0, 0, 0, 0x06, 0x00, 0x02, 0x00, 0x9c, 0x40, 0, 0, 0x06, 0x00, 0x03, 0x00, 0x00, 0x35, 0, 0,
		0x34, 0x00, 0x02, 0x80, // CTA_TUPLE_REPLY
		0x14, 0x00, 0x01, 0x80, 0x08, 0x00, 0x01, 0x00, 10, 0, 0, 1, 0x08, 0x00, 0x02, 0x00, 10, 0, 9, 9,
		0x1c, 0x00, 0x02, 0x80, 0x05, 0x00, 0x01, 0x00, 17, 0, 0, 0, 0x06, 0x00, 0x02, 0x00, 0x14, 0xe9, 0, 0, 0x06, 0x00, 0x03, 0x00, 0x9c, 0x40, 0, 0,
		0x08, 0x00, 0x0c, 0x00, 0xde, 0xad, 0xbe, 0xef, // CTA_ID
		0x08, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x88, // CTA_STATUS
		0x06, 0x00, 0x12, 0x00, 0x00, 0x07, 0, 0, // CTA_ZONE
	}
}

func TestParseEntry(t *testing.T) {
	e, err := parseEntry(recorded())
	require.NoError(t, err)
	assert.Equal(t, Entry{
		Protocol: udp,
		Original: Tuple{Src: netip.MustParseAddrPort("10.0.9.9:40000"), Dst: netip.MustParseAddrPort("172.30.0.41:53")},
		Reply:    Tuple{Src: netip.MustParseAddrPort("10.0.0.1:5353"), Dst: netip.MustParseAddrPort("10.0.9.9:40000")},
		Zone:     7,
		ID:       0xdeadbeef,
	}, e)
}

func TestParseEntryRefuses(t *testing.T) {
	whole := recorded()
	for length := range len(whole) {
		if e, err := parseEntry(whole[:length]); err == nil {
			assert.GreaterOrEqual(t, length, 4+52+52, "without the reply direction: %v", e)
		}
	}
	for name, broken := range map[string][]byte{
		"no original direction": append(recorded()[:4], recorded()[56:]...),
		"no reply direction":    recorded()[:56],
		"a number of odd size":  append(recorded(), 0x05, 0x00, 0x12, 0x00, 1, 0, 0, 0),
		"an address of 5 bytes": {2, 0, 0, 0, 0x14, 0, 1, 0x80, 0x10, 0, 1, 0x80, 9, 0, 1, 0, 1, 2, 3, 4, 5, 0, 0, 0},
		"a length of zero":      append(recorded(), 0x00, 0x00, 0x12, 0x00),
	} {
		_, err := parseEntry(broken)
		assert.ErrorIs(t, err, errMessage, name)
	}
}

// FuzzParseEntry: bad messages are refused. What is read names the same entry when it is written.
func FuzzParseEntry(f *testing.F) {
	f.Add(recorded())
	f.Add(recorded()[:60])
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := parseEntry(message)
		if err != nil {
			return
		}
		for _, tuple := range []Tuple{e.Original, e.Reply} {
			if tuple.Src.Addr().Is4() != tuple.Dst.Addr().Is4() {
				return // nothing that a kernel has
			}
		}
		written := appendDeletion(appendTuple([]byte{0, 0, 0, 0}, ctaTupleOrig, e.Protocol, e.Original), &e)
		back, err := parseEntry(written)
		require.NoError(t, err)
		require.Equal(t, e, back)
	})
}
