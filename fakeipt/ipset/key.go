package ipset

import (
	"net/netip"
	"strconv"
)

// key is what tells entries apart. Fields that the type does not have are zero.
type key struct {
	addr  netip.Addr
	bits  uint8
	proto uint8
	port  uint16
	addr2 netip.Addr
	bits2 uint8
	set   string
}

// appendKey appends a key as it is listed.
func (s *set) appendKey(dst []byte, k key) []byte {
	for i, part := range s.kind.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case part == partSet:
			dst = append(dst, k.set...)
		case part == partPort && s.kind == bitmapPort:
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
