package netns

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
)

// socketKey is what a listening socket is bound to.
type socketKey struct {
	proto packetsim.Proto
	netip.AddrPort
}

// served is something that a listening socket got.
type served struct {
	host          *host
	local, remote netip.AddrPort
	fd            int // TCP: the connection
	// answered: the server has read the client's question and has answered it.
	answered bool
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is6() {
		return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

func domain(v6 bool) int {
	if v6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// socket opens a socket in the namespace of the calling thread, bound to an address.
func socket(kind, proto int, at netip.AddrPort, shared bool) (int, error) {
	fd, err := unix.Socket(domain(at.Addr().Is6()), kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if shared {
		// One for an address and one for all addresses may have the same port.
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}
	if at.Addr().Is6() {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if err = errors.Join(err, unix.Bind(fd, sockaddr(at))); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// listen opens the socket of a host for a protocol, address and port, if it is not open.
func (h *host) listen(key socketKey) error {
	if _, ok := h.sockets[key]; ok {
		return nil
	}
	fd := -1
	err := h.ns.Do(func() (err error) {
		switch key.proto {
		case packetsim.TCP:
			if fd, err = socket(unix.SOCK_STREAM, unix.IPPROTO_TCP, key.AddrPort, true); err == nil {
				err = unix.Listen(fd, 128)
			}
		case packetsim.UDP:
			if fd, err = socket(unix.SOCK_DGRAM, unix.IPPROTO_UDP, key.AddrPort, true); err == nil {
				err = wantDestination(fd, key.Addr().Is6())
			}
		case packetsim.SCTP: // only so that the kernel does not refuse: see speakSCTP
			fd, err = socket(unix.SOCK_RAW, unix.IPPROTO_SCTP, netip.AddrPortFrom(key.Addr(), 0), false)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: listen on %s %s: %w", h.Name, key.proto, key.AddrPort, err)
	}
	h.sockets[key] = fd
	return nil
}

// wantDestination makes a socket say to which address each datagram was sent.
func wantDestination(fd int, v6 bool) error {
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
}

func unspecified(v6 bool) netip.Addr {
	if v6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// openFor opens the sockets that a connection can come to: those that the plan
// names, and where a host answers on every port, the ports of endpoints and the one
// that is called.
func (s *session) openFor(proto packetsim.Proto, called netip.AddrPort) error {
	if !proto.HasPorts() {
		return nil // the kernel itself answers
	}
	v6 := called.Addr().Is6()
	for _, h := range s.network.hosts {
		for _, l := range h.Listeners {
			if l.Proto != 0 && l.Proto != proto || l.Addr.IsValid() && l.Addr.Is6() != v6 {
				continue
			}
			at := l.Addr
			if !at.IsValid() {
				at = unspecified(v6)
			}
			ports := []uint16{l.Port}
			if l.Port == 0 {
				ports = append(s.ports.of(proto), called.Port())
			}
			for _, port := range ports {
				if proto == packetsim.SCTP {
					port = 0 // a raw socket is for all ports
				}
				if err := h.listen(socketKey{proto, netip.AddrPortFrom(at, port)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// serve lets the sockets of a host that are ready do what came to them: accept and answer.
func (h *host) serve(ready map[int]bool, got *[]served) error {
	for key, fd := range h.sockets {
		if !ready[fd] {
			continue
		}
		switch key.proto {
		case packetsim.TCP:
			h.accept(fd, got)
		case packetsim.UDP:
			if err := h.answerDatagrams(fd, key, got); err != nil {
				return err
			}
		case packetsim.SCTP:
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
		*got = append(*got, served{host: h, local: addrPort(local), remote: addrPort(remote), fd: conn})
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
		local, info, err := destination(control[:controlLen])
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		*got = append(*got, served{host: h, local: netip.AddrPortFrom(local, key.Port()), remote: addrPort(from), fd: -1})
		if n > 0 && buf[0] == 'Q' {
			_ = unix.Sendmsg(fd, answerTo(buf[:n]), info, from, 0) // rules may forbid it
		}
	}
}

// destination reads to which address a datagram was sent, and makes the control
// message that answers from there.
func destination(control []byte) (netip.Addr, []byte, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return netip.Addr{}, nil, err
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 12:
			// in_pktinfo: device, the address that it was taken at, the address in the header
			info := &unix.Inet4Pktinfo{Spec_dst: [4]byte(m.Data[8:12])}
			return netip.AddrFrom4([4]byte(m.Data[8:12])), unix.PktInfo4(info), nil
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 16:
			info := &unix.Inet6Pktinfo{Addr: [16]byte(m.Data[:16])}
			return netip.AddrFrom16([16]byte(m.Data[:16])), unix.PktInfo6(info), nil
		}
	}
	return netip.Addr{}, nil, errors.New("a datagram came without its destination address")
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

// reset ends a connection by telling the other end so.
func reset(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(fd)
}

// closeSilently ends a connection without a packet: a socket under repair says nothing.
// The connection is there as long as a program that is being started has the socket, too.
func closeSilently(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1) // of no meaning to other sockets than TCP's
	_ = unix.Close(fd)
}

// reopen closes a listening socket and with it all handshakes that were begun on it.
func (h *host) reopen(proto packetsim.Proto, at netip.AddrPort) error {
	for _, addr := range []netip.Addr{at.Addr(), unspecified(at.Addr().Is6())} {
		key := socketKey{proto, netip.AddrPortFrom(addr, at.Port())}
		if fd, ok := h.sockets[key]; ok {
			delete(h.sockets, key)
			if err := errors.Join(unix.Close(fd), h.listen(key)); err != nil {
				return err
			}
		}
	}
	return nil
}
