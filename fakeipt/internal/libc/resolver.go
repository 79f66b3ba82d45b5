package libc

import (
	"bytes"
	"net/netip"
)

// addrInfoError is why GetAddrInfo finds no address, in the C library's words (gai_strerror).
type addrInfoError string

// Error is the text.
func (e addrInfoError) Error() string { return string(e) }

// GetAddrInfo reads an address of so many bits, 32 or 128, as the C library's resolver does. No name is looked up; what is
// none is told as on a host without a resolver, by an error with the library's text.
func GetAddrInfo(s []byte, bits int) (netip.Addr, error) {
	if a, ok := InetPton(s, bits); ok {
		return a, nil
	}
	short, isShort := InetAton(s)
	if isShort && bits == 32 {
		return short, nil
	}
	other, err := netip.ParseAddr(string(s))
	if bits == 32 && other.Is4In6() {
		return other.Unmap(), nil
	}
	if err == nil || isShort {
		return netip.Addr{}, addrInfoError("Address family for hostname not supported")
	}
	// With a dot at its end a number is looked up as any name.
	if numeric := len(bytes.Trim(s, "0123456789.")) == 0 && !bytes.HasSuffix(s, []byte(".")); numeric && bits == 32 || !isHostName(s) {
		return netip.Addr{}, addrInfoError("Name or service not known")
	}
	return netip.Addr{}, addrInfoError("Temporary failure in name resolution")
}

// The lengths of a host's name and of a part of it.
const (
	maxName  = 253
	maxLabel = 63
)

// isHostName says that the C library would ask a server for a name.
func isHostName(s []byte) bool {
	name := bytes.TrimSuffix(s, []byte("."))
	if len(name) == 0 || len(name) > maxName || name[0] == '-' {
		return false
	}
	for label := range bytes.SplitSeq(name, []byte(".")) {
		if len(label) == 0 || len(label) > maxLabel {
			return false
		}
		for _, c := range label {
			if !isHostNameByte(c) {
				return false
			}
		}
	}
	return true
}

func isHostNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
