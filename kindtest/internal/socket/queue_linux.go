package socket

import (
	"bytes"
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
	// To is where the packet went that the ICMP error is about, and Quoted what the error quotes of it behind its IP header, up to
	// quotedBytes. A raw socket hears of other sockets' packets to the same address, and until it is connected of those to any.
	To     netip.Addr
	Quoted []byte
}

// IsAbout says whether it is an ICMP error about a packet to an address with these bytes in its header, or no ICMP error. Bytes that are
// not quoted are taken for the same.
func (t *Trouble) IsAbout(to netip.Addr, offset int, header []byte) bool {
	if !t.ICMP {
		return true
	}
	if t.To.IsValid() && t.To != to {
		return false
	}
	return len(t.Quoted) < offset+len(header) || bytes.Equal(t.Quoted[offset:offset+len(header)], header)
}

// quotedBytes is how much is read of a packet that an ICMP error quotes: at least eight bytes are there (RFC 792).
const quotedBytes = 64

// NextTrouble takes the first entry out of a socket's error queue, if there is one.
func NextTrouble(fd int) (t Trouble, there bool) {
	control, quoted := make([]byte, 512), make([]byte, quotedBytes)
	size, n, _, to, err := unix.Recvmsg(fd, quoted, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
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
			t = parseTrouble(m.Data)
			t.To, t.Quoted = AddrPort(to).Addr().Unmap().WithZone(""), quoted[:size]
			return t, true
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
