//go:build linux

package packetsim

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestKernelDeliversBroadcastOfLoopback sends to the broadcast address of lo, with and without forwarding: the kernel gives the packet to a
// socket of the host, and the walk says so.
func TestKernelDeliversBroadcastOfLoopback(t *testing.T) {
	kerneltest.Need(t, "ip", "sysctl")
	for _, forwarding := range []string{"0", "1"} {
		n := kerneltest.New(t)
		n.Must("ip link set lo up", "sysctl -qw net.ipv4.ip_forward="+forwarding)
		var received bool
		n.Do(func() { received = hearsBroadcastOfLoopback(t) })
		assert.True(t, received, "forwarding %s", forwarding)

		h, err := NewHost(HostConfig{Name: "h", Sysctls: map[string]string{"net.ipv4.ip_forward": forwarding}})
		require.NoError(t, err)
		in, err := inet.ParseInput("udp 127.0.0.1:1000 > 127.255.255.255:2000 local")
		require.NoError(t, err)
		outcomes, err := h.Walk(in)
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		assert.Equal(t, received, outcomes[0].To == ToLocal && outcomes[0].Verdict == Accept, outcomes[0].Summary())
	}
}

// hearsBroadcastOfLoopback sends a packet to 127.255.255.255 and says whether a socket of the same namespace gets it.
func hearsBroadcastOfLoopback(t *testing.T) bool {
	t.Helper()
	hears, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("0.0.0.0:2000")))
	require.NoError(t, err)
	defer func() { _ = hears.Close() }() // only read
	sends, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:1000")))
	require.NoError(t, err)
	defer func() { _ = sends.Close() }() // all is written
	raw, err := sends.SyscallConn()
	require.NoError(t, err)
	var refused error
	require.NoError(t, raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 1)
	}))
	require.NoError(t, refused)
	_, err = sends.WriteToUDPAddrPort([]byte("x"), netip.MustParseAddrPort("127.255.255.255:2000"))
	require.NoError(t, err)
	require.NoError(t, hears.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, from, err := hears.ReadFromUDPAddrPort(make([]byte, 8))
	return err == nil && from.Port() == 1000
}
