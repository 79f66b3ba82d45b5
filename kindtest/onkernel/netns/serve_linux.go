package netns

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// served is something that a listening socket got.
type served struct {
	host          *host
	local, remote netip.AddrPort
	fd            int // TCP: the connection
	// answered: the server has read the client's question and has answered it.
	answered bool
}

// serve lets the sockets of a host that are ready do what came to them: accept and answer.
func (h *host) serve(ready map[int]bool, got *[]served) error {
	for key, fd := range h.sockets {
		if !ready[fd] {
			continue
		}
		switch key.proto {
		case inet.TCP:
			h.accept(fd, got)
		case inet.UDP:
			if err := h.answerDatagrams(fd, key, got); err != nil {
				return err
			}
		case inet.SCTP:
			discard(fd)
		}
	}
	for i := range *got {
		if c := &(*got)[i]; c.host == h && c.fd >= 0 && !c.answered {
			c.answer()
		}
	}
	return nil
}

// accept takes new connections.
func (h *host) accept(fd int, got *[]served) {
	for {
		conn, remote, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // none is there, or it is gone already
		}
		local, err := unix.Getsockname(conn)
		if err != nil {
			_ = unix.Close(conn)
			continue
		}
		*got = append(*got, served{host: h, local: socket.AddrPort(local), remote: socket.AddrPort(remote), fd: conn})
	}
}

// answer answers the client's question on a connection, once it is there.
func (c *served) answer() {
	buf := make([]byte, 64)
	n, err := unix.Read(c.fd, buf)
	if n > 0 && err == nil {
		_, err = unix.Write(c.fd, answerTo(buf[:n]))
		c.answered = err == nil
	}
}

// answerTo is the answer to a question: the same, marked as an answer.
func answerTo(question []byte) []byte {
	answer := append([]byte{}, question...)
	answer[0] = 'A'
	return answer
}

// answerDatagrams answers datagrams from the addresses that they were sent to.
func (h *host) answerDatagrams(fd int, key socketKey, got *[]served) error {
	buf, control := make([]byte, 256), make([]byte, 128)
	for {
		n, controlLen, _, from, err := unix.Recvmsg(fd, buf, control, 0)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			continue // an ICMP error about an answer
		}
		local, info, err := socket.Destination(control[:controlLen])
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		*got = append(*got, served{host: h, local: netip.AddrPortFrom(local, key.Port()), remote: socket.AddrPort(from), fd: -1})
		if n > 0 && buf[0] == 'Q' {
			_ = unix.Sendmsg(fd, answerTo(buf[:n]), info, from, 0) // rules may forbid it
		}
	}
}

// discard throws away what came to a socket.
func discard(fd int) {
	buf := make([]byte, 256)
	for {
		if _, err := unix.Read(fd, buf); err != nil {
			return
		}
	}
}
