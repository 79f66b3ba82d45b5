package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoAccounting = errors.New("conntrack: the packets and bytes of the entry are not known: a rule asks for them")

// connCounters count the packets of a connection in each direction. They are not written to: the next packet has others.
type connCounters [2]struct{ packets, bytes uint64 }

// accounts says whether new connections count their packets: by net.netfilter.nf_conntrack_acct, which the kernel sets
// itself when it is given a rule with -m connbytes.
func (h *Host) accounts() bool { return h.conf.accounts || h.netfilter.ForcesAccounting() }

// count counts a packet of a connection that has counters (nf_ct_acct_update).
func (h *tracker) count(c *conn, dir direction, size int) {
	counters := *c.counters
	counters[dir].packets++
	counters[dir].bytes += uint64(size)
	h.change(c)
	c.counters = &counters
}

// matchConnbytes is -m connbytes (net/netfilter/xt_connbytes.c). A connection that began before anybody counted has no counters.
func (w *walk) matchConnbytes(s *skb, m *match.Connbytes) bool {
	c := s.conn
	switch {
	case c == nil || c.template != nil:
		return false
	case c.counters == nil:
		if c.given {
			w.fail(errNoAccounting)
		}
		return false
	}
	value := connbytes(m, c.counters)
	if m.To >= m.From {
		return value <= m.To && value >= m.From
	}
	return value < m.To || value > m.From
}

// connbytes is the number that the match compares.
func connbytes(m *match.Connbytes, counters *connCounters) uint64 {
	var packets, bytes uint64
	for dir, n := range counters {
		if m.Dir == match.ConnbytesBoth || (m.Dir == match.ConnbytesReply) == (direction(dir) == reply) {
			packets, bytes = packets+n.packets, bytes+n.bytes
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
