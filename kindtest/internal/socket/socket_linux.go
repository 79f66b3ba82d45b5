package socket

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Address is an address as system calls want it.
func Address(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is6() {
		return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}

// AddrPort is the address of a system call.
func AddrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// IPNet is a prefix with all bits of its address, as netlink takes it.
func IPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Domain is AF_INET or AF_INET6.
func Domain(v6 bool) int {
	if v6 {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// Unspecified is the address of a family that stands for all.
func Unspecified(v6 bool) netip.Addr {
	if v6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// Open opens a socket in the namespace of the calling thread, bound to an address.
func Open(kind, proto int, at netip.AddrPort, shared bool) (int, error) {
	fd, err := unix.Socket(Domain(at.Addr().Is6()), kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err != nil {
		return -1, err
	}
	if at.Port() != 0 { // otherwise the kernel might choose one that another socket has
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if shared {
		// One for an address and one for all addresses may have the same port.
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}
	if at.Addr().Is6() && kind != unix.SOCK_RAW { // which is for one family anyway, and refuses to be told so
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if err = errors.Join(err, unix.Bind(fd, Address(at))); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// WantDestination makes a socket say to which address each datagram was sent.
func WantDestination(fd int, v6 bool) error {
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
}

// ReadBehind makes room in a socket for so many bytes that came and were not read yet, as the kernel counts them, which is more than a
// datagram holds. Without CAP_NET_ADMIN it is no more than net.core.rmem_max allows.
func ReadBehind(fd, bytes int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes); !errors.Is(err, unix.EPERM) {
		return err
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
}

// WantErrors makes ICMP errors end a socket's waiting.
func WantErrors(fd int, v6 bool) error {
	if v6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
}

// IsAnswer reports whether an error is what an answer from the network made of it.
func IsAnswer(err error) bool {
	for _, known := range []unix.Errno{
		unix.ECONNREFUSED, unix.ECONNRESET, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENOPROTOOPT, unix.EPROTO,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// Destination reads to which address a datagram was sent, and makes the control
// message that answers from there.
func Destination(control []byte) (netip.Addr, []byte, error) {
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

// WantTimes makes a socket say when the kernel had each packet.
func WantTimes(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// Times has the kernel note when it had each packet, as long as the socket is open. It begins soon after the first socket of the machine
// that wants times is there, and not at once (net_enable_timestamp in net/core/dev.c): until then a packet has the time at which somebody
// read it.
func Times() (*Polled, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := WantTimes(fd); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return Poll(fd)
}

// Deafen has the kernel hand over nothing more to a socket, until Listen (SO_ATTACH_FILTER of socket(7)). What it has handed over already
// waits there.
func Deafen(fd int) error {
	nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing})
}

// Listen has the kernel hand over all packets to a socket that was deafened.
func Listen(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) }

// Received is when the kernel had a packet, by what it said beside it; the zero time if it did not say.
func Received(control []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Time{}
	}
	for _, m := range messages {
		const timespec = 16 // bytes: seconds and nanoseconds
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= timespec {
			return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[timespec/2:])))
		}
	}
	return time.Time{}
}

// The queues of a TCP socket under repair (linux/tcp.h).
const (
	repairReceive = 1
	repairSend    = 2
)

// repairOff ends a repair without a window probe.
const repairOff = -1

// Numbers are the sequence numbers of the next byte that a TCP socket sends and of the next that it expects. It takes CAP_NET_ADMIN.
func Numbers(fd int) (seq, ack uint32, err error) {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1); err != nil {
		return 0, 0, err
	}
	number := func(queue int) (uint32, error) {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_QUEUE, queue); err != nil {
			return 0, err
		}
		n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ)
		return uint32(n), err
	}
	seq, errSend := number(repairSend)
	ack, errReceive := number(repairReceive)
	return seq, ack, errors.Join(errSend, errReceive,
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, repairOff),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)) // which the end of a repair takes away
}
