package packetsim

import (
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// relationStates are the states that --state and --ctstate know a packet's relation by.
var relationStates = [...]fakeipt.CTState{
	isInvalid: fakeipt.CTInvalid, isUntracked: fakeipt.CTUntracked, isNew: fakeipt.CTNew,
	isEstablished: fakeipt.CTEstablished, isRelated: fakeipt.CTRelated,
}

// matchState is -m state (net/netfilter/xt_state.c).
func matchState(s *skb, m *fakeipt.MatchState) bool {
	return (relationStates[s.relation]&m.States != 0) != m.Invert
}

// matchConntrack is -m conntrack (conntrack_mt in net/netfilter/xt_conntrack.c). Of a packet without a connection only its state is asked.
func (mt *matcher) matchConntrack(s *skb, m *fakeipt.MatchConntrack) bool {
	if m.States != 0 && (s.ctStates()&m.States != 0) == m.InvStates {
		return false
	}
	if s.conn == nil {
		return m.States != 0
	}
	if m.Direction != fakeipt.CTDirAny && (m.Direction == fakeipt.CTDirOriginal) != (s.dir == original) {
		return false
	}
	return matchTuples(s.conn, m) && mt.matchStatus(s.conn, m)
}

// ctStates is the packet's relation and, as virtual states, how its connection is translated.
func (s *skb) ctStates() fakeipt.CTState {
	states := relationStates[s.relation]
	if s.conn != nil && s.conn.srcNAT {
		states |= fakeipt.CTSNAT
	}
	if s.conn != nil && s.conn.dstNAT {
		states |= fakeipt.CTDNAT
	}
	return states
}

func matchTuples(c *conn, m *fakeipt.MatchConntrack) bool {
	to, back := &c.tuples[original], &c.tuples[reply]
	if m.Proto != nil && m.Proto.Number != 0 && (uint16(to.Proto) == m.Proto.Number) == m.Proto.Invert {
		return false
	}
	return addrMatches(m.OrigSrc, to.Src) && addrMatches(m.OrigDst, to.Dst) &&
		addrMatches(m.ReplSrc, back.Src) && addrMatches(m.ReplDst, back.Dst) &&
		portMatches(m.OrigSrcPort, to.SrcPort) && portMatches(m.OrigDstPort, to.DstPort) &&
		portMatches(m.ReplSrcPort, back.SrcPort) && portMatches(m.ReplDstPort, back.DstPort)
}

func portMatches(m *fakeipt.PortRangeInv, port uint16) bool {
	return m == nil || m.Contains(port) != m.Invert
}

func (mt *matcher) matchStatus(c *conn, m *fakeipt.MatchConntrack) bool {
	if m.Status != nil && (ctStatus(c)&m.Status.Status != 0) == m.Status.Invert {
		return false // NONE asks for no bit, so that it never holds
	}
	if m.Expire != nil {
		var left uint32
		if d := c.expires.Sub(mt.memory.clock.Now()); c.confirmed && d > 0 {
			left = uint32(d / time.Second)
		}
		return (m.Expire.Min <= left && left <= m.Expire.Max) != m.Expire.Invert
	}
	return true
}

func ctStatus(c *conn) fakeipt.CTStatus {
	status := fakeipt.CTStatusNone
	if c.seenReply {
		status |= fakeipt.CTStatusSeenReply
	}
	if c.assured {
		status |= fakeipt.CTStatusAssured
	}
	if c.confirmed {
		status |= fakeipt.CTStatusConfirmed
	}
	return status
}
