package ipset

import (
	"net/netip"
	"slices"

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

// Match evaluates -m set for a packet, "!" included. Nothing is counted; counters are compared as if the packet had been.
func (t *Table) Match(m *Query, p *Packet) bool {
	t.lock.RLock()
	defer t.lock.RUnlock()
	q := search{ref: m.Ref, packet: p, match: m, keep: m.KeepCounters}
	return t.lookup(t.sets[m.Set], &q) != m.Invert
}

// Count counts a packet in the counters of the entries that Match finds for it, unless the match keeps them. The function that it returns
// undoes that, as the one of Apply does; it is nil if there is nothing to undo.
func (t *Table) Count(m *Query, p *Packet) (undo func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	q := search{ref: m.Ref, packet: p, match: m, keep: m.KeepCounters, count: true}
	t.lookup(t.sets[m.Set], &q)
	return t.undoing(q.undo)
}

// undoing is a function that takes the steps, the last first.
func (t *Table) undoing(steps []func()) func() {
	if len(steps) == 0 {
		return nil
	}
	return func() {
		t.lock.Lock()
		defer t.lock.Unlock()
		for _, step := range slices.Backward(steps) {
			step()
		}
	}
}

// Apply carries -j SET out: adding and deleting. What --map-set finds is not kept by sets without skbinfo, so it has no effect. The
// function that it returns undoes the change, provided that all later changes are undone before; it is nil if nothing changed.
func (t *Table) Apply(c *Change, p *Packet) (undo func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	var steps []func()
	if s := t.sets[c.Add.Set]; s != nil {
		q := search{ref: c.Add, packet: p}
		if k, ok := s.keyOf(&q, s.hostPrefix()); ok {
			steps = append(steps, s.restorer(k))
			s.addPacket(k, c)
		}
	}
	if s := t.sets[c.Del.Set]; s != nil {
		q := search{ref: c.Del, packet: p}
		if k, ok := s.keyOf(&q, s.hostPrefix()); ok && s.entries[k] != nil {
			steps = append(steps, s.restorer(k))
			s.remove(k)
		}
	}
	return t.undoing(steps)
}

// restorer puts the key back as it is now. It is of no set of sets, whose keys no packet has.
func (s *set) restorer(k key) func() {
	before, seq := s.entries[k], s.seq
	return func() {
		if s.entries[k] != nil {
			s.remove(k)
		}
		if before != nil {
			s.entries[k] = before
			s.prefixes[s.prefixOf(k)]++
		}
		s.seq = seq
	}
}

// addPacket adds the key of a packet.
func (s *set) addPacket(k key, c *Change) {
	// A set that is full stays as it is.
	_ = s.add(k, entry{expires: s.expiry(c.HasTimeout, c.Timeout)}, c.Exist)
}

// hostPrefix is the prefix that packets are added with: the longest that is there, or a whole address.
func (s *set) hostPrefix() uint8 {
	if s.kind.nets() {
		for n := len(s.prefixes) - 1; n > 0; n-- {
			if s.prefixes[n] > 0 {
				return uint8(n)
			}
		}
	}
	return uint8(s.options.family.bits())
}

// search is one look into a set.
type search struct {
	ref    Ref
	packet *Packet
	match  *Query   // nil: nothing is counted or compared
	keep   bool     // counters stay as they are
	count  bool     // counters are written to
	undo   []func() // takes that back
	member bool     // the set is an element of a list:set: its counters are not compared
}

// lookup looks the packet up as the kernel does.
func (t *Table) lookup(s *set, q *search) bool {
	if s == nil || int(q.ref.Dim) < len(s.kind.parts) {
		return false
	}
	if s.kind == listSet {
		return t.lookupMembers(s, q)
	}
	if f := s.options.family; f != 0 && f.bits() != q.packet.Src.BitLen() {
		return false
	}
	e := s.entryOf(q)
	if e == nil || !q.passes(s, e) {
		return false
	}
	inverted := s.kind.nets() && q.match != nil && q.match.ReturnNomatch
	return e.nomatch == inverted
}

// lookupMembers looks the packet up in the sets of a list:set.
func (t *Table) lookupMembers(s *set, q *search) bool {
	inner := *q
	inner.member = true
	inner.keep = q.keep || q.match != nil && q.match.KeepSubcounters
	defer func() { q.undo = append(q.undo, inner.undo...) }()
	for _, k := range s.order {
		if s.live(s.entries[k]) && t.lookup(t.sets[k.set], &inner) && q.passes(s, s.entries[k]) {
			return true
		}
	}
	return false
}

// entryOf is the entry that the packet is found in; of nets the longest prefix.
func (s *set) entryOf(q *search) *entry {
	if !s.kind.nets() {
		k, ok := s.keyOf(q, s.hostPrefix())
		if e := s.entries[k]; ok && s.live(e) {
			return e
		}
		return nil
	}
	for n := s.options.family.bits(); n > 0; n-- {
		if s.prefixes[n] == 0 {
			continue
		}
		k, ok := s.keyOf(q, uint8(n))
		if !ok {
			return nil
		}
		if e := s.entries[k]; s.live(e) {
			return e
		}
	}
	return nil
}

// keyOf is the key of the packet's sides, with nets of that length.
func (s *set) keyOf(q *search, bits uint8) (k key, ok bool) {
	for i, part := range s.kind.parts {
		src := q.ref.SrcSides&(1<<i) != 0
		switch {
		case part == partSet:
			return k, false
		case part == partPort:
			if !s.portOf(&k, q.packet, src) {
				return k, false
			}
		default:
			addr, length := q.packet.Dst, uint8(s.options.family.bits())
			if src {
				addr = q.packet.Src
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

// passes counts the packet and compares the counters.
func (q *search) passes(s *set, e *entry) bool {
	if q.match == nil || !s.options.counters {
		return true
	}
	packets, bytes := e.packets, e.bytes
	if !q.keep {
		packets, bytes = packets+1, bytes+q.packet.Length
	}
	if q.count {
		before := *e
		q.undo = append(q.undo, func() { e.packets, e.bytes = before.packets, before.bytes })
		e.packets, e.bytes = packets, bytes
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
