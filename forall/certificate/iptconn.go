package certificate

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// state reads -m state.
func (q *iptReading) state(m *match.State) {
	if bits, is := q.states(); is && (bits.ipt&m.States != 0) == m.Invert {
		q.failed = true
	}
}

// conntrack reads what is asked of the connection.
func (q *iptReading) conntrack(m *match.Conntrack) {
	if q.class.name == New {
		q.tuples(m) // of the rest, all first packets have the same
		return
	}
	fails, translated := false, m.States&(match.CTSNAT|match.CTDNAT)
	switch bits, is := q.states(); {
	case is && m.States == 0:
		fails = !q.mayHaveConn()
	case is && bits.ipt&m.States != 0:
		fails = m.InvStates
	case is && (translated == 0 || !q.mayHaveConn()):
		fails = !m.InvStates
	case translated != 0 && q.class.bit&m.States == 0 && q.mayHaveConn():
		q.says("the translation of the connection is")
	}
	if fails {
		q.failed = true
	} else if q.mayHaveConn() {
		q.ofOld(m)
	}
}

// ofOld reads what is asked of a connection that was there before the packet, but for its state.
func (q *iptReading) ofOld(m *match.Conntrack) {
	if m.Status != nil || m.Expire != nil {
		q.says("the status of the connection is")
	}
	switch {
	case q.class.way == anyWay:
		if m.Direction != match.CTDirAny || m.Proto != nil || len(tupleParts(m)) > 0 {
			q.says("the addresses of the connection are")
		}
		return
	case m.Direction != match.CTDirAny && (m.Direction == match.CTDirReply) != (q.class.way == backward):
		q.failed = true // and so it does if conntrack has not looked yet, and there is no connection
		return
	}
	q.tuples(m)
}

// tuplePart is a part of a connection's tuples that a match asks for, and the field that has it in a packet of its first sender.
type tuplePart struct {
	field  field
	addr   *xtables.AddrMatch
	port   *match.PortRangeInv
	answer bool // it is of the tuple that is expected in answer
}

// tupleParts are the parts that a match asks for.
func tupleParts(m *match.Conntrack) []tuplePart {
	var out []tuplePart
	for _, p := range [...]tuplePart{
		{dst, m.OrigDst, m.OrigDstPort, false}, {src, m.OrigSrc, m.OrigSrcPort, false},
		{src, m.ReplDst, m.ReplDstPort, true}, {dst, m.ReplSrc, m.ReplSrcPort, true},
	} {
		if p.addr != nil {
			out = append(out, tuplePart{p.field, p.addr, nil, p.answer})
		}
		if p.port != nil {
			out = append(out, tuplePart{p.field.port(), nil, p.port, p.answer})
		}
	}
	return out
}

// port is the field of the ports that belong to an address.
func (f field) port() field {
	if f == src {
		return srcPort
	}
	return dstPort
}

// across is the field that has the same part of a packet the other way.
func (f field) across() field {
	return [...]field{dst: src, src: dst, dstPort: srcPort, srcPort: dstPort, proto: proto}[f]
}

// tuples cuts where a part of a tuple is asked for: of the packet as it came, or the other way.
func (q *iptReading) tuples(m *match.Conntrack) {
	now := q.moved
	q.moved = [fields]bool{}
	for _, p := range tupleParts(m) {
		f := p.field
		if q.class.way == backward {
			f = f.across()
		}
		switch {
		case p.answer && q.class.name == New:
			q.cannot("is expected in answer") // NAT may make it another one
		case p.addr != nil:
			q.cutBy(f, p.addr)
		default:
			_ = q.oneProto()
			_ = q.test(f, []span{{number(uint64(p.port.Min)), number(uint64(p.port.Max))}}, false)
		}
	}
	q.moved = now
	if m.Proto != nil && m.Proto.Number != 0 && m.Proto.Number < 256 {
		_ = q.test(proto, []span{one(number(uint64(m.Proto.Number)))}, false)
	}
}

// cutBy cuts where an address is asked for, whatever comes of it: a packet may have no connection.
func (q *iptReading) cutBy(f field, m *xtables.AddrMatch) {
	failed := q.failed
	q.addr(f, m)
	q.failed = failed
}
