package xtables

import "github.com/chainwalk/chainwalk/internal/libc"

// ParseProtocol reads a name or number. Behind -p the word is in lower case.
func ParseProtocol(s []byte) (uint16, error) {
	if n, ok := libc.Protocol(s); ok {
		return n, nil
	}
	return 0, BadParameter("unknown protocol \"%s\" specified", s)
}

// IsExtensionHeader says that IPv6 has the number for a header that stands before the protocol's own.
func IsExtensionHeader(number uint16) bool {
	switch number {
	case 43, 44, 51, 60:
		return true
	}
	return false
}

// isOwnProtocol says that the tools know the protocol's name without /etc/protocols.
func isOwnProtocol(number uint16) bool {
	switch number {
	case 0, libc.ProtoTCP, libc.ProtoUDP, libc.ProtoICMP, libc.ProtoICMPv6, libc.ProtoSCTP, libc.ProtoUDPLite,
		libc.ProtoESP, libc.ProtoAH, libc.ProtoMH:
		return true
	}
	return false
}
