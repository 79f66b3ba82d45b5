package ipset

import (
	"math"
	"slices"
)

// options are what create asks for, as the kernel takes it: with its checks and its defaults.
func (m *message) options() (options, error) {
	o := options{
		family: m.family, hasTimeout: m.has(optTimeout), timeout: m.timeout,
		counters: m.flags.counters, comment: m.flags.comment, skbInfo: m.flags.skbInfo,
	}
	err := m.checkCreate()
	if err != nil {
		return o, err
	}
	switch m.kind {
	case listSet:
		o.size = max(m.or(optSize, m.size, defaultListSize), minListSize)
	case bitmapPort:
		if !m.has(optPort) || !m.has(optPortTo) {
			return o, errProtocol
		}
		o.minPort, o.maxPort = min(m.port, m.portTo), max(m.port, m.portTo)
	case bitmapIP, bitmapIPMAC:
		err = o.setRange(m)
	default:
		err = o.setHash(m)
	}
	return o, err
}

// or is a number that create may give, or else the default.
func (m *message) or(given option, n, otherwise uint32) uint32 {
	if m.has(given) {
		return n
	}
	return otherwise
}

// setHash sets the options of hash types (hash_*_create).
func (o *options) setHash(m *message) error {
	if o.family == 0 {
		return errFamily
	}
	if m.has(optNetMask) && int(m.netMask) < o.family.bits() {
		o.netMask = m.netMask
	}
	if m.has(optBitMask) {
		if m.bitMask.IsUnspecified() {
			return errNetMask
		}
		if zeros := func(b byte) bool { return b != math.MaxUint8 }; slices.ContainsFunc(m.bitMask.AsSlice(), zeros) {
			o.bitMask = m.bitMask
		}
	}
	bits := hashBits(max(m.or(optHashSize, m.hashSize, defaultHashSize), minHashSize))
	if bits > maxHashBits {
		return errNoMemory
	}
	o.hashSize = 1 << bits
	o.maxElem = m.or(optMaxElem, m.maxElem, defaultMaxElem)
	o.bucketSize = bucketSize(m.or(optBucketSize, uint32(m.bucketSize), defaultBucketSize))
	o.initVal, o.forceAdd = m.initVal, m.flags.forceAdd
	return nil
}

// bucketSize is the kernel's choice of the size of a bucket.
func bucketSize(n uint32) uint8 {
	n = min(max(n, bucketStep), defaultBucketSize)
	return uint8(n + n%2)
}

// setRange sets the range of bitmap:ip and bitmap:ip,mac, and the length of the nets that the former has a place for each.
func (o *options) setRange(m *message) error {
	first, last := number(m.addr), number(m.addrTo)
	switch {
	case !m.has(optIP):
		return errProtocol
	case m.has(optIPTo):
		first, last = min(first, last), max(first, last)
	case !m.has(optCIDR):
		return errProtocol
	case m.cidr == 32:
		return errCIDR
	default:
		first, last = network(first, m.cidr)
	}
	places := uint64(last) - uint64(first) + 1
	if m.has(optNetMask) && m.netMask < 32 {
		first, _ = network(first, m.netMask)
		_, last = network(last, m.netMask)
		bits := commonBits(first, last)
		if bits < 0 || int(m.netMask) <= bits {
			return errRange
		}
		o.netMask = m.netMask
		places = 1 << (int(m.netMask) - bits)
	}
	if places > maxBitmap {
		return errRangeTooLong
	}
	o.first, o.last = address(first), address(last)
	return nil
}

// commonBits is the length of the net that begins with the first address and holds the last one (range_to_mask); -1 if there is none.
func commonBits(first, last uint32) int {
	for bits := 31; bits > 0; bits-- {
		if from, _ := network(last, uint8(bits)); from == first {
			return bits
		}
	}
	if first == 0 && last == math.MaxUint32 {
		return 0
	}
	return -1
}
