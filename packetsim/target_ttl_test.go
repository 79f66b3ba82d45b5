package packetsim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestHopLimitOf0 has what Linux 6.18 did, in both families: it looks at the hop limit of what it is to forward, before FORWARD, and
// nowhere else.
func TestHopLimitOf0(t *testing.T) {
	const forwarded, delivered, sent = "udp 10.244.0.11:5 > 10.244.0.12:9 in veth1", "udp 10.244.0.11:5 > 10.244.0.1:9 in veth1",
		"udp 10.244.0.1:5 > 10.244.0.12:9 local"
	for _, row := range []struct {
		hook, packet string
		want         string
	}{
		{"PREROUTING", forwarded, "reject with icmp-time-exceeded (ttl exceeded), ttl 0"},
		{"FORWARD", forwarded, "accept, out of veth2 to 10.244.0.12, ttl 0"},
		{"POSTROUTING", forwarded, "accept, out of veth2 to 10.244.0.12, ttl 0"},
		{"PREROUTING", delivered, "accept, to the host itself, ttl 0"},
		{"INPUT", delivered, "accept, to the host itself, ttl 0"},
		{"OUTPUT", sent, "accept, out of veth2 to 10.244.0.12, ttl 0"},
		{"POSTROUTING", sent, "accept, out of veth2 to 10.244.0.12, ttl 0"},
		{"OUTPUT", "udp 10.244.0.1:5 > 127.0.0.1:9 local", "accept, to the host itself, ttl 0"},
	} {
		h, _ := testNode{rules4: "*mangle\n-A " + row.hook + " -j TTL --ttl-set 0\nCOMMIT\n"}.build(t)
		o := walkOne(t, h, row.packet)
		assert.Equal(t, row.want, fmt.Sprintf("%s, ttl %d", o.Summary(), o.Packet.HopLimit()), "%s %s", row.hook, row.packet)
	}
	h, _ := testNode{}.build(t)
	o := walkOne(t, h, forwarded+" ttl 0")
	assert.Equal(t, "icmp-time-exceeded", o.RejectWith)
	require.Len(t, o.Replies, 1)
	assert.Zero(t, o.Replies[0].Packet.Inner.HopLimit())
	assert.Equal(t, ToLocal, walkOne(t, h, delivered+" ttl 0").To)
	for packet, want := range map[string]uint8{sent + " ttl 0": 0, sent: inet.DefaultTTL} {
		o := walkOne(t, h, packet)
		assert.Equal(t, want, o.Packet.HopLimit(), packet)
	}
}
