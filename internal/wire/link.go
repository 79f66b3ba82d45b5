package wire

import "net"

// The types of Ethernet frames.
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

func etherType(packet []byte) uint16 {
	if packet[0]>>4 == 6 {
		return etherIPv6
	}
	return etherIPv4
}

// Ethernet is an IP packet in a frame.
func Ethernet(to, from net.HardwareAddr, packet []byte) []byte {
	kind := etherType(packet)
	b := append(append([]byte{}, to...), from...)
	return append(append(b, byte(kind>>8), byte(kind)), packet...)
}

// VXLAN is a frame as a tunnel carries it: the payload of UDP packets between its ends.
func VXLAN(identifier uint32, frame []byte) []byte {
	return append([]byte{8, 0, 0, 0, byte(identifier >> 16), byte(identifier >> 8), byte(identifier), 0}, frame...)
}
