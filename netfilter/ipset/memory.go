package ipset

// What the parts of a set take in the kernel, in bytes (net/netfilter/ipset/ip_set_hash_gen.h, ip_set_list_set.c, ip_set_bitmap_*.c).
const (
	bucketHead  = 32 // struct hbucket before its elements
	regionSize  = 24 // struct htable's share for each region
	listHead    = 80
	listElement = 44
	macElement  = 8
	commentHead = 17 // struct ip_set_comment_rcu with the closing zero
)

// bitmapHead is what a bitmap takes beside its elements.
var bitmapHead = map[*setType]int{bitmapPort: 72, bitmapIP: 88, bitmapIPMAC: 80}

// hashMemory is what a hash type takes: the set itself with its hash table, and an element, for IPv4 and IPv6.
var hashMemory = map[*setType][2]struct{ head, element int }{
	hashIP:        {{192, 4}, {200, 16}},
	hashNet:       {{432, 8}, {1216, 20}},
	hashIPPort:    {{192, 8}, {208, 20}},
	hashNetPort:   {{432, 8}, {1216, 20}},
	hashIPPortIP:  {{184, 12}, {208, 36}},
	hashIPPortNet: {{440, 12}, {1232, 36}},
	hashNetIface:  {{464, 28}, {1240, 40}},
}

// memory is what the kernel says that the set takes.
func (s *set) memory() int {
	text := 0
	for _, e := range s.entries {
		if e.comment != "" {
			text += commentHead + len(e.comment)
		}
	}
	switch s.kind.store {
	case storeList:
		return listHead + len(s.entries)*s.elementSize() + text
	case storeBitmap:
		places := s.places()
		return bitmapHead[s.kind] + 8*((places+63)/64) + places*s.elementSize() + text
	}
	return s.hashMemory().head + regionSize*s.table.regions() + s.table.extSize + text
}

// places is the number of elements that a bitmap has room for.
func (s *set) places() int {
	o := &s.options
	if s.kind == bitmapPort {
		return int(o.maxPort) - int(o.minPort) + 1
	}
	first, last := number(o.first), number(o.last)
	if o.netMask != 0 {
		return 1 << (int(o.netMask) - commonBits(first, last))
	}
	return int(last-first) + 1
}

func (s *set) hashMemory() struct{ head, element int } {
	return hashMemory[s.kind][btoi(s.options.family == inet6)]
}

// elementSize is the size of an element with its extensions, which stand behind it in this order, each at a multiple of its alignment.
func (s *set) elementSize() int {
	size, align := 0, 1
	switch {
	case s.kind == listSet:
		size, align = listElement, 8 // pointers
	case s.kind == bitmapIPMAC:
		size, align = macElement, 8
	case s.kind.hash():
		size, align = s.hashMemory().element, 4
	}
	for _, x := range []struct {
		has         bool
		size, align int
	}{{s.options.counters, 16, 8}, {s.options.hasTimeout, 8, 8}, {s.options.skbInfo, 16, 4}, {s.options.comment, 8, 8}} {
		if x.has {
			align = max(align, x.align)
			size = roundUp(size, x.align) + x.size
		}
	}
	return roundUp(size, align)
}

func roundUp(n, to int) int { return n + (to-n&(to-1))&(to-1) }
