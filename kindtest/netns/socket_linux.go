package netns

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

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

func unspecified(v6 bool) netip.Addr {
	if v6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
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
	if at.Addr().Is6() && kind != unix.SOCK_RAW { // which is for one family anyway, and refuses to be told so
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if err = errors.Join(err, unix.Bind(fd, sockaddr(at))); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// wantDestination makes a socket say to which address each datagram was sent.
func wantDestination(fd int, v6 bool) error {
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
}

// wantErrors makes ICMP errors end a socket's waiting.
func wantErrors(fd int, v6 bool) error {
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
}

// isAnswer reports whether an error is what an answer from the network made of it.
func isAnswer(err error) bool {
	for _, known := range []unix.Errno{
		unix.ECONNREFUSED, unix.ECONNRESET, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENOPROTOOPT, unix.EPROTO,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
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
