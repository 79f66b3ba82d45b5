package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Polled is a socket that goroutines wait on without holding up a thread.
type Polled struct {
	file *os.File
	conn syscall.RawConn
}

// Poll takes over a socket that does not block, which a socket that connects must already do.
func Poll(fd int) (*Polled, error) {
	file := os.NewFile(uintptr(fd), "socket")
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Polled{file, conn}, nil
}

// Read calls f whenever there may be something to read, until it says that it is done. The error is that of the deadline, or of a
// socket that was closed meanwhile.
func (p *Polled) Read(f func(fd int) (done bool)) error {
	return p.conn.Read(func(fd uintptr) bool { return f(int(fd)) })
}

// Receive takes the next message and what the kernel says beside it (recvmsg(2)). A message that the kernel tells an error in place of is
// empty. The error is that nothing comes any more.
func (p *Polled) Receive(buf, control []byte) (n, controlLen int, from unix.Sockaddr, err error) {
	err = p.Read(func(fd int) bool {
		var failed error
		n, controlLen, _, from, failed = unix.Recvmsg(fd, buf, control, 0)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return max(n, 0), max(controlLen, 0), from, err
}

// Write is Read for a socket that may take something, or is connected.
func (p *Polled) Write(f func(fd int) (done bool)) error {
	return p.conn.Write(func(fd uintptr) bool { return f(int(fd)) })
}

// Control calls f at once.
func (p *Polled) Control(f func(fd int)) error {
	return p.conn.Control(func(fd uintptr) { f(int(fd)) })
}

// SetDeadline ends waiting at that time with os.ErrDeadlineExceeded; the zero time never.
func (p *Polled) SetDeadline(t time.Time) error { return p.file.SetDeadline(t) }

// Conn makes a net.Conn of a stream that is connected. The Polled is closed, the socket is not.
func (p *Polled) Conn() (net.Conn, error) {
	defer func() { _ = p.file.Close() }()
	return net.FileConn(p.file)
}

// Close closes the socket and ends all waiting.
func (p *Polled) Close() error { return p.file.Close() }
