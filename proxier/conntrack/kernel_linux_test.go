package conntrack

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/ctnetlink"
)

// connection is a UDP entry with NAT.
func connection() ctnetlink.Entry {
	client, service, endpoint := netip.MustParseAddr("10.0.9.9"), netip.MustParseAddr("172.30.0.41"), netip.MustParseAddr("10.0.0.1")
	return ctnetlink.Entry{
		Original: ctnetlink.Tuple{Protocol: unix.IPPROTO_UDP, Src: client, Dst: service, SrcPort: 40000, DstPort: 53},
		Reply:    ctnetlink.Tuple{Protocol: unix.IPPROTO_UDP, Src: endpoint, Dst: client, SrcPort: 5353, DstPort: 40000},
		ID:       0xdeadbeef, Status: 0x188, Timeout: 30, Mark: 1,
	}
}

// Deletions are sent with the zone of the reply direction: the kernel looks for the reply tuple in it.
func TestConnectionEntry(t *testing.T) {
	want := Entry{
		Protocol: udp,
		Original: Tuple{Src: netip.MustParseAddrPort("10.0.9.9:40000"), Dst: netip.MustParseAddrPort("172.30.0.41:53")},
		Reply:    Tuple{Src: netip.MustParseAddrPort("10.0.0.1:5353"), Dst: netip.MustParseAddrPort("10.0.9.9:40000")},
		ID:       0xdeadbeef,
	}
	for _, zones := range []struct{ both, original, reply, want uint16 }{{}, {both: 7, want: 7}, {reply: 7, want: 7}, {original: 7}} {
		c := connection()
		c.Zone, c.Original.Zone, c.Reply.Zone = zones.both, zones.original, zones.reply
		want.Zone = zones.want
		assert.Equal(t, want, connectionEntry(&c), "%+v", zones)
	}
}

// The original direction is not sent: the kernel would look for it first.
func TestDeletion(t *testing.T) {
	c := connection()
	c.Zone = 7
	e := connectionEntry(&c)
	assert.Equal(t, ctnetlink.Entry{Reply: c.Reply, Zone: 7, ID: c.ID}, deletion(&e))
}
