package packetsim_test

import (
	"os"
	"testing"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim"
)

func TestMain(m *testing.M) {
	packetsim.UseWire(
		func(p *packetsim.Packet, id uint16, payload []byte) []byte {
			return wire.Encode(p, wire.Fields{ID: id, Payload: payload})
		},
		wire.Decode,
		func(identifier uint32, to, from, packet []byte) []byte {
			return wire.VXLAN(identifier, wire.Ethernet(to, from, packet))
		},
	)
	os.Exit(m.Run())
}
