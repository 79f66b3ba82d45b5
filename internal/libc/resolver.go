package libc

import (
	"bytes"
	"net/netip"
	"strconv"
)

// addrInfoError is why GetAddrInfo finds no address, in the C library's words (gai_strerror).
type addrInfoError string

// Error is the text.
func (e addrInfoError) Error() string { return string(e) }

// getAddrInfo reads an address of so many bits, 32 or 128, as the C library's resolver does on a host without files of names and without
// a resolver; see Names.GetAddrInfo.
func getAddrInfo(s []byte, bits int) (netip.Addr, error) {
	addrs, err := (*Names)(nil).GetAddrInfo(s, bits)
	if err != nil {
		return netip.Addr{}, err
	}
	return addrs[0], nil
}

// GetAddrInfo reads an address of so many bits, 32 or 128, or the name of a host, which may have several, as the C library's resolver does
// on a host that has the files of names alone: what is in none of them is told as if no server answered, by an error with the library's
// text.
func (n *Names) GetAddrInfo(s []byte, bits int) ([]netip.Addr, error) {
	if a, ok := InetPton(s, bits); ok {
		return []netip.Addr{a}, nil
	}
	short, isShort := InetAton(s)
	if isShort && bits == 32 {
		return []netip.Addr{short}, nil
	}
	other, isOther := parseZoned(s)
	switch {
	case isOther && bits == 32 && other.Is4In6():
		return []netip.Addr{other.WithZone("").Unmap()}, nil
	case isOther && bits == 128 && isZone(other):
		return []netip.Addr{other.WithZone("")}, nil
	case isOther && bits == 128:
		return nil, addrInfoError("Name or service not known")
	case isOther || isShort || bits == 128 && isDotted(s):
		return nil, addrInfoError("Address family for hostname not supported")
	}
	if addrs := n.host(string(s), bits); addrs != nil {
		return addrs, nil
	}
	// With a dot at its end a number is looked up as any name.
	if numeric := len(bytes.Trim(s, "0123456789.")) == 0 && !bytes.HasSuffix(s, []byte(".")); numeric && bits == 32 || !isHostName(s) {
		return nil, addrInfoError("Name or service not known")
	}
	return nil, addrInfoError("Temporary failure in name resolution")
}

// parseZoned reads an address of IPv6 with its zone, which may be empty.
func parseZoned(s []byte) (netip.Addr, bool) {
	text, zone, zoned := bytes.Cut(s, []byte("%"))
	a, ok := InetPton(text, 128)
	if zoned {
		a = a.WithZone("%" + string(zone))
	}
	return a, ok
}

// isZone says that the zone of an address, behind a "%", is one that it can have: the number of a device or, of an address that is good on
// one link alone, the name of one. The only device that is known is lo.
func isZone(a netip.Addr) bool {
	zone := a.Zone()[1:]
	linkLocal := a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast()
	_, err := strconv.ParseUint(zone, 10, 32)
	return err == nil || linkLocal && zone == "lo"
}

// isDotted says that it is an address of IPv4.
func isDotted(s []byte) bool {
	_, ok := InetPton(s, 32)
	return ok
}

// The lengths of a host's name and of a part of it.
const (
	maxName  = 253
	maxLabel = 63
)

// isHostName says that the C library would ask a server for a name.
func isHostName(s []byte) bool {
	if string(s) == "." {
		return true
	}
	name, ok := unescaped(bytes.TrimSuffix(s, []byte(".")))
	if !ok || len(name) == 0 || len(name) > maxName || name[0] == '-' {
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

// unescaped is a name without its backslashes, each of which stands before a letter as it is, or before the three digits of its number.
// ok is false for a name that no host can have, such as one with a dot that parts nothing.
func unescaped(name []byte) (plain []byte, ok bool) {
	if bytes.IndexByte(name, '\\') < 0 {
		return name, true
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' {
			if i++; i == len(name) {
				return nil, false
			}
			if c = name[i]; '0' <= c && c <= '9' {
				n, err := strconv.ParseUint(string(name[i:min(i+3, len(name))]), 10, 8)
				if err != nil || i+3 > len(name) {
					return nil, false
				}
				c, i = byte(n), i+2
			}
			if c == '.' {
				return nil, false
			}
		}
		plain = append(plain, c)
	}
	return plain, true
}

func isHostNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
