package packetsim

import (
	"cmp"
	"math"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// indexPolicy says how chains are walked. Those of so many rules get an index, once they were walked through so many times: a
// chain that a commit changed is a new one, and building its index costs more than a few walks. From least rules
// of a shape on, a look-up is cheaper than trying each of them. Shorter chains are compiled at their first walk, unless plain
// says that they are not.
type indexPolicy struct {
	rules int
	walks int32
	least int
	plain bool
}

var usualIndexPolicy = indexPolicy{rules: 16, walks: 8, least: 4}

// maxShapes bounds the look-ups that entering a chain costs.
const maxShapes = 8

// chainIndex finds the rules of a chain that a packet may match, without looking at the others. A rule stands in
// one shape, by the most telling of its conditions, or in rest. It is immutable, and kept in the chain's program.
type chainIndex struct {
	shapes   []indexShape
	rest     []int32        // the rules that any packet may match, ascending
	compiled []compiledRule // all rules of the chain
}

// indexShape is the rules that have conditions on the same parts of a packet. They are found by a hash of these parts: rules whose
// hashes are equal are found together, which tells a packet no lie, since each of them is asked. All of it is three flat
// lists, because a packet for one of many services finds little of them in the processor's cache.
type indexShape struct {
	shape
	places []indexPlace // a power of two, of which the hash says where to begin to look; some are empty
	rules  []int32      // those of each hash together, ascending
}

// indexPlace is a hash and its rules, rules[from:to] of the shape; to is 0 if the place is empty.
type indexPlace struct {
	hash     uint32
	from, to int32
}

// shape says which parts of a packet are in a key.
type shape struct {
	field indexField
	bits  uint8 // of an address
	ports bool  // protocol and destination port
}

// indexField is the address or device in a key.
type indexField uint8

const (
	byNothing indexField = iota
	byDst
	bySrc
	byIn
	byOut
)

// indexKey is the parts of a packet that a shape compares: an address or a device name, and a port.
type indexKey struct {
	inet.Bits
	port  uint16
	proto inet.Proto
}

// hash is the same for equal keys.
func (k indexKey) hash() uint32 {
	return inet.MixBits(k.Bits, inet.Bits{}, uint64(k.port)<<8|uint64(k.proto))
}

// newChainIndex builds the index of a list of rules.
func newChainIndex(rules []*xtables.Rule, least int) *chainIndex {
	shapes := usefulShapes(rules, least)
	x := &chainIndex{shapes: make([]indexShape, len(shapes)), compiled: make([]compiledRule, len(rules))}
	place := make(map[shape]int, len(shapes))
	found := make([][]hashedRule, len(shapes))
	for i, s := range shapes {
		place[s.shape] = i
		found[i] = make([]hashedRule, 0, s.count)
	}
	var ports []uint16
	for n, rule := range rules {
		x.compiled[n].compile(rule)
		var k indexKey
		var s shape
		s, k, ports = keyOf(rule, ports[:0])
		i, indexed := place[s]
		if !indexed {
			x.rest = append(x.rest, int32(n))
			continue
		}
		if !s.ports {
			found[i] = append(found[i], hashedRule{k.hash(), int32(n)})
			continue
		}
		for _, k.port = range ports {
			found[i] = append(found[i], hashedRule{k.hash(), int32(n)})
		}
	}
	for i, s := range shapes {
		x.shapes[i] = newIndexShape(s.shape, found[i])
	}
	return x
}

// hashedRule is a rule and the hash that it is found by.
type hashedRule struct {
	hash uint32
	rule int32
}

// newIndexShape puts rules, which are ascending, together by their hashes.
func newIndexShape(s shape, found []hashedRule) indexShape {
	size := 1
	for size*2 < len(found)*3 {
		size *= 2
	}
	x := indexShape{shape: s, places: make([]indexPlace, size), rules: make([]int32, 1+len(found))}
	for _, r := range found {
		at := x.place(r.hash)
		at.hash = r.hash
		at.to++ // how many they are, until all are counted
	}
	end := int32(1) // no place that is taken ends at 0
	for i := range x.places {
		if at := &x.places[i]; at.to != 0 {
			count := at.to
			at.from, at.to = end, end
			end += count
		}
	}
	for _, r := range found {
		at := x.place(r.hash)
		x.rules[at.to] = r.rule
		at.to++
	}
	return x
}

// place is where a hash has its rules, or an empty place if it has none.
func (s *indexShape) place(hash uint32) *indexPlace {
	mask := uint32(len(s.places) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if at := &s.places[i]; at.to == 0 || at.hash == hash {
			return at
		}
	}
}

type countedShape struct {
	shape
	count int
}

// usefulShapes are the shapes that hold the most rules.
func usefulShapes(rules []*xtables.Rule, least int) []countedShape {
	counts := map[shape]int{}
	var ports []uint16
	for _, rule := range rules {
		var s shape
		s, _, ports = keyOf(rule, ports[:0])
		counts[s]++
	}
	var useful []countedShape
	for s, count := range counts {
		if s != (shape{}) && count >= least {
			useful = append(useful, countedShape{s, count})
		}
	}
	slices.SortFunc(useful, func(a, b countedShape) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.field, b.field), cmp.Compare(b.bits, a.bits))
	})
	return useful[:min(len(useful), maxShapes)]
}

