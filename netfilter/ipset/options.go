package ipset

import "net/netip"

// options are what a set was created with.
type options struct {
	family   Family // 0 for the types that have none
	hashSize uint32
	maxElem  uint32
	// netMask is the length of the prefix that addresses are cut to; 0: not given.
	netMask uint8
	// bitMask is the mask that addresses are put under, if it is valid.
	bitMask netip.Addr
	// hasTimeout says that entries may have a timeout; timeout is theirs where they are not given one, in seconds, 0: none.
	hasTimeout bool
	timeout    uint32
	counters   bool
	comment    bool
	// skbInfo: entries may have a mark, a priority and a queue for packets that -j SET --map-set takes them for.
	skbInfo bool
	// forceAdd: a set that is full takes another entry in the place of one in the same bucket.
	forceAdd   bool
	bucketSize uint8
	initVal    uint32
	// first and last are the range of bitmap:ip and bitmap:ip,mac; minPort and maxPort that of bitmap:port.
	first, last      netip.Addr
	minPort, maxPort uint16
	size             uint32 // of list:set; the kernel does not hold lists to it
}

// The defaults of hash types, with the kernel's values.
const (
	defaultHashSize   = 1024
	minHashSize       = 64
	maxHashBits       = 27
	defaultMaxElem    = 65536
	defaultBucketSize = 12
	defaultListSize   = 8
	minListSize       = 4
)

// maxBitmap is the greatest number of elements that a bitmap has room for.
const maxBitmap = 1 << 16

// same reports whether the kernel takes options for those of a set that is there.
func (o options) same(p options) bool {
	for _, x := range []*options{&o, &p} {
		x.family, x.hashSize, x.initVal, x.bucketSize, x.forceAdd = 0, 0, 0, 0, false
	}
	return o == p
}
