package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// connlimitKey is what a -m connlimit counts the connections of.
type connlimitKey struct {
	matchKey
	addr netip.Addr // under the rule's mask
	zone uint16
}

// countedConn is a connection that was counted, by the direction of its first packet.
type countedConn struct {
	tuple Tuple
	zone  Zone
}

// matchConnlimit is -m connlimit (net/netfilter/xt_connlimit.c): each rule counts the connections whose packets come to it.
func (w *walk) matchConnlimit(s *skb, m *fakeipt.MatchConnlimit) bool {
	own := countedConn{tuple: tupleOf(&s.Packet)}
	if c := s.conn; c != nil && c.template == nil {
		own = countedConn{c.tuples[original], c.zone}
	}
	key := connlimitKey{matchKey: w.matchKey(), addr: s.Src, zone: own.zone.number()}
	if m.Dest {
		key.addr = s.Dst
	}
	if prefix, err := key.addr.Prefix(int(m.Prefix)); err == nil {
		key.addr = prefix.Addr()
	}
	lists := &w.h.memory.connlimits
	list, _ := lists.get(key)
	list = w.recount(list, own)
	lists.put(key, list)
	return (uint32(len(list)) > m.Limit) != m.Upto
}

// recount is the list with a packet's own connection, and without those before it that are over (__nf_conncount_add). Where the table does
// not have the packet's own connection, as before it is confirmed, it goes to the end of the list: all others are before it.
func (w *walk) recount(list []countedConn, own countedConn) []countedConn {
	next := make([]countedConn, 0, len(list)+1)
	for i, counted := range list {
		if c, _ := w.h.find(&counted.tuple, counted.zone); c != nil && counted == own {
			return append(next, list[i:]...)
		}
		if w.isTracked(counted) {
			next = append(next, counted)
		}
	}
	return append(next, own)
}

// isTracked says whether a connection is in the table and not closed.
func (w *walk) isTracked(counted countedConn) bool {
	c, _ := w.h.find(&counted.tuple, counted.zone)
	return c != nil && !(counted.tuple.Proto == TCP && (c.tcp.state == tcpTimeWait || c.tcp.state == tcpClose))
}
