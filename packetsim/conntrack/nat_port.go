package conntrack

import "net/netip"

// numberChance is a Chance that also draws numbers. Walks ask it for the ports that the kernel chooses at random. With a
// Chance that is not one of them such a source port comes from a hash of the connection, so that a walk has few ways and can be repeated.
type numberChance interface {
	Chance
	// Number draws one of the numbers below n, each as often as another.
	Number(n uint32) uint32
}

// The kernel's tries for a free port: so many in the first round, and with so few left it evicts connections that are over.
const (
	portTries  = 128
	leastTries = 16
	lastTries  = portTries / 4
)

// portSpan is where the kernel looks for a port: a low source port stays a low one.
func (r *Range) portSpan(t *Tuple, side Side) (low, size uint32, ok bool) {
	part := t.natPart(side)
	switch {
	case part == nil:
		return 0, 0, false
	case r.ranged():
		low, high := min(r.MinPort, r.MaxPort), max(r.MinPort, r.MaxPort)
		return uint32(low), uint32(high) - uint32(low) + 1, true
	case t.Proto.IsICMP():
		return 0, 1 << 16, true
	case side == Destination:
		return 0, 0, false
	}
	low, size = sourceSpan(*part)
	return low, size, true
}

// sourceSpan is where the kernel looks for a source port in the place of one.
func sourceSpan(port uint16) (low, size uint32) {
	switch {
	case port < 512:
		return 1, 511
	case port < 1024:
		return 600, 424
	}
	return 1024, 1<<16 - 1024
}

// choosePort gives the tuple a port of the range that is free (nf_nat_l4proto_unique_tuple). Where none is found, it has the last that was
// tried.
func (b *natBinder) choosePort(c *Conn, want *Tuple, side Side, to *Range) {
	low, size, ok := to.portSpan(want, side)
	if !ok {
		return
	}
	part := want.natPart(side)
	offset := uint16(0)
	switch {
	case to.BasePort != 0:
		offset = *part - to.BasePort
	case side == Source, to.random() && want.Proto.IsICMP(): // an identifier is not enumerated
		c.ChosenPort = size > 1
		offset = b.sourceOffset(want)
	case to.random():
		offset = b.drawOffset(size)
	}
	for tries := min(size, portTries); ; tries /= 2 {
		for left := tries; left > 0; left-- {
			*part = uint16(low + uint32(offset)%size)
			offset++
			if left > lastTries && !b.taken(want, c) || left <= lastTries && !b.takenFor(want, c) {
				return
			}
		}
		if tries >= size || tries < leastTries {
			return
		}
		offset = b.sourceOffset(want)
	}
}

// sourceOffset is where the search begins in a range of source ports.
func (b *natBinder) sourceOffset(t *Tuple) uint16 {
	if offset, drawn := b.drawSourceOffset(); drawn {
		return offset
	}
	return uint16(HashTuple(t))
}

// drawSourceOffset draws where that is, with a Chance that draws numbers.
func (b *natBinder) drawSourceOffset() (offset uint16, drawn bool) {
	if chance, ok := b.chance.(numberChance); ok {
		return uint16(chance.Number(1 << 16)), true
	}
	return 0, false
}

// drawOffset is where the search begins in a range of destination ports, each of the range being a way of its own.
func (b *natBinder) drawOffset(size uint32) uint16 {
	low := uint32(0)
	for size > 1 {
		half := size / 2
		if b.chance.Draw(uint32(uint64(certain) * uint64(half) / uint64(size))) {
			size = half
		} else {
			low, size = low+half, size-half
		}
	}
	return uint16(low)
}

// HashTuple is FNV-1a over a tuple.
func HashTuple(t *Tuple) uint32 {
	hash := uint32(2166136261)
	add := func(b byte) { hash = (hash ^ uint32(b)) * 16777619 }
	for _, addr := range [...]netip.Addr{t.Src, t.Dst} {
		for _, b := range addr.As16() {
			add(b)
		}
	}
	for _, n := range [...]uint16{uint16(t.Proto), t.SrcPort, t.DstPort, t.ICMPID} {
		add(byte(n >> 8))
		add(byte(n))
	}
	return hash
}
