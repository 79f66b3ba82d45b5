package network

import (
	"net/netip"
	"slices"
)

// Reached is what became of a Connect in one of the ways that chance can fall, without the story of it.
type Reached struct {
	Probability float64
	// End is how the first packet's way ended, and At the host where.
	End End
	At  string
	// Socket is the client's own address and port; unset if the client has no address to send from.
	Socket netip.AddrPort
	// Asked and Client are the destination and the source of the first packet where it ended.
	Asked, Client netip.AddrPort
	// Listens says that a socket of the host At takes the packet; a host that nobody listens on refuses it.
	Listens bool
	// Made: the client got its reply from the address that it called; for TCP its ACK reached the server as well.
	Made bool
	// Refused: the client's socket was told that there is nobody.
	Refused bool
	// RejectWith is what the host At answered instead, as Outcome.RejectWith.
	RejectWith string
	// Reason says why the host At dropped or rejected the packet without a rule, as Outcome.Why: empty if a rule or a policy did.
	Reason string
	// SourceTranslated says that a rule with MASQUERADE or SNAT met the first packet on its way.
	SourceTranslated bool
}

// Reach is Connect without text: it says what came of a connection, once for every way that chance can fall, and appends that to into.
// The network is unchanged afterwards.
func (n *Network) Reach(c Connect, into []Reached) ([]Reached, error) {
	return n.reach(c, into, func(*Reached, []bool) {})
}

// Course is how chance fell on one way of a Connect. EstablishAlong goes that way again.
type Course struct {
	probability float64
	draws       []bool
}

// Clone is a course that stays.
func (c Course) Clone() Course { return Course{c.probability, slices.Clone(c.draws)} }

// Courses is Reach that gives took each way with its course, which only a Clone keeps.
func (n *Network) Courses(c Connect, into []Reached, took func(way *Reached, course Course)) ([]Reached, error) {
	return n.reach(c, into, func(way *Reached, draws []bool) { took(way, Course{way.Probability, draws}) })
}

// reach is Reach, and tells of each way how chance fell.
func (n *Network) reach(c Connect, into []Reached, fell func(way *Reached, draws []bool)) ([]Reached, error) {
	if err := n.checkConnect(&c); err != nil {
		return into, err
	}
	var last Connection
	err := n.quiet(c.Via).branches(func(p *carrier) error {
		last = Connection{Forward: Journey{Answers: last.Forward.Answers[:0]}}
		return p.connect(&last, &c)
	}, func(probability float64, draws []bool) {
		last.Probability = probability
		into = append(into, last.reached(&c))
		fell(&into[len(into)-1], draws)
	})
	return into, err
}

// quiet is the carrier for what nobody is told of.
func (n *Network) quiet(via netip.Addr) *carrier {
	c := &n.probe
	c.network, c.pools, c.via = n, true, via
	return c
}

// Reached is what Reach says of the ways that Connect has told.
func (c *Connect) Reached(told []Connection) []Reached {
	out := make([]Reached, len(told))
	for i := range told {
		out[i] = told[i].reached(c)
	}
	return out
}

// reached leaves the story away.
func (c *Connection) reached(want *Connect) Reached {
	first := &c.Forward
	if first.End == "" {
		return Reached{Probability: c.Probability, End: EndLost, At: want.From, Asked: want.To, Reason: c.Why}
	}
	r := first.reached()
	r.Probability, r.Socket, r.Made, r.Refused = c.Probability, c.Socket, c.Made, c.Refused
	r.Listens = first.End == EndDelivered && !c.refuses
	return r
}

// reached is how the journey ended.
func (j *Journey) reached() Reached {
	p := &j.Packet
	return Reached{
		Probability: j.Probability, End: j.End, At: j.At,
		Asked: netip.AddrPortFrom(p.Dst, p.DstPort), Client: netip.AddrPortFrom(p.Src, p.SrcPort),
		RejectWith: j.rejectWith, Reason: j.reason, SourceTranslated: j.sourceTranslated,
	}
}
