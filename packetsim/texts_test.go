package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestTexts writes more texts than one piece of memory has room for: none changes another one.
func TestTexts(t *testing.T) {
	var texts texts
	var have, want []string
	for i := range 1000 {
		n := i % 500 / (1 + i/500*9) // texts that are known are asked for again
		addr := netip.AddrFrom4([4]byte{byte(n), byte(n >> 1), byte(n * 7), 255})
		if n%50 == 0 {
			addr = netip.MustParseAddr("fd00::1")
		}
		of := conntrack.Tuple{Proto: inet.TCP, Src: addr, SrcPort: uint16(n * 131)}
		have, want = append(have, texts.addrPort(&of)), append(want, netip.AddrPortFrom(of.Src, of.SrcPort).String())
	}
	assert.Equal(t, want, have)
	assert.Equal(t, "10.0.0.1", texts.addrPort(&conntrack.Tuple{Proto: inet.ICMP, Src: netip.MustParseAddr("10.0.0.1")}))
}

func TestAddressSet(t *testing.T) {
	var set addressSet
	addr := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }
	for n := range 2 * fewAddresses {
		assert.False(t, set.has(addr(n)))
		set.add(addr(n))
		set.add(addr(n))
		for have := range n + 1 {
			assert.True(t, set.has(addr(have)), "%d of %d", have, n)
		}
	}
	assert.False(t, set.has(netip.MustParseAddr("fd00::1")))
}
