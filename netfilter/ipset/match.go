package ipset

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
)

// Packet is what sets see of a packet.
type Packet struct {
	Src, Dst netip.Addr
	Proto    uint8
	// SrcPort and DstPort are the ports; of an ICMP packet both are the type in the high byte and the code in the low one.
	SrcPort, DstPort uint16
	Length           uint64 // in bytes, for counters
	// In and Out are the names of the devices, "" where there is none.
	In, Out string
	// SrcMAC and DstMAC are the link-layer addresses; zero: there is no Ethernet header.
	SrcMAC, DstMAC [6]byte
}

// NeedsMAC says whether the set that a packet is looked up in, or one that is an element of it, asks for a MAC address of the packet.
func (o *Overlay) NeedsMAC(r *Ref) bool {
	if r.Dim < uint8(len(bitmapIPMAC.parts)) {
		return false
	}
	if !o.frozen {
		o.table.lock.RLock()
		defer o.table.lock.RUnlock()
	}
	needs := false
	o.each(r.Set, func(s *set) bool {
		needs = s.kind.has(partMAC)
		return needs
	})
	return needs
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
	o.each(c.Add.Set, func(s *set) bool {
		k, ok := o.keyOf(s, &c.Add, p)
		return ok && o.addPacket(s, k, c, p) == nil
	})
	o.each(c.Del.Set, func(s *set) bool {
		k, ok := o.keyOf(s, &c.Del, p)
		if ok {
			k, _ = o.find(s, k)
			ok = o.remove(s, k)
		}
		return ok
	})
}

// each calls f for the set, or for the sets in it until f says that it is done.
func (o *Overlay) each(name string, f func(*set) bool) {
	s := o.table.sets[name]
	if s == nil || s.kind != listSet {
		if s != nil {
			f(s)
		}
		return
	}
	for _, k := range s.order {
		member := o.table.sets[k.name]
		if s.live(o.entry(s, k)) && member != nil && f(member) {
			return
		}
	}
}

// addPacket adds the key of a packet. A set that is full stays as it is.
func (o *Overlay) addPacket(s *set, k key, c *Change, p *Packet) error {
	seconds := s.seconds(c.HasTimeout, c.Timeout)
	e := entry{expires: s.expiry(c.HasTimeout, c.Timeout), stored: seconds}
	if s.kind == bitmapIPMAC {
		e.mac, e.filled = p.mac(c.Add.src(1)), true
	}
	return o.add(s, k, e, c.Exist)
}

// keyOf is the key of a packet that is added or deleted: with the longest net that is there, or a whole address.
func (o *Overlay) keyOf(s *set, r *Ref, p *Packet) (k key, ok bool) {
	bits := s.options.family.bits()
	if s.kind.nets() {
		for n := len(s.prefixes) - 1; n >= 0; n-- {
			if o.nets(s, uint8(n)) > 0 {
				bits = n
				break
			}
		}
	}
	if int(r.Dim) < len(s.kind.parts) || s.options.family != 0 && s.options.family.bits() != p.Src.BitLen() {
		return k, false
	}
	return s.keyOf(r, p, uint8(bits))
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
	width := s.options.family.bits()
	if s.options.family != 0 && width != q.packet.Src.BitLen() {
		return false
	}
	k, ok := s.keyOf(&q.match.Ref, q.packet, uint8(width))
	switch {
	case !ok:
		return false
	case s.kind.nets():
		return q.findsNet(s, k)
	case s.kind == bitmapIPMAC:
		return q.findsMAC(s, k)
	}
	e := q.overlay.entry(s, k)
	return s.live(e) && q.passes(s, k, e)
}

// findsNet looks for the packet in nets, the longest first.
func (q *search) findsNet(s *set, k key) bool {
	for n := s.options.family.bits(); n >= 0; n-- {
		at, e, over := q.overlay.underNet(s, k, uint8(n))
		if over {
			return false
		}
		if e != nil && q.passes(s, at, e) {
			return e.nomatch == q.match.ReturnNomatch
		}
	}
	return false
}

// findsMAC looks for the packet's address with its MAC address. An entry without one gets that of the packet.
func (q *search) findsMAC(s *set, k key) bool {
	e, mac := q.overlay.entry(s, k), q.packet.mac(q.match.src(1))
	switch {
	case !s.live(e):
		return false
	case e.filled:
		return e.mac == mac && q.passes(s, k, e)
	}
	filled := entry{mac: mac, filled: true, stored: s.options.timeout}
	if s.options.counters {
		filled.packets, filled.bytes = 1, q.packet.Length
	}
	// The entry is there, and gets nothing but a MAC address.
	_ = q.overlay.addMAC(s, k, filled, false)
	return true
}

// findsMember looks the packet up in the sets of a list:set.
func (q *search) findsMember(s *set) bool {
	inner := *q
	inner.member = true
	inner.keep = q.keep || q.match.KeepSubcounters
	for _, k := range s.order {
		e := q.overlay.entry(s, k)
		if inner.finds(q.overlay.table.sets[k.name]) && s.live(e) && q.passes(s, k, e) {
			return true
		}
	}
	return false
}

// keyOf is the key of the packet's sides, with nets of that length. ok is false for a packet that the set has no key for.
func (s *set) keyOf(r *Ref, p *Packet, bits uint8) (k key, ok bool) {
	for i, part := range s.kind.parts {
		src := r.src(i)
		switch part {
		case partSet:
			return k, false
		case partPort:
			ok = s.portOf(&k, p, src)
		case partIface:
			k.name = p.Out
			if src {
				k.name = p.In
			}
			ok = k.name != ""
		case partMAC:
			ok = p.mac(src) != [6]byte{}
		default:
			ok = s.addressOf(&k, i, p, src, bits)
		}
		if !ok {
			return k, false
		}
	}
	return k, true
}

// addressOf sets the first or the second address of a key.
func (s *set) addressOf(k *key, i int, p *Packet, src bool, bits uint8) bool {
	addr := p.Dst
	if src {
		addr = p.Src
	}
	length := uint8(addr.BitLen())
	if s.kind.parts[i] == partNet {
		length = bits
		addr = cutAddr(addr, bits)
	}
	if i > 0 {
		k.addr2, k.bits2 = addr, length
		return true
	}
	if s.kind.store == storeBitmap && (addr.Less(s.options.first) || s.options.last.Less(addr)) {
		return false
	}
	if s.kind.parts[i] == partIP {
		addr = s.cut(addr)
	}
	k.addr, k.bits = addr, length
	return !s.kind.masked() || !addr.IsUnspecified()
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

// mac is the MAC address of a side.
func (p *Packet) mac(src bool) [6]byte {
	if src {
		return p.SrcMAC
	}
	return p.DstMAC
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
