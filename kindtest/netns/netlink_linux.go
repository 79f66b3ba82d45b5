package netns

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// netfilterSocket speaks netlink with the netfilter of one namespace.
type netfilterSocket struct {
	fd  int
	buf []byte
}

// receiveBuffer holds the reports on all packets of one connection many times.
const receiveBuffer = 8 << 20

// openNetfilter opens a socket in the namespace of the calling thread.
func openNetfilter() (*netfilterSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	s := &netfilterSocket{fd: fd, buf: make([]byte, 1<<16)}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a netlink socket: %w", err), unix.Close(fd))
	}
	return s, nil
}

func (s *netfilterSocket) close() error { return unix.Close(s.fd) }

// message is a netlink message of netfilter: kind is subsystem and message.
type message struct {
	kind   uint16
	family uint8
	attrs  []byte
}

// receive handles the messages that are there. It returns how many there were.
func (s *netfilterSocket) receive(handle func(message) error) (int, error) {
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

func dispatch(b []byte, handle func(message) error) error {
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
		if len(body) < 4 {
			return fmt.Errorf("a netlink message of netfilter with %d bytes", len(body))
		}
		return handle(message{kind: kind, family: body[0], attrs: body[4:]})
	}
}

// request sends a message and handles the answers until the last one. id is the
// resource's number, which only some subsystems have.
func (s *netfilterSocket) request(kind uint16, flags uint16, family uint8, id uint16, attrs []byte, handle func(message) error) error {
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
		_, err := s.receive(handle)
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

// attribute appends a netlink attribute.
func attribute(b []byte, kind uint16, value ...byte) []byte {
	header := make([]byte, 4)
	binary.NativeEndian.PutUint16(header, uint16(4+len(value)))
	binary.NativeEndian.PutUint16(header[2:], kind)
	b = append(append(b, header...), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// attributes calls back for each attribute of a message.
func attributes(b []byte, each func(kind uint16, value []byte)) {
	for len(b) >= 4 {
		length := int(binary.NativeEndian.Uint16(b))
		if length < 4 || length > len(b) {
			return
		}
		each(binary.NativeEndian.Uint16(b[2:])&0x3fff, b[4:length])
		b = b[min(align4(length), len(b)):]
	}
}
