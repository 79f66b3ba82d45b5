package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Load is traffic that goes on until it is stopped.
type Load struct {
	Name  string     `json:"name"`
	Kind  LoadKind   `json:"kind"`
	Proto inet.Proto `json:"proto"`
	// From and To are as in Dial. Connections from one port are made one after the other.
	From netip.AddrPort `json:"from,omitzero"`
	To   netip.AddrPort `json:"to"`
	// Every is the time from one question to the next: a new connection each, or for lasting ones one on each of them. What is not answered
	// by then does not delay the next.
	Every time.Duration `json:"every"`
	// Connections is how many lasting ones there are, 1 if it is 0.
	Connections int `json:"connections,omitzero"`
	// Timeout is as in Dial.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// LoadKind is the kind of a Load.
type LoadKind string

// The kinds of loads.
const (
	// Short asks on a new connection, or from a new UDP socket, each time.
	Short LoadKind = "short"
	// Lasting asks on the same connections, or from the same UDP sockets, again and again. A TCP connection that ends is not made again.
	Lasting LoadKind = "lasting"
)

// Asked is one question of a Load and what came of it.
type Asked struct {
	// Conn is which of the lasting connections, from 0.
	Conn int `json:"conn,omitzero"`
	// Seq counts the questions of a load, or of each of its lasting connections, from 1.
	Seq int `json:"seq"`
	// When it was sent, by the agent's clock.
	When time.Time `json:"when"`
	Result
}

// StartLoad has an agent begin a load. It remembers the last 100,000 questions.
func (c *Client) StartLoad(ctx context.Context, agent string, l Load) error {
	return c.tell(ctx, agent, opLoad, l)
}

// Asked is what has come so far of a load's questions, in the order in which they ended, without the first after ones.
func (c *Client) Asked(ctx context.Context, agent, name string, after int) ([]Asked, error) {
	return ask[[]Asked](ctx, c, agent, opAsked, askedBody{name, after})
}

// StopLoad ends a load once the questions that are under way have an end, and says what came of all.
func (c *Client) StopLoad(ctx context.Context, agent, name string) ([]Asked, error) {
	return ask[[]Asked](ctx, c, agent, opStopLoad, nameBody{name})
}