// keyOf is the shape that a rule is found by, its key but for the port, and its ports. The zero shape says that any packet may match.
func keyOf(r *xtables.Rule, ports []uint16) (shape, indexKey, []uint16) {
	var s shape
	var k indexKey
	wholeDst, wholeSrc := wholeBits(r.Dst), wholeBits(r.Src)
	switch {
	case wholeDst > 0 && (wholeDst == r.Dst.Addr.BitLen() || wholeSrc <= wholeDst):
		s.field, s.bits = byDst, uint8(wholeDst)
		k.Bits = inet.BitsOf(r.Dst.Addr)
	case wholeSrc > 0:
		s.field, s.bits = bySrc, uint8(wholeSrc)
		k.Bits = inet.BitsOf(r.Src.Addr)
	case isDevice(r.In):
		s.field = byIn
		k.Bits = inet.BitsOfName(r.In.Name)
	case isDevice(r.Out):
		s.field = byOut
		k.Bits = inet.BitsOfName(r.Out.Name)
	}
	if r.Proto.Number != 0 && r.Proto.Number <= math.MaxUint8 && !r.Proto.Invert && inet.Proto(r.Proto.Number).HasPorts() {
		if ports = rulePorts(r, ports); len(ports) > 0 {
			s.ports, k.proto = true, inet.Proto(r.Proto.Number)
		}
	}
	return s, k, ports
}

// wholeBits is the length of the prefix that the condition asks for, 0 if it asks for none.
func wholeBits(m *xtables.AddrMatch) int {
	if m == nil || m.Invert {
		return 0
	}
	return maskLength(m.Mask)
}

// maskLength is the length of the prefix that the mask is of, 0 if it is of none.
func maskLength(mask netip.Addr) int {
	b := inet.BitsOf(mask)
	if mask.Is4() {
		b = inet.Bits{High: ^uint64(0), Low: b.Low << 32}
	}
	ones := bits.LeadingZeros64(^b.High)
	if ones == 64 {
		ones += bits.LeadingZeros64(^b.Low)
	}
	if b != inet.PrefixMask(ones, false) {
		return 0
	}
	if mask.Is4() {
		ones -= 64
	}
	return ones
}

func isDevice(m *xtables.IfaceMatch) bool {
	return m != nil && !m.Invert && !m.Prefix && len(m.Name) <= inet.MaxDeviceName
}

// rulePorts are the destination ports that the rule holds for; none if it says nothing of them or holds for too many. A match that does
// more than compare must not be skipped, so that what stands behind one does not count.
func rulePorts(r *xtables.Rule, ports []uint16) []uint16 {
	var reads xtables.Reads
	for _, m := range r.Matches {
		reads = xtables.Reads{DstPorts: reads.DstPorts[:0], DstMasks: reads.DstMasks[:0], Dst: reads.Dst[:0]}
		m.AddReads(&reads)
		if len(reads.DstPorts) > 0 && !slices.ContainsFunc(reads.DstPorts, func(p xtables.PortRange) bool { return p.Min != p.Max }) {
			return appendPorts(ports, reads.DstPorts)
		}
		if !reads.Compares() {
			return nil
		}
	}
	return nil
}

// appendPorts appends ports, each once.
func appendPorts(ports []uint16, ranges []xtables.PortRange) []uint16 {
	for i, r := range ranges {
		if !slices.Contains(ranges[:i], r) {
			ports = append(ports, r.Min)
		}
	}
	return ports
}

// find is the rules of the shape that the packet may match.
func (s *indexShape) find(p *skb) []int32 {
	var k indexKey
	switch s.field {
	case byDst:
		k.Bits = inet.BitsOf(p.Dst).Masked(inet.PrefixMask(int(s.bits), p.Dst.Is4()))
	case bySrc:
		k.Bits = inet.BitsOf(p.Src).Masked(inet.PrefixMask(int(s.bits), p.Src.Is4()))
	case byIn:
		k.Bits = inet.BitsOfName(deviceName(p.in))
	case byOut:
		k.Bits = inet.BitsOfName(deviceName(p.out))
	}
	if s.ports {
		k.port, k.proto = p.DstPort, p.Proto
	}
	return s.of(k.hash())
}

// of is the rules of a hash.
func (s *indexShape) of(hash uint32) []int32 {
	at := s.place(hash)
	return s.rules[at.from:at.to]
}

// cursor goes through the rules of a chain that a packet may match, in their order.
type cursor struct {
	all   int // without an index: the number of rules
	lists [maxShapes + 1][]int32
	used  int // lists in use; 0: no index
}

// start puts the cursor before the rule number from (the first is 0).
func (c *cursor) start(x *chainIndex, s *skb, rules, from int) {
	c.all, c.used = rules, 0
	if x == nil {
		return
	}
	c.take(x.rest, from)
	for i := range x.shapes {
		c.take(x.shapes[i].find(s), from)
	}
}

// take adds what is left of an ascending list.
func (c *cursor) take(list []int32, from int) {
	if from > 0 {
		at, _ := slices.BinarySearch(list, int32(from))
		list = list[at:]
	}
	if len(list) > 0 || c.used == 0 {
		c.lists[c.used] = list
		c.used++
	}
}

// next is the first rule from at on that the packet may match; the number of rules if there is none.
func (c *cursor) next(at int) int {
	if c.used == 0 {
		return at
	}
	best, found := int32(c.all), 0
	for i := range c.used {
		if list := c.lists[i]; len(list) > 0 && list[0] < best {
			best, found = list[0], i
		}
	}
	if int(best) < c.all {
		c.lists[found] = c.lists[found][1:]
	}
	return int(best)
}
