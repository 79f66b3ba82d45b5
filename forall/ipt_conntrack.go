package forall

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// conntrack is -m conntrack. Of a packet without a connection only its state is asked.
func (q *cond) conntrack(m *match.Conntrack, c *chain, number int) {
	if m.States != 0 {
		q.ctStates(m)
	}
	switch {
	case q.st.rel == templated:
		if asksTuples(m) || m.Status != nil || m.Expire != nil || m.Direction != match.CTDirAny {
			q.fails(ofTemplate)
		}
		return
	case !q.st.rel.tracked():
		q.holds(m.States != 0)
		return
	case q.st.rel == related && (asksTuples(m) || m.Status != nil || m.Expire != nil || m.Direction != match.CTDirAny):
		q.named(c.matchText(m) + " in " + place(c, number))
		return
	}
	if m.Direction != match.CTDirAny {
		q.holds((m.Direction == match.CTDirReply) == q.st.reply)
	}
	if asksTuples(m) {
		q.tuples(m, c, number)
	}
	if m.Status != nil {
		q.ctStatus(m, c, number)
	}
	if m.Expire != nil {
		q.named(c.matchText(&match.Conntrack{Expire: m.Expire}))
	}
}

// ofTemplate is what is asked of a packet that -j CT has met and conntrack has not.
const ofTemplate = "the connection of a packet that CT has met, before conntrack looks at it"

func asksTuples(m *match.Conntrack) bool {
	return m.Proto != nil || m.OrigSrc != nil || m.OrigDst != nil || m.ReplSrc != nil || m.ReplDst != nil || m.OrigSrcPort != nil ||
		m.OrigDstPort != nil || m.ReplSrcPort != nil || m.ReplDstPort != nil
}

// ctStates asks for the relation, and for how the connection is translated.
func (q *cond) ctStates(m *match.Conntrack) {
	b := q.b
	if q.st.rel.bit()&m.States != 0 {
		q.holds(!m.InvStates)
		return
	}
	any := b.s.One(no)
	if m.States&match.CTSNAT != 0 {
		any = b.then(b.changes(q.st, conntrack.Source), b.s.One(yes), any)
	}
	if m.States&match.CTDNAT != 0 {
		any = b.then(b.changes(q.st, conntrack.Destination), b.s.One(yes), any)
	}
	q.also(any, m.InvStates)
}

// changes says whether a translation of the connection makes a side another one. SNAT to what the source is already does not.
func (b *builder) changes(st *state, side conntrack.Side) diagram.ID {
	s := b.s
	switch {
	case !st.rel.tracked():
		return s.One(no)
	case b.ends == asReplies:
		return b.entryChanges(st, side)
	case st.rel != fresh:
		return b.unmodelled("whether the connection is translated")
	case side == conntrack.Source && st.anyPort:
		return b.unmodelled("whether the kernel chose another source port")
	case side == conntrack.Source && st.src == 0, side == conntrack.Destination && st.moved == unmoved:
		return s.One(no)
	case side == conntrack.Destination && st.moved == mayBeOne:
		return b.unmodelled("whether the translation of the destination makes it another one")
	}
	return s.One(yes) // a source that is the same is not translated
}

// tuples asks for the addresses and ports of the connection: of its first packet as it came, and of what is expected in answer.
func (q *cond) tuples(m *match.Conntrack, c *chain, number int) {
	if q.st.reply {
		q.named(c.matchText(m) + " in " + place(c, number))
		return
	}
	b := q.b
	if m.Proto != nil && m.Proto.Number != 0 {
		q.need(vProto, diagram.SetOf(diagram.Point(diagram.Number(uint64(m.Proto.Number)))), m.Proto.Invert)
	}
	came := *q.st // the packet as it came
	came.src, came.port, came.anyPort = 0, asIs, false
	if came.orig != 0 {
		came.view = came.orig
	}
	first := b.newCond(&came)
	first.addr(m.OrigSrc, (*cond).src, "--ctorigsrc with an odd mask")
	first.addr(m.OrigDst, (*cond).dst, "--ctorigdst with an odd mask")
	first.tuplePort(m.OrigSrcPort, (*cond).srcPort)
	first.tuplePort(m.OrigDstPort, (*cond).dstPort)
	q.more = append(q.more, first.id())
	q.addr(m.ReplSrc, (*cond).dst, "--ctreplsrc with an odd mask")
	q.addr(m.ReplDst, (*cond).src, "--ctrepldst with an odd mask")
	q.tuplePort(m.ReplSrcPort, (*cond).dstPort)
	q.tuplePort(m.ReplDstPort, (*cond).srcPort)
}

// tuplePort asks for a port of a tuple, which is 0 for protocols without ports.
func (q *cond) tuplePort(m *match.PortRangeInv, ask func(*cond, diagram.Set, bool)) {
	if m == nil {
		return
	}
	b := q.b
	with := b.newCond(q.st)
	with.need(vProto, portedProtos, false)
	has := with.id()
	asked := b.newCond(q.st)
	ask(asked, ports(xtables.PortRange{Min: m.Min, Max: m.Max}), m.Invert)
	without := b.s.One(no)
	if (m.Min == 0) != m.Invert {
		without = b.s.One(yes)
	}
	q.more = append(q.more, b.then(has, asked.id(), without))
}

// ctStatus asks for the status of a new connection, which nobody has answered.
func (q *cond) ctStatus(m *match.Conntrack, c *chain, number int) {
	if q.st.rel != fresh || q.st.origin == fromLo {
		q.named(c.matchText(&match.Conntrack{Status: m.Status}) + " in " + place(c, number))
		return
	}
	// NONE asks for no bit, and a new connection has none of those that can be asked for.
	q.holds(m.Status.Invert)
}
