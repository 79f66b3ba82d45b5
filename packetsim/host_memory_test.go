package packetsim

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// A pod is a host, and a large cluster has thousands of them: each takes some kilobytes.
func TestMemoryOfAPod(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	const pods, most = 1000, 8_000
	hosts := make([]*Host, pods)
	before := liveHeap()
	for i := range hosts {
		addr := netip.AddrFrom4([4]byte{10, 1, byte(i / 250), byte(i % 250)})
		var err error
		hosts[i], err = NewHost(HostConfig{
			Name:    fmt.Sprintf("pod%d", i),
			Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.PrefixFrom(addr, 32)}}}},
			Routes: []Route{
				{Dst: netip.MustParsePrefix("169.254.1.1/32"), Dev: "eth0"},
				{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("169.254.1.1"), Dev: "eth0"},
			},
		})
		require.NoError(t, err)
	}
	each := (liveHeap() - before) / pods
	t.Logf("%d bytes each", each)
	assert.Less(t, each, int64(most))
	runtime.KeepAlive(hosts)
}

// liveHeap is what lives.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one has freed of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
