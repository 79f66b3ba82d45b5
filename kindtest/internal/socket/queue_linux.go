package socket

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Trouble is what a socket's error queue tells, once WantErrors asked for that. TCP sockets have one from Linux 5.9 on, and only while they
// connect.
type Trouble struct {
	// Errno is what the kernel makes of it.
	Errno unix.Errno
	// ICMP says that it is an ICMP error of either family; otherwise this host's own kernel says it.
	ICMP       bool
	Type, Code uint8
	// Offender is who sent the ICMP error.
	Offender netip.Addr
}

// NextTrouble takes the first entry out of a socket's error queue, if there is one.
func NextTrouble(fd int) (t Trouble, there bool) {
	control := make([]byte, 512)
	_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 64), control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return t, false
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return t, false
	}
	for _, m := range messages {
		four := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		six := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if (four || six) && len(m.Data) >= extendedError {
			return parseTrouble(m.Data), true
		}
	}
	return t, false
}

// extendedError is the size of struct sock_extended_err, behind which is the offender's address (linux/errqueue.h).
const extendedError = 16

func parseTrouble(b []byte) Trouble {
	t := Trouble{
		Errno: unix.Errno(binary.NativeEndian.Uint32(b)), Type: b[5], Code: b[6],
		ICMP: b[4] == unix.SO_EE_ORIGIN_ICMP || b[4] == unix.SO_EE_ORIGIN_ICMP6,
	}
	offender := b[extendedError:]
	if len(offender) < 8 {
		return t
	}
	switch family := binary.NativeEndian.Uint16(offender); {
	case family == unix.AF_INET:
		t.Offender = netip.AddrFrom4([4]byte(offender[4:8]))
	case family == unix.AF_INET6 && len(offender) >= 24:
		t.Offender = netip.AddrFrom16([16]byte(offender[8:24])).Unmap()
	}
	return t
}
