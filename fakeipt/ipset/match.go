package ipset

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// Packet is what sets see of a packet.
type Packet struct {
	Src, Dst netip.Addr
	Proto    uint8
	// SrcPort and DstPort are the ports; of an ICMP packet both are the type in the high byte and the code in the low one.
	SrcPort, DstPort uint16
	Length           uint64 // in bytes, for counters
}

// Match evaluates -m set for a packet, "!" included, and counts the packet in the counters of the entries that it finds, unless the match
// keeps them.
func (o *Overlay) Match(m *Query, p *Packet) bool {
	if !o.frozen {
		o.table.lock.RLock()
		defer o.table.lock.RUnlock()
	}
	q := search{overlay: o, match: m, packet: p, keep: m.KeepCounters}
	return q.finds(o.table.sets[m.Set]) != m.Invert
}

// Apply carries -j SET out: adding and deleting. What --map-set finds is not kept by sets without skbinfo, so it has no effect.
func (o *Overlay) Apply(c *Change, p *Packet) {
	if !o.frozen {
		o.table.lock.RLock()
		defer o.table.lock.RUnlock()
	}
	if s := o.table.sets[c.Add.Set]; s != nil {
		if k, ok := s.keyOf(&c.Add, p, o.hostPrefix(s)); ok {
			o.addPacket(s, k, c)
		}
	}
	if s := o.table.sets[c.Del.Set]; s != nil {
		if k, ok := s.keyOf(&c.Del, p, o.hostPrefix(s)); ok {
			o.remove(s, k)
		}
	}
}

// addPacket adds the key of a packet.
func (o *Overlay) addPacket(s *set, k key, c *Change) {
	// A set that is full stays as it is.
	_ = o.add(s, k, entry{expires: s.expiry(c.HasTimeout, c.Timeout)}, c.Exist)
}

// hostPrefix is the prefix that packets are added with: the longest that is there, or a whole address.
func (o *Overlay) hostPrefix(s *set) uint8 {
	if s.kind.nets() {
		for n := len(s.prefixes) - 1; n > 0; n-- {
			if o.nets(s, uint8(n)) > 0 {
				return uint8(n)
			}
		}
	}
	return uint8(s.options.family.bits())
}

// search is one look into a set.
type search struct {
	overlay *Overlay
	match   *Query
	packet  *Packet
	keep    bool // counters stay as they are
	member  bool // the set is an element of a list:set: its counters are not compared
}

// finds looks the packet up as the kernel does.
func (q *search) finds(s *set) bool {
	if s == nil || int(q.match.Dim) < len(s.kind.parts) {
		return false
	}
	if s.kind == listSet {
		return q.findsMember(s)
	}
	if f := s.options.family; f != 0 && f.bits() != q.packet.Src.BitLen() {
		return false
	}
	k, e := q.entryIn(s)
	if e == nil || !q.passes(s, k, e) {
		return false
	}
	return e.nomatch == (s.kind.nets() && q.match.ReturnNomatch)
}

// findsMember looks the packet up in the sets of a list:set.
func (q *search) findsMember(s *set) bool {
	inner := *q
	inner.member = true
	inner.keep = q.keep || q.match.KeepSubcounters
	for _, k := range s.order {
		e := q.overlay.entry(s, k)
		if s.live(e) && inner.finds(q.overlay.table.sets[k.set]) && q.passes(s, k, e) {
			return true
		}
	}
	return false
}

// entryIn is the entry that the packet is found in, and its key; of nets the longest prefix.
func (q *search) entryIn(s *set) (key, *entry) {
	longest, shortest := s.options.family.bits(), 1
	if !s.kind.nets() {
		shortest = longest
	}
	for n := longest; n >= shortest; n-- {
		if s.kind.nets() && q.overlay.nets(s, uint8(n)) == 0 {
			continue
		}
		k, ok := s.keyOf(&q.match.Ref, q.packet, uint8(n))
		if !ok {
			break
		}
		if e := q.overlay.entry(s, k); s.live(e) {
			return k, e
		}
	}
	return key{}, nil
}

// keyOf is the key of the packet's sides, with nets of that length.
func (s *set) keyOf(r *Ref, p *Packet, bits uint8) (k key, ok bool) {
	for i, part := range s.kind.parts {
		src := r.SrcSides&(1<<i) != 0
		switch {
		case part == partSet:
			return k, false
		case part == partPort:
			if !s.portOf(&k, p, src) {
				return k, false
			}
		default:
			addr, length := p.Dst, uint8(s.options.family.bits())
			if src {
				addr = p.Src
			}
			if part == partNet {
				length = bits
			} else if s.options.netMask != 0 {
				length = s.options.netMask
			}
			addr = cutAddr(addr, length)
			if i == 0 {
				k.addr, k.bits = addr, length
				if part == partIP {
					k.bits = uint8(addr.BitLen())
				}
			} else {
				k.addr2, k.bits2 = addr, length
			}
		}
	}
	return k, true
}

// portOf sets the port of a key. bitmap:port takes TCP and UDP only and does not keep which.
func (s *set) portOf(k *key, p *Packet, src bool) bool {
	port := p.DstPort
	if src {
		port = p.SrcPort
	}
	switch p.Proto {
	case libc.ProtoTCP, libc.ProtoUDP:
	case libc.ProtoSCTP, libc.ProtoUDPLite, libc.ProtoICMP, libc.ProtoICMPv6:
		if s.kind == bitmapPort {
			return false
		}
	default:
		if s.kind == bitmapPort {
			return false
		}
		port = 0
	}
	k.port = port
	if s.kind != bitmapPort {
		k.proto = p.Proto
		return true
	}
	return s.options.minPort <= port && port <= s.options.maxPort
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

// passes counts the packet in the entry and compares the counters.
func (q *search) passes(s *set, k key, e *entry) bool {
	if !s.options.counters {
		return true
	}
	packets, bytes := e.packets, e.bytes
	if !q.keep {
		q.overlay.count(s, k, 1, q.packet.Length)
		packets, bytes = packets+1, bytes+q.packet.Length
	}
	return q.member || q.match.Packets.holds(packets) && q.match.Bytes.holds(bytes)
}

// holds compares a counter.
func (c Counter) holds(n uint64) bool {
	switch c.Op {
	case CounterEQ:
		return n == c.Value
	case CounterNE:
		return n != c.Value
	case CounterLT:
		return n < c.Value
	case CounterGT:
		return n > c.Value
	}
	return true
}
