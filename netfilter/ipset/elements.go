package ipset

import (
	"encoding/binary"
	"math"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// The elements that a message is about, with the kernel's checks in the kernel's order (the uadt functions of
// net/netfilter/ipset/ip_set_hash_*.c and ip_set_bitmap_*.c).

// elements calls f for each key that the message stands for, until f returns an error. Of test it is the first one only.
func (s *set) elements(m *message, test bool, f func(key) error) error {
	switch s.kind {
	case bitmapPort:
		return s.portElements(m, test, f)
	case bitmapIP, bitmapIPMAC:
		return s.bitmapElements(m, test, f)
	}
	k, err := s.hashElement(m)
	switch {
	case err != nil:
		return err
	case test || s.isSingle(m):
		return f(k)
	}
	return s.addressElements(m, k, func(k key) error {
		return s.portRange(m, k, func(k key) error { return s.secondElements(m, k, f) })
	})
}

// refuse is the kernel's refusal of what the set was not created for.
func (s *set) refuse(m *message) error {
	o := &s.options
	switch {
	case m.has(optTimeout) && !o.hasTimeout:
		return errNoTimeout
	case (m.has(optPackets) || m.has(optBytes)) && !o.counters:
		return errNoCounters
	case m.has(optEntryComment) && !o.comment:
		return errNoComment
	case (m.has(optSKBMark) || m.has(optSKBPrio) || m.has(optSKBQueue)) && !o.skbInfo:
		return errNoSKBInfo
	}
	return nil
}

// hashElement is the element of a hash type that the message begins with.
func (s *set) hashElement(m *message) (key, error) {
	width := uint8(s.options.family.bits())
	net := s.kind.parts[0] == partNet
	k := key{addr: m.addr, bits: width}
	if width == 128 && m.has(optIPTo) {
		return k, errRangeUnsupported
	}
	if width == 128 && !net && m.has(optCIDR) && m.cidr != width {
		return k, errCIDR
	}
	if m.addr.BitLen() != int(width) {
		return k, errProtocol
	}
	if err := s.refuse(m); err != nil {
		return k, err
	}
	if err := s.maskElement(&k, m); err != nil {
		return k, err
	}
	if len(s.kind.parts) == 3 {
		if m.addr2.BitLen() != int(width) {
			return k, errProtocol
		}
		k.addr2, k.bits2 = m.addr2, width
	}
	if s.kind.net2() {
		if m.has(optCIDR2) {
			k.bits2 = m.cidr2
		}
		if k.bits2 == 0 {
			return k, errCIDR
		}
		k.addr2 = cutAddr(m.addr2, k.bits2)
	}
	if s.kind.has(partPort) {
		if m.proto == 0 {
			return k, errNoProtocol
		}
		k.proto = m.proto
		if hasPorts(m.proto) || m.proto == icmpOf(s.options.family) {
			k.port = m.port
		}
	}
	k.name, k.physdev = m.iface, m.flags.physdev
	return k, nil
}

// maskElement puts the first address under the mask of the set or of the net.
func (s *set) maskElement(k *key, m *message) error {
	switch {
	case s.kind.masked():
		k.addr = s.cut(k.addr)
		if !k.addr.IsUnspecified() {
			return nil
		}
		if s.kind == hashIP {
			return errNull
		}
		return errInvalid
	case s.kind.parts[0] == partNet:
		if m.has(optCIDR) {
			k.bits = m.cidr
		}
		if k.bits == 0 && s.kind != hashNetIface {
			return errCIDR
		}
		k.addr = cutAddr(m.addr, k.bits)
	}
	return nil
}

// cut is an address under the set's mask.
func (s *set) cut(a netip.Addr) netip.Addr {
	switch o := &s.options; {
	case o.netMask != 0:
		return cutAddr(a, o.netMask)
	case o.bitMask.IsValid():
		b, mask := a.AsSlice(), o.bitMask.AsSlice()
		for i := range b {
			b[i] &= mask[i]
		}
		masked, _ := netip.AddrFromSlice(b)
		return masked
	}
	return a
}

// cutAddr is the address under a mask of so many bits.
func cutAddr(a netip.Addr, bits uint8) netip.Addr {
	if int(bits) == a.BitLen() {
		return a
	}
	p, err := a.Prefix(int(bits))
	if err != nil {
		return a
	}
	return p.Addr()
}

// hasPorts says that a protocol has ports.
func hasPorts(proto uint8) bool {
	switch proto {
	case libc.ProtoTCP, libc.ProtoUDP, libc.ProtoSCTP, libc.ProtoUDPLite:
		return true
	}
	return false
}

// icmpOf is the ICMP of a family.
func icmpOf(f Family) uint8 {
	if f == inet6 {
		return libc.ProtoICMPv6
	}
	return libc.ProtoICMP
}

// isSingle says that a message to a hash type stands for one element.
func (s *set) isSingle(m *message) bool {
	ports := m.has(optPortTo) && hasPorts(m.proto)
	switch {
	case s.options.family == inet6:
		return !ports
	case s.kind == hashIP:
		return false
	case s.kind.parts[0] == partNet:
		return !m.has(optIPTo) && !ports
	}
	return !m.has(optIPTo) && !m.has(optCIDR) && !m.has(optIP2To) && !ports
}

// addressElements calls f for each first address or net. Those of IPv6 stand for themselves.
func (s *set) addressElements(m *message, k key, f func(key) error) error {
	switch {
	case s.options.family == inet6:
		return f(k)
	case s.kind.parts[0] == partNet:
		return s.netElements(m, k, f)
	}
	from := number(k.addr)
	to := from
	switch {
	case m.has(optIPTo):
		if to = number(m.addrTo); from > to {
			if s.kind == hashIP && to == 0 {
				return errNull
			}
			from, to = to, from
		}
	case m.has(optCIDR) && m.cidr == 0:
		return errCIDR
	case m.has(optCIDR):
		from, to = network(from, m.cidr)
	}
	step := uint64(1)
	if s.kind == hashIP && s.options.netMask != 0 {
		step = 1 << (32 - s.options.netMask)
	}
	for at := uint64(from); at <= uint64(to); at += step {
		k.addr = address(uint32(at))
		if err := f(k); err != nil {
			return err
		}
	}
	return nil
}

// netElements calls f for each of the nets that a range is made of.
func (s *set) netElements(m *message, k key, f func(key) error) error {
	from, to := number(m.addr), number(m.addrTo)
	if !m.has(optIPTo) {
		from, to = network(from, k.bits)
	}
	if to < from {
		from, to = to, from
	}
	if m.has(optIPTo) && from == 0 && to == math.MaxUint32 {
		return errWholeRange
	}
	return eachNet(from, to, func(addr netip.Addr, bits uint8) error {
		k.addr, k.bits = addr, bits
		return f(k)
	})
}

// portRange calls f for each port.
func (s *set) portRange(m *message, k key, f func(key) error) error {
	from, to := uint32(k.port), uint32(k.port)
	if m.has(optPortTo) && hasPorts(m.proto) {
		from, to = min(from, uint32(m.portTo)), max(from, uint32(m.portTo))
	}
	for port := from; port <= to; port++ {
		k.port = uint16(port)
		if err := f(k); err != nil {
			return err
		}
	}
	return nil
}

// secondElements calls f for each of the nets that the second address stands for.
func (s *set) secondElements(m *message, k key, f func(key) error) error {
	if !s.kind.net2() || s.options.family == inet6 {
		return f(k)
	}
	from, to := network(number(k.addr2), k.bits2)
	if m.has(optIP2To) {
		a, b := number(m.addr2), number(m.addr2To)
		if from, to = min(a, b), max(a, b); from == 0 && to == math.MaxUint32 {
			return errWholeRange
		}
	}
	return eachNet(from, to, func(addr netip.Addr, bits uint8) error {
		k.addr2, k.bits2 = addr, bits
		return f(k)
	})
}

// number is an IPv4 address as a number.
func number(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// address is the inverse of number.
func address(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// network is the first and the last address of a net of that length.
func network(n uint32, bits uint8) (from, to uint32) {
	host := uint32(math.MaxUint32)
	if bits > 0 {
		host = 1<<(32-bits) - 1
	}
	return n &^ host, n | host
}

// eachNet calls f for each of the nets that a range is made of, as the kernel cuts it (ip_set_range_to_cidr): where the end of a net and
// of the range are more than half of all addresses apart, it takes the first for beyond the second.
func eachNet(from, to uint32, f func(netip.Addr, uint8) error) error {
	for {
		bits, last := uint8(32), from
		for n := uint8(1); n < 32; n++ {
			first, end := network(from, n)
			if first == from && int32(to-end) >= 0 {
				bits, last = n, end
				break
			}
		}
		if err := f(address(from), bits); err != nil || last >= to {
			return err
		}
		from = last + 1
	}
}
