package packetsim

import (
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// relationStates are the states that --state and --ctstate know a packet's relation by.
var relationStates = [...]match.CTState{
	isInvalid: match.CTInvalid, isUntracked: match.CTUntracked, isNew: match.CTNew,
	isEstablished: match.CTEstablished, isRelated: match.CTRelated,
}

// matchState is -m state (net/netfilter/xt_state.c).
func matchState(s *skb, m *match.State) bool {
	return (relationStates[s.relation]&m.States != 0) != m.Invert
}

// matchConntrack is -m conntrack (conntrack_mt in net/netfilter/xt_conntrack.c). Of a packet without a connection only its state is asked.
func (mt *matcher) matchConntrack(s *skb, m *match.Conntrack) bool {
	if m.States != 0 && (s.ctStates()&m.States != 0) == m.InvStates {
		return false
	}
	if s.conn == nil {
		return m.States != 0
	}
	if m.Direction != match.CTDirAny && (m.Direction == match.CTDirOriginal) != (s.dir == conntrack.Original) {
		return false
	}
	return matchTuples(s.conn, m) && mt.matchStatus(s.conn, m)
}

// ctStates is the packet's relation and, as virtual states, how its connection is translated.
func (s *skb) ctStates() match.CTState {
	states := relationStates[s.relation]
	if s.conn != nil && s.conn.SrcNAT {
		states |= match.CTSNAT
	}
	if s.conn != nil && s.conn.DstNAT {
		states |= match.CTDNAT
	}
	return states
}

func matchTuples(c *conntrack.Conn, m *match.Conntrack) bool {
	to, back := &c.Tuples[conntrack.Original], &c.Tuples[conntrack.Reply]
	if m.Proto != nil && m.Proto.Number != 0 && (uint16(to.Proto) == m.Proto.Number) == m.Proto.Invert {
		return false
	}
	return addrMatches(m.OrigSrc, to.Src) && addrMatches(m.OrigDst, to.Dst) &&
		addrMatches(m.ReplSrc, back.Src) && addrMatches(m.ReplDst, back.Dst) &&
		portMatches(m.OrigSrcPort, to.SrcPort) && portMatches(m.OrigDstPort, to.DstPort) &&
		portMatches(m.ReplSrcPort, back.SrcPort) && portMatches(m.ReplDstPort, back.DstPort)
}

func portMatches(m *match.PortRangeInv, port uint16) bool {
	return m == nil || m.Contains(port) != m.Invert
}

func (mt *matcher) matchStatus(c *conntrack.Conn, m *match.Conntrack) bool {
	if m.Status != nil && (ctStatus(c)&m.Status.Status != 0) == m.Status.Invert {
		return false // NONE asks for no bit, so that it never holds
	}
	if m.Expire != nil {
		var left uint32
		if d := c.Expires.Sub(mt.memory.clock.Now()); c.Confirmed && d > 0 {
			left = uint32(d / time.Second)
		}
		return (m.Expire.Min <= left && left <= m.Expire.Max) != m.Expire.Invert
	}
	return true
}

func ctStatus(c *conntrack.Conn) match.CTStatus {
	status := match.CTStatusNone
	if c.SeenReply {
		status |= match.CTStatusSeenReply
	}
	if c.Assured {
		status |= match.CTStatusAssured
	}
	if c.Confirmed {
		status |= match.CTStatusConfirmed
	}
	return status
}
