package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Speech is a later packet of a kept connection.
type Speech struct {
	// Conn is the name of Dial.Keep.
	Conn string `json:"conn"`
	// Side is which end of it the agent speaks for: it may have both.
	Side scenarios.Side `json:"side"`
	// Kind is data, fin, rst or outOfWindow; only data if the connection is not TCP. Data is a question, which the other end answers.
	Kind scenarios.PacketKind `json:"kind"`
	// Timeout is how long to wait for the answer, and for a FIN until the other end's kernel has acknowledged it; 5 s if it is 0.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// Arrival is something that came to an agent's sockets.
type Arrival struct {
	// Seq counts what came to the agent, from 1.
	Seq   uint64     `json:"seq"`
	Proto inet.Proto `json:"proto"`
	// Kind is data for a question, the first one among them; fin, rst.
	Kind scenarios.PacketKind `json:"kind"`
	// Token is that of the Result that asked; a FIN and a reset have none.
	Token string `json:"token,omitzero"`
	// Conn and Side are the kept connection and this agent's end of it. A question that is not kept, or not yet known to be, has none.
	Conn string         `json:"conn,omitzero"`
	Side scenarios.Side `json:"side,omitzero"`
	// At is the agent's own address and Client the other end's, as the socket saw them.
	At     netip.AddrPort `json:"at"`
	Client netip.AddrPort `json:"client"`
	// When is the agent's clock.
	When time.Time `json:"when"`
}

// Arrived is what of the record of arrivals to say. What is not set is not looked at.
type Arrived struct {
	Token string               `json:"token,omitzero"`
	Conn  string               `json:"conn,omitzero"`
	Side  scenarios.Side       `json:"side,omitzero"`
	Kind  scenarios.PacketKind `json:"kind,omitzero"`
	// After is the Seq of the last one that is known already.
	After uint64 `json:"after,omitzero"`
	// Wait is how long to wait for the first one, if there is none yet.
	Wait time.Duration `json:"wait,omitzero"`
}

// Speak has an agent send a later packet of a kept connection. The client of UDP asks again from its socket, and any server may answer.
// After its FIN a TCP has nothing to say but an acknowledgement: data is one then, past the socket, as outOfWindow is. Of both the
// Result's End is Sent and its Token the packet's print, for Captured.
func (c *Client) Speak(ctx context.Context, agent string, s Speech) (Result, error) {
	return ask[Result](ctx, c, agent, opSpeak, s)
}

// Drop ends a kept connection at one end without a packet. One that is not there is no error.
func (c *Client) Drop(ctx context.Context, agent, conn string, side scenarios.Side) error {
	return c.tell(ctx, agent, opDrop, dropBody{conn, side})
}

// Arrivals is what came to an agent. It remembers the last 10,000.
func (c *Client) Arrivals(ctx context.Context, agent string, a Arrived) ([]Arrival, error) {
	return ask[[]Arrival](ctx, c, agent, opArrivals, a)
}
