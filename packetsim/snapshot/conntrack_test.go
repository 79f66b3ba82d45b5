package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestParseConntrack reads text and prints the entries, one line each.
func TestParseConntrack(t *testing.T) {
	datadriven.RunTest(t, "testdata/conntrack.txt", func(_ *testing.T, d *datadriven.TestData) string {
		connections, err := ParseConntrack("conntrack.txt", strings.NewReader(d.Input))
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for _, c := range connections {
			fmt.Fprintf(&b, "%s -> %s", tupleText(c.Original), tupleText(c.Reply))
			fmt.Fprintf(&b, " state=%q timeout=%d replied=%t assured=%t mark=%d zone=%d\n", c.State, c.Timeout, c.Replied, c.Assured, c.Mark, c.Zone)
		}
		return b.String()
	})
}

func tupleText(t Tuple) string {
	return fmt.Sprintf("%s %s:%d>%s:%d(%d/%d %d)", t.Proto, t.Src, t.SrcPort, t.Dst, t.DstPort, t.ICMPType, t.ICMPCode, t.ICMPID)
}

func FuzzParseConntrack(f *testing.F) {
	f.Add("ipv4     2 tcp      6 117 TIME_WAIT src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 [ASSURED] mark=0 use=1")
	f.Add("icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 [UNREPLIED] src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=1 mark=0 use=1")
	f.Add("ipv4 2 tcp 6")
	f.Fuzz(func(t *testing.T, text string) {
		connections, err := ParseConntrack("f", strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range connections {
			require.NoError(t, connections[i].check("entry"))
		}
	})
}

// ctnetlinkSample is an attribute stream as the kernel sends it for a masqueraded TCP connection.
func ctnetlinkSample() []byte {
	tuple := func(src, dst [4]byte, sport, dport uint16) []byte {
		ip := bytes.Join([][]byte{attr(ctaIPv4Src, src[:]), attr(ctaIPv4Dst, dst[:])}, nil)
		l4 := bytes.Join([][]byte{
			attr(ctaProtoNum, []byte{6}),
			attr(ctaProtoSrcPort, []byte{byte(sport >> 8), byte(sport)}),
			attr(ctaProtoDstPort, []byte{byte(dport >> 8), byte(dport)}),
		}, nil)
		return append(attr(ctaTupleIP|0x8000, ip), attr(ctaTupleProto|0x8000, l4)...)
	}
	info := attr(ctaProtoInfoTCP|0x8000, attr(ctaProtoInfoState, []byte{3}))
	return bytes.Join([][]byte{
		{2, 0, 0, 0},
		attr(ctaTupleOrig|0x8000, tuple([4]byte{10, 0, 0, 1}, [4]byte{10, 96, 0, 1}, 40000, 443)),
		attr(ctaTupleReply|0x8000, tuple([4]byte{10, 0, 0, 3}, [4]byte{10, 0, 0, 2}, 6443, 1025)),
		attr(ctaStatus, []byte{0, 0, 0, ipsSeenReply | ipsAssured}),
		attr(ctaTimeout, []byte{0, 0, 1, 0}),
		attr(ctaProtoInfo|0x8000, info),
		attr(ctaMark, []byte{0, 0, 0x40, 0}),
		attr(ctaZone, []byte{0, 5}),
	}, nil)
}

const ctaProtoInfoTCP = 1

// attr is one netlink attribute in the byte order of this test's machine.
func attr(typ uint16, value []byte) []byte {
	length := 4 + len(value)
	out := binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, uint16(length)), typ)
	out = append(out, value...)
	return append(out, make([]byte, (4-length%4)%4)...)
}

func TestParseCTNetlink(t *testing.T) {
	c, err := parseCTNetlink(ctnetlinkSample())
	require.NoError(t, err)
	require.Equal(t, "tcp 10.0.0.1:40000>10.96.0.1:443(0/0 0)", tupleText(c.Original))
	require.Equal(t, "tcp 10.0.0.3:6443>10.0.0.2:1025(0/0 0)", tupleText(c.Reply))
	require.Equal(t, "ESTABLISHED", c.State)
	require.Equal(t, uint32(256), c.Timeout)
	require.Equal(t, uint32(0x4000), c.Mark)
	require.Equal(t, uint16(5), c.Zone)
	require.True(t, c.Replied)
	require.True(t, c.Assured)
}

func TestParseCTNetlinkRefusesCutMessages(t *testing.T) {
	whole := ctnetlinkSample()
	for n := range 60 { // the original tuple ends there
		_, err := parseCTNetlink(whole[:n])
		require.True(t, errors.Is(err, errNetlink), "%d bytes: %v", n, err)
	}
}

func FuzzParseCTNetlink(f *testing.F) {
	f.Add(ctnetlinkSample())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCTNetlink(data)
		if err == nil {
			require.Contains(t, connectionStates(c.Original.Proto), c.State)
		}
	})
}
