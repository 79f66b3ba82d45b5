package differ

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	for _, text := range []string{
		"tcp 10.78.1.2:40001 > 10.198.0.1:80 flags SYN,ACK ttl 63", "udp 10.78.1.2:1 > 10.198.0.1:65535 ttl 1",
		"sctp [fd78:1::2]:40001 > [fd98::1]:80 ttl 64",
		"icmp 10.78.1.2 > 10.198.0.1 ttl 64", "icmpv6 fd78:1::2 > fd98::1 type 129/0 ttl 64", "47 10.78.1.2 > 10.198.0.1 ttl 64",
	} {
		in, err := inet.ParseInput(text)
		require.NoError(t, err)
		complete(&in.Packet)
		p, id, err := wire.Decode(wire.Encode(&in.Packet, wire.Fields{ID: 0x4321}))
		require.NoError(t, err)
		assert.Equal(t, uint32(0x4321), id)
		assert.Equal(t, text, packetText(&p))
		quoting := errorAbout(&in.Packet)
		complete(&quoting)
		outer, _, err := wire.Decode(wire.Encode(&quoting, wire.Fields{ID: 1}))
		require.NoError(t, err)
		assert.Equal(t, packetText(&quoting), packetText(&outer))
	}
}
