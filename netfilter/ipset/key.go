package ipset

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
)

// key is what tells entries apart. Fields that the type does not have are zero.
type key struct {
	addr    netip.Addr
	bits    uint8
	proto   uint8
	port    uint16
	addr2   netip.Addr
	bits2   uint8
	physdev bool
	name    string // the set of list:set, the interface of hash:net,iface
}

// appendKey appends a key as it is listed.
func (s *set) appendKey(dst []byte, k key, e *entry) []byte {
	for i, part := range s.kind.parts {
		if part == partMAC && !e.filled {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case part == partSet:
			dst = append(dst, k.name...)
		case part == partIface:
			dst = appendIface(dst, k.name, k.physdev)
		case part == partMAC:
			dst = appendMAC(dst, e.mac)
		case s.kind == bitmapPort:
			dst = strconv.AppendUint(dst, uint64(k.port), 10)
		case part == partPort:
			dst = appendPort(dst, k.proto, k.port)
		case i == 0:
			dst = appendNet(dst, k.addr, k.bits)
		default:
			dst = appendNet(dst, k.addr2, k.bits2)
		}
	}
	return dst
}

func appendNet(dst []byte, a netip.Addr, n uint8) []byte {
	dst = a.AppendTo(dst)
	if int(n) == a.BitLen() {
		return dst
	}
	return strconv.AppendUint(append(dst, '/'), uint64(n), 10)
}

func appendMAC(dst []byte, mac [6]byte) []byte {
	const digits = "0123456789ABCDEF"
	for i, b := range mac {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// physdevPrefix stands before the name of a device that is a port of a bridge.
const physdevPrefix = "physdev:"

func appendIface(dst []byte, name string, physdev bool) []byte {
	if physdev {
		dst = append(dst, physdevPrefix...)
	}
	return append(dst, name...)
}

func (k key) compare(o key) int {
	return cmp.Or(k.addr.Compare(o.addr), cmp.Compare(k.bits, o.bits), cmp.Compare(k.proto, o.proto), cmp.Compare(k.port, o.port),
		k.addr2.Compare(o.addr2), cmp.Compare(k.bits2, o.bits2), strings.Compare(k.name, o.name))
}
