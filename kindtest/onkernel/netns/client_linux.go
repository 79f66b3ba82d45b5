package netns

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// client is the socket of a connection's client.
type client struct {
	host     *host
	proto    inet.Proto
	to       netip.AddrPort
	local    netip.AddrPort // SCTP: chosen before; others: once the socket knows
	fd       int            // -1: closed, or never opened
	question []byte
	asked    bool // TCP: the connection is there and the question sent
	done     bool
	heard    bool // it got an answer, or was told that there is none
	why      string
	sctp     sctpEnd
}

// sctpEnd is what a client knows of its association.
type sctpEnd struct{ own, peer uint32 }

const defaultPort = 40000

// newClient opens the client's socket and sends the first packet.
func (s *session) newClient(a scenarios.Attempt) (*client, error) {
	v6 := a.To.Addr().Is6()
	s.questions++
	c := &client{
		host: s.network.host(a.From), proto: plan.Proto(a.To.Proto, v6), to: a.To.AddrPort, fd: -1,
		question: fmt.Appendf(nil, "Q%011d", s.questions), sctp: sctpEnd{own: clientTag | uint32(s.questions)&0xffffff},
	}
	if c.host == nil {
		return nil, fmt.Errorf("there is no host %s", a.From)
	}
	bind := netip.AddrPortFrom(a.Bind.Addr, a.Bind.Port)
	if !a.Bind.Addr.IsValid() {
		bind = netip.AddrPortFrom(socket.Unspecified(v6), a.Bind.Port)
	}
	if a.Bind.Port == 0 {
		bind = netip.AddrPortFrom(bind.Addr(), defaultPort)
	}
	err := c.host.ns.Do(func() error { return c.open(bind) })
	switch {
	case err == nil:
	case errors.Is(err, unix.EPERM) && c.fd >= 0: // a rule stopped it, and may have answered
	case socket.IsAnswer(err) || errors.Is(err, unix.EACCES):
		c.end(err) // the kernel knows at once that nothing comes of it
	default:
		return nil, fmt.Errorf("%s: open the client's socket %s %s to %s: %w", a.From, c.proto, bind, a.To, err)
	}
	return c, nil
}

// open runs in the client's namespace.
func (c *client) open(bind netip.AddrPort) (err error) {
	switch c.proto {
	case inet.TCP:
		c.fd, err = socket.Open(unix.SOCK_STREAM, unix.IPPROTO_TCP, bind, false)
	case inet.UDP:
		c.fd, err = socket.Open(unix.SOCK_DGRAM, unix.IPPROTO_UDP, bind, false)
	case inet.SCTP:
		return c.openSCTP(bind)
	default:
		c.fd, err = socket.Open(unix.SOCK_DGRAM, int(c.proto), bind, false)
	}
	if err != nil {
		return err
	}
	if err := socket.WantErrors(c.fd, bind.Addr().Is6()); err != nil {
		return err
	}
	if err = unix.Connect(c.fd, socket.Address(c.to)); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	if name, err := unix.Getsockname(c.fd); err == nil {
		c.local = socket.AddrPort(name)
	}
	switch c.proto {
	case inet.TCP:
		return nil
	case inet.UDP:
		_, err = unix.Write(c.fd, c.question)
	default:
		_, err = unix.Write(c.fd, wire.EncodeTransport(&inet.Packet{
			Proto: c.proto, ICMPType: c.proto.EchoRequestType(), Src: socket.Unspecified(c.to.Addr().Is6()), Dst: c.to.Addr(),
		}, c.question))
	}
	return err
}

// end notes that a client's waiting is over.
func (c *client) end(err error) {
	c.done, c.heard, c.why = true, socket.IsAnswer(err), err.Error()
}

// advance lets the client take what came.
func (c *client) advance() {
	if c.done || c.fd < 0 || c.proto == inet.SCTP {
		return
	}
	if c.proto == inet.TCP && !c.asked {
		if code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && code != 0 {
			c.end(unix.Errno(code))
			return
		}
		if _, err := unix.Getpeername(c.fd); err != nil {
			return // not yet
		}
		_, err := unix.Write(c.fd, c.question)
		c.asked = err == nil
	}
	buf := make([]byte, 256)
	n, err := unix.Read(c.fd, buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
	case err != nil:
		c.end(err)
	case n > 0:
		c.done, c.heard, c.why = true, true, ""
	}
}

// connecting says that a TCP client still waits for its handshake.
func (c *client) connecting() bool { return c.proto == inet.TCP && !c.asked }

// close ends the client's socket. The other end is not told.
func (c *client) close() {
	if c.fd >= 0 {
		socket.CloseSilently(c.fd)
		c.fd = -1
	}
}
