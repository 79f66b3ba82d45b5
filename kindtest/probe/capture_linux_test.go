package probe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestPacketsOfTheSameEndsAreAlike(t *testing.T) {
	for _, row := range []struct {
		like, packet string
		want         bool
	}{
		{"tcp 10.0.0.1:7 > 10.0.0.2:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local flags ACK", true},
		{"tcp 0.0.0.0:7 > 10.0.0.2:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", true},
		{"tcp 10.0.0.3:7 > 10.0.0.2:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", false},
		{"tcp 10.0.0.1:8 > 10.0.0.2:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", false},
		{"tcp 10.0.0.1:7 > 10.0.0.2:81 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", false},
		{"tcp 10.0.0.1:7 > 10.0.0.3:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", false},
		{"udp 10.0.0.1:7 > 10.0.0.2:80 local", "tcp 10.0.0.1:7 > 10.0.0.2:80 local", false},
		{"icmp 0.0.0.0 > 10.0.0.2 local", "icmp 10.0.0.1 > 10.0.0.2 local", true},
		{"icmpv6 :: > fd00::2 local", "icmpv6 fd00::1 > fd00::2 local", true},
	} {
		like, err := inet.ParseInput(row.like)
		require.NoError(t, err)
		packet, err := inet.ParseInput(row.packet)
		require.NoError(t, err)
		assert.Equal(t, row.want, likenessOf(&like.Packet)(&raw.Capture{Packet: packet.Packet}), "%s and %s", row.like, row.packet)
	}
}
