//go:build linux

package socket

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// kept has the process keep a copy of a descriptor, as each program does that is being started.
func kept(t *testing.T, fd int) {
	t.Helper()
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unix.Close(other)) })
}

func listen(t *testing.T, at netip.AddrPort) (fd int) {
	t.Helper()
	fd, err := Open(unix.SOCK_STREAM, unix.IPPROTO_TCP, at, true)
	require.NoError(t, err)
	require.NoError(t, unix.Listen(fd, 8))
	return fd
}

// connect makes a connection to who listens.
func connect(t *testing.T, listener int, port uint16, to netip.AddrPort) (client, server int) {
	t.Helper()
	client, err := Open(unix.SOCK_STREAM, unix.IPPROTO_TCP, netip.AddrPortFrom(to.Addr(), port), false)
	require.NoError(t, err)
	require.ErrorIs(t, unix.Connect(client, Address(to)), unix.EINPROGRESS)
	ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, 10_000)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the connection comes")
	server, _, err = unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	require.NoError(t, err)
	return client, server
}

// TestKernelClosedSocketsEndAtOnce ends connections, and listening, while a program that is being started still has the sockets.
// Afterwards the same addresses serve again.
func TestKernelClosedSocketsEndAtOnce(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, listener, client, server int){
		"a connection, silently": func(t *testing.T, _, client, server int) {
			kept(t, client)
			CloseSilently(client)
			assert.ErrorIs(t, read(server), unix.EAGAIN, "the other end hears nothing")
		},
		"a connection, by a reset": func(t *testing.T, _, client, server int) {
			kept(t, client)
			Reset(client)
			assert.ErrorIs(t, read(server), unix.ECONNRESET)
		},
		"listening": func(t *testing.T, listener, client, _ int) {
			kept(t, listener)
			CloseSilently(client)
			Reset(listener)
		},
	} {
		for _, address := range []string{"127.0.0.1", "::1"} {
			t.Run(name+" at "+address, func(t *testing.T) {
				kerneltest.Enter(t)
				at := netip.AddrPortFrom(netip.MustParseAddr(address), 80)
				listener := listen(t, at)
				client, server := connect(t, listener, 40000, at)
				end(t, listener, client, server)
				CloseSilently(server)
				if name == "listening" {
					listener = listen(t, at)
				}
				for port := range uint16(16) { // one that still listened would take its share
					client, server = connect(t, listener, 40000+port, at)
					CloseSilently(client)
					CloseSilently(server)
				}
				Reset(listener)
			})
		}
	}
}

func read(fd int) error {
	_, err := unix.Read(fd, make([]byte, 1))
	return err
}
