package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// AllProtocols makes a packet socket hear every protocol; it is ETH_P_ALL in network order, as such sockets want it.
const AllProtocols = unix.ETH_P_ALL << 8

// LinkAddress is where a packet socket sends an IP packet: out of the device, to a hardware address.
func LinkAddress(packet []byte, device int, to net.HardwareAddr) *unix.SockaddrLinklayer {
	kind := etherType(packet)
	address := &unix.SockaddrLinklayer{Protocol: kind<<8 | kind>>8, Ifindex: device, Halen: uint8(len(to))}
	copy(address.Addr[:], to)
	return address
}
