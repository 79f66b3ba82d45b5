package ipset

// What the parts of a set take in the kernel, in bytes (net/netfilter/ipset/ip_set_hash_gen.h, ip_set_list_set.c, ip_set_bitmap_port.c).
const (
	bucketHead  = 32 // struct hbucket before its elements
	bucketStart = 2  // elements that a bucket has place for at first
	regionSize  = 24 // struct htable's share for each 1024 buckets
	listHead    = 80
	listElement = 44
	bitmapHead  = 72
	commentHead = 17 // struct ip_set_comment_rcu with the closing zero
)

// hashMemory is what a hash type takes: the set itself with its hash table, and an element, for IPv4 and IPv6.
var hashMemory = map[string][2]struct{ head, element int }{
	"hash:ip":          {{192, 4}, {200, 16}},
	"hash:net":         {{432, 8}, {1216, 20}},
	"hash:ip,port":     {{192, 8}, {208, 20}},
	"hash:net,port":    {{432, 8}, {1216, 20}},
	"hash:ip,port,ip":  {{184, 12}, {208, 36}},
	"hash:ip,port,net": {{440, 12}, {1232, 36}},
}

// memory is what the kernel says that the set takes. Elements of a hash type count as if each had a bucket of its own: which
// of them share one depends on a number that the kernel draws.
func (s *set) memory() int {
	text := 0
	for _, e := range s.entries {
		if e.comment != "" {
			text += commentHead + len(e.comment)
		}
	}
	switch s.kind {
	case listSet:
		return listHead + len(s.entries)*s.extended(listElement) + text
	case bitmapPort:
		ports := int(s.options.maxPort) - int(s.options.minPort) + 1
		return bitmapHead + 8*((ports+63)/64) + ports*s.extended(0) + text
	}
	size := hashMemory[s.kind.name][btoi(s.options.family == inet6)]
	regions := max(1, int(s.options.hashSize)>>10)
	bucket := bucketHead + bucketStart*s.extended(size.element)
	return size.head + regionSize*regions + len(s.entries)*((bucket+7)&^7) + text
}

// extended is the size of an element with its extensions, which stand behind it in this order, each at a multiple of its alignment.
func (s *set) extended(size int) int {
	align := 1
	for _, x := range []struct {
		has         bool
		size, align int
	}{{s.options.counters, 16, 8}, {s.options.hasTimeout, 8, 8}, {s.options.skbInfo, 16, 4}, {s.options.comment, 8, 8}} {
		if x.has {
			align = max(align, x.align)
			size = roundUp(size, x.align) + x.size
		}
	}
	if s.kind == listSet {
		align = 8 // pointers
	} else if s.kind.hash() {
		align = max(align, 4)
	}
	return roundUp(size, align)
}

func roundUp(n, to int) int { return n + (to-n&(to-1))&(to-1) }
