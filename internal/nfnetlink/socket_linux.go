package nfnetlink

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Socket speaks netlink with the netfilter of one namespace.
type Socket struct {
	fd  int
	buf []byte
}

// receiveBuffer holds the reports on all packets of one connection many times.
const receiveBuffer = 8 << 20

// Open opens a socket in the namespace of the calling thread.
func Open() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	s := &Socket{fd: fd, buf: make([]byte, 1<<16)}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a netlink socket: %w", err), unix.Close(fd))
	}
	return s, nil
}

// FD is the descriptor, for poll.
func (s *Socket) FD() int { return s.fd }

// Close closes the socket.
func (s *Socket) Close() error { return unix.Close(s.fd) }

// Message is a netlink message of netfilter: Kind is subsystem and message. The attributes are good until the next one is received.
type Message struct {
	Kind   uint16
	Family uint8
	// Body is the message behind the header of netlink; the attributes are what is behind that of netfilter.
	Body, Attributes []byte
}

// Receive handles the messages that are there. It returns how many there were.
func (s *Socket) Receive(handle func(Message) error) (int, error) {
	count := 0
	for {
		n, _, err := unix.Recvfrom(s.fd, s.buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return count, nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return count, fmt.Errorf("read netlink: %w", err)
		}
		for b := s.buf[:n]; len(b) >= unix.NLMSG_HDRLEN; {
			length := int(binary.NativeEndian.Uint32(b))
			if length < unix.NLMSG_HDRLEN || length > len(b) {
				return count, fmt.Errorf("a netlink message of %d bytes says it has %d", len(b), length)
			}
			if err := dispatch(b[:length], handle); err != nil {
				return count, err
			}
			count++
			b = b[min(align4(length), len(b)):]
		}
	}
}

func align4(n int) int { return (n + 3) &^ 3 }

// errDone ends a dump.
var errDone = errors.New("done")

func dispatch(b []byte, handle func(Message) error) error {
	kind := binary.NativeEndian.Uint16(b[4:])
	switch body := b[unix.NLMSG_HDRLEN:]; kind {
	case unix.NLMSG_ERROR:
		if len(body) >= 4 {
			if code := int32(binary.NativeEndian.Uint32(body)); code != 0 {
				return unix.Errno(-code)
			}
		}
		return errDone
	case unix.NLMSG_DONE:
		return errDone
	default:
		if len(body) < nl.SizeofNfgenmsg {
			return fmt.Errorf("a netlink message of netfilter with %d bytes", len(body))
		}
		return handle(Message{Kind: kind, Family: body[0], Body: body, Attributes: body[nl.SizeofNfgenmsg:]})
	}
}

// Request sends a message and handles the answers until the last one. id is the
// resource's number, which only some subsystems have.
func (s *Socket) Request(kind uint16, flags uint16, family uint8, id uint16, attrs []byte, handle func(Message) error) error {
	b := make([]byte, unix.NLMSG_HDRLEN+4, unix.NLMSG_HDRLEN+4+len(attrs))
	binary.NativeEndian.PutUint32(b, uint32(cap(b)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	b[unix.NLMSG_HDRLEN] = family
	binary.BigEndian.PutUint16(b[unix.NLMSG_HDRLEN+2:], id)
	if err := unix.Sendto(s.fd, append(b, attrs...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("write netlink: %w", err)
	}
	for {
		_, err := s.Receive(handle)
		switch {
		case errors.Is(err, errDone):
			return nil
		case err != nil:
			return err
		}
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 1000); n == 0 && err == nil {
			return fmt.Errorf("netlink does not answer to a request of kind %#x", kind)
		}
	}
}
