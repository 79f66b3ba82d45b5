package snapshot

import (
	"net/netip"
	"testing"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ctnetlinkSample is a masqueraded TCP connection as the kernel sends it.
func ctnetlinkSample() []byte {
	return ctnetlink.AppendEntry([]byte{unix.AF_INET, nl.NFNETLINK_V0, 0, 0}, &ctnetlink.Entry{
		Original: ctnetlink.Tuple{
			Protocol: unix.IPPROTO_TCP, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.96.0.1"), SrcPort: 40000, DstPort: 443,
		},
		Reply: ctnetlink.Tuple{
			Protocol: unix.IPPROTO_TCP, Src: netip.MustParseAddr("10.0.0.3"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 6443, DstPort: 1025,
		},
		Status: ctnetlink.StatusSeenReply | ctnetlink.StatusAssured, Timeout: 256, Mark: 0x4000, Zone: 5, State: 3, HasState: true,
	})
}

func TestConnectionFromNetlink(t *testing.T) {
	c, err := connectionFromNetlink(ctnetlinkSample())
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

func TestConnectionFromNetlinkRefusesCutMessages(t *testing.T) {
	whole := ctnetlinkSample()
	for n := range 60 { // the original tuple ends there
		_, err := connectionFromNetlink(whole[:n])
		require.ErrorIs(t, err, nlattr.ErrMessage, "%d bytes", n)
	}
}

func TestConnectionFromNetlinkRefusesUnknownStates(t *testing.T) {
	e, err := ctnetlink.Parse(ctnetlinkSample())
	require.NoError(t, err)
	for name, change := range map[string]func(){
		"a state that TCP has not": func() { e.State = 99 },
		"no state":                 func() { e.HasState = false },
	} {
		change()
		_, err := connectionFromNetlink(ctnetlink.AppendEntry([]byte{unix.AF_INET, nl.NFNETLINK_V0, 0, 0}, &e))
		require.EqualError(t, err, "unknown netlink message: protocol 6 has no known state", name)
	}
}

func FuzzConnectionFromNetlink(f *testing.F) {
	f.Add(ctnetlinkSample())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := connectionFromNetlink(data)
		if err == nil {
			require.Contains(t, connectionStates(c.Original.Proto), c.State)
		}
	})
}
