package fakeipt

// What the parts of a set take in the kernel, in bytes (net/netfilter/ipset/ip_set_hash_gen.h, ip_set_list_set.c, ip_set_bitmap_port.c).
const (
	setBucketHead  = 32 // struct hbucket before its elements
	setBucketStart = 2  // elements that a bucket has place for at first
	setRegion      = 24 // struct htable's share for each 1024 buckets
	setListHead    = 80
	setListElement = 44
	setBitmapHead  = 72
	setCommentHead = 17 // struct ip_set_comment_rcu with the closing zero
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

// memory is what the kernel says that the set takes. Elements of a hash type count as if each had a bucket of its own: which of them share one
// depends on a number that the kernel draws.
func (s *IPSet) memory() int {
	text := 0
	for _, e := range s.entries {
		if e.comment != "" {
			text += setCommentHead + len(e.comment)
		}
	}
	switch s.kind {
	case listSetKind:
		return setListHead + len(s.entries)*s.extended(setListElement) + text
	case bitmapPortKind:
		ports := int(s.options.MaxPort) - int(s.options.MinPort) + 1
		return setBitmapHead + 8*((ports+63)/64) + ports*s.extended(0) + text
	}
	size := hashMemory[s.kind.name][btoi(s.options.Family == IPv6)]
	regions := max(1, int(s.options.HashSize)>>10)
	bucket := setBucketHead + setBucketStart*s.extended(size.element)
	return size.head + setRegion*regions + len(s.entries)*((bucket+7)&^7) + text
}

// extended is the size of an element with its extensions, which stand behind it in this order, each at a multiple of its alignment.
func (s *IPSet) extended(size int) int {
	align := 1
	for _, x := range []struct {
		has         bool
		size, align int
	}{{s.options.Counters, 16, 8}, {s.options.HasTimeout, 8, 8}, {s.options.SKBInfo, 16, 4}, {s.options.Comment, 8, 8}} {
		if x.has {
			align = max(align, x.align)
			size = roundUp(size, x.align) + x.size
		}
	}
	if s.kind == listSetKind {
		align = 8 // pointers
	} else if s.kind.hash() {
		align = max(align, 4)
	}
	return roundUp(size, align)
}

func roundUp(n, to int) int { return n + (to-n&(to-1))&(to-1) }
