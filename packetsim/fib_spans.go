package packetsim

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// fibSpans are the addresses of IPv4 in parts, in each of which a look-up finds the same route. They are made when there have been many
// look-ups: most hosts of a cluster see few packets, and want no memory for that.
type fibSpans struct {
	from []uint32 // where each begins, the first of them at 0; none: a look-up depends on more than the address
	to   []*route // nil: there is none
}

// of is the route to an address.
func (x *fibSpans) of(addr uint32) *route {
	at := 0
	for n := len(x.from); n > 1; {
		half := n / 2
		next := at + half
		if x.from[next] <= addr {
			at = next
		}
		n -= half
	}
	return x.to[at]
}

// askedSpans counts look-ups until there are spans.
type askedSpans struct {
	asked  atomic.Uint32
	tables atomic.Pointer[tableSpans]
}

// tableSpans are the spans of all tables together, and of the table local.
type tableSpans struct{ all, local fibSpans }

// leastLookups is how many look-ups there are at least before spans are made, and more if there are many routes: one for each.
const leastLookups = 64

// spans are those of the tables; nil if there have been few look-ups. Several goroutines may ask at once.
func (b *fib) spans() *tableSpans {
	if x := b.fast.tables.Load(); x != nil {
		return x
	}
	if n := b.fast.asked.Add(1); n < leastLookups || int(n) < b.routes {
		return nil
	}
	x := &tableSpans{}
	local := b.tables[TableLocal]
	if local != nil {
		x.local = newSpans([]*fibTable{local}, local.lookup)
	}
	if tables, plain := b.plainTables(); plain {
		x.all = newSpans(tables, func(f *flow) *route {
			r, _ := b.lookupTables(f)
			return r
		})
	}
	b.fast.tables.Store(x)
	return x
}

// plainTables are the tables that each look-up asks one after the other. It is false if it depends on the packet which these are.
func (b *fib) plainTables() (tables []*fibTable, plain bool) {
	for _, step := range b.steps {
		if step.rule != nil {
			return nil, false
		}
		tables = append(tables, step.table)
	}
	return tables, true
}

// newSpans are those of tables, with what a look-up finds for the first address of each. There are none if that may become another.
func newSpans(tables []*fibTable, lookup func(*flow) *route) (x fibSpans) {
	from := []uint32{0}
	for _, table := range tables {
		for i := range table.lengths {
			length := &table.lengths[i]
			if length.steers() {
				return fibSpans{}
			}
			for to := range length.prefixes {
				first := uint32(to.Low)
				from = append(from, first)
				if next := uint64(first) + 1<<(32-length.bits); next < 1<<32 {
					from = append(from, uint32(next))
				}
			}
		}
	}
	slices.Sort(from)
	for _, first := range slices.Compact(from) {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], first)
		r := lookup(&flow{dst: netip.AddrFrom4(raw)})
		if n := len(x.to); n == 0 || x.to[n-1] != r {
			x.from, x.to = append(x.from, first), append(x.to, r)
		}
	}
	return x
}

// prefixes goes through the prefixes of the length.
func (l *fibLength) prefixes(yield func(inet.Bits) bool) {
	for i := range l.few {
		if !yield(l.few[i].to) {
			return
		}
	}
	for to := range l.many {
		if !yield(to) {
			return
		}
	}
}

// steers says that Steer may choose the next hop of one of the routes.
func (l *fibLength) steers() bool {
	isSteered := func(r *route) bool { return r.Steered }
	for i := range l.few {
		if isSteered(l.few[i].route) {
			return true
		}
	}
	for _, routes := range l.many {
		if slices.ContainsFunc(routes, isSteered) {
			return true
		}
	}
	return false
}

// spanAddr is an address of IPv4 as spans have it.
func spanAddr(addr netip.Addr) uint32 {
	raw := addr.As4()
	return binary.BigEndian.Uint32(raw[:])
}
