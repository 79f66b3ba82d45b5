package network

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
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
	// Reason says why the host At dropped or rejected the packet without a rule, as Outcome.Reason: empty if a rule or a policy did.
	Reason string
	// SourceTranslated says that a rule with MASQUERADE or SNAT met the first packet on its way.
	SourceTranslated bool
}

// Reach is Connect without text: it says what came of a connection, once for every way that chance can fall, and appends that to into.
// The network is unchanged afterwards.
func (n *Network) Reach(c Connect, into []Reached) ([]Reached, error) {
	connections, err := n.Connect(c)
	for i := range connections {
		into = append(into, n.reached(&c, &connections[i]))
	}
	return into, err
}

func (n *Network) reached(c *Connect, conn *Connection) Reached {
	r := Reached{
		Probability: conn.Probability, End: conn.Forward.End, At: conn.Forward.At, Socket: conn.Socket, Made: conn.Made, Refused: conn.Refused,
	}
	if len(conn.Forward.Hops) == 0 {
		r.End, r.At, r.Asked, r.Reason = EndLost, c.From, c.To, conn.Why
		return r
	}
	p := &conn.Forward.Packet
	r.Asked, r.Client = netip.AddrPortFrom(p.Dst, p.DstPort), netip.AddrPortFrom(p.Src, p.SrcPort)
	r.Listens = r.End == EndDelivered && n.hosts[r.At].Listeners.Accept(p.Proto, r.Asked)
	var steps [][]packetsim.Step
	for i := range conn.Forward.Hops {
		steps = append(steps, conn.Forward.Hops[i].Outcome.Steps)
	}
	r.SourceTranslated = packetsim.DecisionOf(steps...).SourceTranslated
	last := &conn.Forward.Hops[len(conn.Forward.Hops)-1].Outcome
	r.RejectWith, r.Reason = last.RejectWith, last.Reason
	return r
}
