package raw

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
)

// Inject sends a crafted packet as one of the host in whose namespace the calling
// thread is. Rules may forbid it; that is seen on its way.
func Inject(packet []byte, to netip.Addr, mark uint32) error {
	fd, err := unix.Socket(socket.Domain(to.Is6()), unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if to.Is6() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_HDRINCL, 1)
	} else {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_HDRINCL, 1)
	}
	if mark > 0 {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)))
	}
	if err != nil {
		return err
	}
	err = unix.Sendto(fd, packet, 0, socket.Address(netip.AddrPortFrom(to, 0)))
	if errors.Is(err, unix.EPERM) || socket.IsAnswer(err) {
		return nil
	}
	return err
}

// InjectOn puts a crafted packet on a device, as if it came from the wire's other end.
func InjectOn(packet []byte, device int, mac []byte) error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) // which hears nothing
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Sendto(fd, packet, 0, wire.LinkAddress(packet, device, mac))
}
