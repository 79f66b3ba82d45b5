package sim

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Reach makes a connection along every way that it can take, and leaves the world as it was.
func (w *World) Reach(a oracle.Attempt) ([]oracle.Way, error) {
	var err error
	if w.reached, err = w.network.Reach(ConnectOf(w.plan, a), w.reached[:0]); err != nil {
		return nil, err
	}
	return WaysOf(w.reached), nil
}

// Checkpoint opens one on every host; what it returns takes back what was kept since: connections and what rules remember of clients.
func (w *World) Checkpoint() (undo func()) { return w.network.Checkpoint() }

// ConnectOf is an attempt in the words of a network that was laid out by a plan.
func ConnectOf(p *plan.Plan, a oracle.Attempt) network.Connect {
	v6 := a.To.Addr().Is6()
	return network.Connect{
		From: a.From, Proto: protoOf(a, v6), To: a.To, Source: a.Source.Addr(), SourcePort: a.Source.Port(), Via: p.Gateway(a.Via, v6),
	}
}

func protoOf(a oracle.Attempt, v6 bool) inet.Proto {
	switch a.Protocol {
	case "TCP":
		return inet.TCP
	case "UDP":
		return inet.UDP
	case "SCTP":
		return inet.SCTP
	}
	return plan.Proto(strings.ToLower(string(a.Protocol)), v6)
}

// WaysOf is what a network said of a connection in the oracle's words.
func WaysOf(reached []network.Reached) []oracle.Way {
	return AppendWays(make([]oracle.Way, 0, len(reached)), reached)
}

// AppendWays appends WaysOf to a list.
func AppendWays(into []oracle.Way, reached []network.Reached) []oracle.Way {
	for i := range reached {
		way := wayOf(&reached[i])
		way.Heard = reached[i].Made || reached[i].Refused
		into = append(into, way)
	}
	return into
}

// wayOf is a way but for what the sender hears.
func wayOf(r *network.Reached) oracle.Way {
	way := oracle.Way{
		Probability: r.Probability, Host: r.At, Sender: r.Socket, Client: r.Client, Server: r.Asked, Masqueraded: r.SourceTranslated,
	}
	switch {
	case r.End == network.EndDelivered && r.Listens:
		way.End = oracle.Delivered
	case r.End == network.EndDelivered:
		way.End = oracle.Refused
	case r.End == network.EndRejected && r.Reason == "":
		way.End, way.With = oracle.Rejected, r.RejectWith
	case r.End == network.EndDropped && r.Reason == "":
		way.End = oracle.Dropped
	default:
		way.End = oracle.Lost
	}
	return way
}

// Flow is a connection that stays in the world, for the packets after the first.
type Flow struct {
	world   *World
	flow    *network.Flow
	attempt oracle.Attempt
	way     oracle.Way
}

// Keep makes a connection and keeps what it does to the hosts: the way to the endpoint to pick, or else to the lowest that
// the client hears, or else the first. That no way leads to the one to pick is an error.
func (w *World) Keep(a oracle.Attempt, pick netip.AddrPort) (*Flow, error) {
	f := &Flow{world: w, attempt: a}
	var err error
	f.flow, err = w.network.EstablishQuietly(ConnectOf(w.plan, a), func(all []network.Reached) int {
		kept := chooseReached(all, pick)
		if kept >= 0 {
			f.way = WaysOf(all[kept : kept+1])[0]
		}
		return kept
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Way is the way that the first packet took.
func (f *Flow) Way() oracle.Way { return f.way }

// Send sends a later packet of the flow along every way that it can take; one of them stays, to the server to pick, or
// else the likeliest. A way is Heard if the other end's socket takes the packet for one of the connection; Refused is also that a
// client's socket is none that listens, of a server's packet. That an end of the flow is no more is an error.
func (f *Flow) Send(from scenarios.Side, kind scenarios.PacketKind, pick netip.AddrPort) ([]oracle.Way, error) {
	direction := network.FromClient
	if from == scenarios.SideServer {
		direction = network.FromServer
	}
	later := flowPacketOf(kind)
	if pick.IsValid() {
		later.Pick = func(all []network.Reached) int { return chooseReached(all, pick) }
	}
	f.flow.Steer(ConnectOf(f.world.plan, f.attempt).Via)
	reached, err := f.flow.Reach(direction, later)
	if err != nil {
		return nil, fmt.Errorf("flow from %s to %s: %w", f.attempt.From, f.attempt.To, err)
	}
	return LaterWaysOf(reached, from), nil
}

// LaterWaysOf is what a network said of a later packet of a flow, in the oracle's words.
func LaterWaysOf(reached []network.Reached, from scenarios.Side) []oracle.Way {
	out := make([]oracle.Way, len(reached))
	for i := range reached {
		out[i] = wayOf(&reached[i])
		out[i].Heard = reached[i].Made
		if from == scenarios.SideServer && out[i].End == oracle.Refused {
			out[i].End = oracle.Delivered // a client's socket is none that listens
		}
	}
	return out
}
