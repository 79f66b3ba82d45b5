package ailments

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// outOfWindow is how far a stray segment is from what the other end expects: farther than any window.
const outOfWindow = 1 << 30

// sendStray sends a segment of a connection that is out of the window, such as one that was on its way for very long.
func (m *machine) sendStray(conn *net.TCPConn) error {
	control, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var seq, ack uint32
	var asked error
	if err := errors.Join(control.Control(func(fd uintptr) { seq, ack, asked = socket.Numbers(int(fd)) }), asked); err != nil {
		return err
	}
	from, to := conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	segment := raw.Craft(&inet.Packet{
		Proto: inet.TCP, Src: from.Addr().Unmap(), Dst: to.Addr().Unmap(), SrcPort: from.Port(), DstPort: to.Port(), TCPFlags: inet.ACK,
	}, raw.Tell{Seq: seq + outOfWindow, Ack: ack})
	return m.Do(func() error { return raw.Inject(segment, to.Addr().Unmap(), 0) })
}

// isReset reports whether the other end resets a connection soon, on which it says nothing now.
func isReset(conn *net.TCPConn) bool {
	if err := conn.SetReadDeadline(time.Now().Add(impatience / 3)); err != nil {
		return true
	}
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, syscall.ECONNRESET) || conn.SetReadDeadline(time.Time{}) != nil
}
