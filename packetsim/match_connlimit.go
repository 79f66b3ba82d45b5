package packetsim

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// connlimitKey is what a -m connlimit counts the connections of.
type connlimitKey struct {
	matchKey
	addr netip.Addr // under the rule's mask
	zone uint16
}

// countedConn is a connection that was counted, by the tuple of its first packet.
type countedConn struct {
	tuple conntrack.Tuple
	zone  conntrack.Zone
}

// connlimitList is the connections that were counted of a key (struct nf_conncount_list). It outlives them, though the kernel frees an
// empty one when a new key falls into the same of its 256 slots, which no walk can foretell.
type connlimitList struct {
	conns []countedConn
	// swept is the tick in which those that are over were last taken out, or the list was made, and left is how many there were then.
	swept uint64
	left  int
}

// mostOver is the number of connections that are over after which the kernel leaves the others for the next time
// (CONNCOUNT_GC_MAX_COLLECT).
const mostOver = 64

// matchConnlimit is -m connlimit (net/netfilter/xt_connlimit.c): each rule counts the connections whose packets come to it. A packet that
// finds none, not even its own, is dropped: the one that closes the last connection.
func (mt *matcher) matchConnlimit(s *skb, m *match.Connlimit) bool {
	key := connlimitKey{matchKey: mt.matchKey(), addr: s.Src, zone: s.connZone().Number()}
	if m.Dest {
		key.addr = s.Dst
	}
	if prefix, err := key.addr.Prefix(int(m.Prefix)); err == nil {
		key.addr = prefix.Addr()
	}
	lists := &mt.memory.connlimits
	list, known := lists.get(key)
	own, c := mt.countedOf(s)
	if known {
		list = mt.countConn(list, own, c)
	} else {
		list = connlimitList{conns: []countedConn{own}, swept: mt.memory.tick}
	}
	lists.put(key, list)
	if len(list.conns) == 0 {
		mt.drop(ReasonConnlimitFindsNone)
		mt.hotdrop = true
		return false
	}
	return (uint32(len(list.conns)) > m.Limit) != m.Upto
}

// connZone is the zone of the packet's connection or template (nf_ct_zone); 0 if it has neither.
func (s *skb) connZone() conntrack.Zone {
	switch {
	case s.conn == nil:
		return conntrack.Zone{}
	case s.conn.Template != nil:
		return s.conn.Template.Zone(0)
	}
	return s.conn.Zone
}

// countedOf is as what the packet counts, and its connection; nil if there is none yet (get_ct_or_tuple_from_skb). A packet that conntrack
// has not looked at, or leaves alone, counts as what it is itself, though its connection is in the table.
func (mt *matcher) countedOf(s *skb) (own countedConn, c *conntrack.Conn) {
	if s.conn != nil && s.conn.Template == nil {
		return countedConn{s.conn.Tuples[conntrack.Original], s.conn.Zone}, s.conn
	}
	own = countedConn{conntrack.TupleOf(&s.Packet), s.connZone()}
	c, _ = mt.conns.Find(&own.tuple, own.zone)
	return own, c
}

// countConn adds a packet's connection to the list, if it is not in it, and takes out what is over (__nf_conncount_add and its callers).
// The kernel does either once a tick: a new connection whose packet comes to the rule again within a tick is counted again.
func (mt *matcher) countConn(list connlimitList, own countedConn, c *conntrack.Conn) connlimitList {
	confirmed := c != nil && c.Confirmed
	switch {
	case confirmed && c.Assured:
		if list.swept != mt.memory.tick {
			list.conns, _ = mt.sweepCounted(list.conns, nil)
			list.swept, list.left = mt.memory.tick, len(list.conns)
		}
		return list
	case confirmed, list.swept != mt.memory.tick, len(list.conns)-list.left >= mostOver:
		var there bool
		if list.conns, there = mt.sweepCounted(list.conns, &own); there {
			return list
		}
		list.swept, list.left = mt.memory.tick, len(list.conns)
	}
	list.conns = append(slices.Clip(list.conns), own)
	return list
}

// sweepCounted is the list without connections that are over, as far as the kernel looks: up to own, or until it has found many. Where it
// does not look for own, it goes on to the next that is not over.
func (mt *matcher) sweepCounted(list []countedConn, own *countedConn) (left []countedConn, there bool) {
	left = make([]countedConn, 0, len(list)+1)
	over, enough := 0, false
	for i, counted := range list {
		if enough || own != nil && over > mostOver {
			return append(left, list[i:]...), false
		}
		c, _ := mt.conns.Find(&counted.tuple, counted.zone)
		switch {
		case c != nil && own != nil && counted.tuple == own.tuple && c.Zone.Original == own.zone.Original:
			return append(left, list[i:]...), true
		case c == nil || c.IsOver():
			over++
		default:
			left = append(left, counted)
			enough = over > mostOver
		}
	}
	return left, false
}
