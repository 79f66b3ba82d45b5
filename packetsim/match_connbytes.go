package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

var errNoAccounting = errors.New("conntrack: the packets and bytes of the entry are not known: a rule asks for them")

// matchConnbytes is -m connbytes (net/netfilter/xt_connbytes.c). A connection that began before anybody counted has no counters.
func (mt *matcher) matchConnbytes(s *skb, m *match.Connbytes) bool {
	c := s.conn
	switch {
	case c == nil || c.Template != nil:
		return false
	case c.Counters == nil:
		if c.Given {
			mt.fail(errNoAccounting)
		}
		return false
	}
	value := connbytes(m, c.Counters)
	if m.To >= m.From {
		return value <= m.To && value >= m.From
	}
	return value < m.To || value > m.From
}

// connbytes is the number that the match compares.
func connbytes(m *match.Connbytes, counters *conntrack.Counters) uint64 {
	var packets, bytes uint64
	for dir, n := range counters {
		if m.Dir == match.ConnbytesBoth || (m.Dir == match.ConnbytesReply) == (conntrack.Direction(dir) == conntrack.Reply) {
			packets, bytes = packets+n.Packets, bytes+n.Bytes
		}
	}
	switch {
	case m.Mode == match.ConnbytesPackets:
		return packets
	case m.Mode == match.ConnbytesBytes:
		return bytes
	case packets == 0:
		return 0
	}
	return bytes / packets
}
