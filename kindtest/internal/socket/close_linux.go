package socket

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// To close a descriptor does not end what the socket does while another process has it, too: every program that is started has all
// descriptors of this process, from its fork until a moment after its exec, also those that are closed by exec. So what a socket does is
// ended first.

// Reset ends a connection by telling the other end so, or makes a socket that listens refuse. Its addresses are free at once.
func Reset(fd int) {
	disconnect(fd)
	_ = unix.Close(fd)
}

// CloseSilently ends a connection without a packet: a socket under repair says nothing. Its addresses are free at once.
func CloseSilently(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, 1) // of no meaning to other sockets than TCP's
	Reset(fd)
}

// disconnect ends what a socket does, for all who have it: connect(2) with an address of no family, which package unix cannot spell. A
// socket that does nothing says that, which is what is wanted.
func disconnect(fd int) {
	nowhere := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere))
}
