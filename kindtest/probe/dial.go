package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Listener is where an agent answers.
type Listener struct {
	// Proto is TCP, UDP or SCTP. With ICMP or ICMPv6 the agent records the echo requests that the kernel answers.
	Proto inet.Proto `json:"proto"`
	// Addr is the address that it is bound to, or the unspecified one of either family for all of that family.
	Addr netip.Addr `json:"addr"`
	// Port is 0 for ICMP, and only there.
	Port uint16 `json:"port,omitzero"`
}

// Dial is what to call, how often and from where.
type Dial struct {
	Proto inet.Proto `json:"proto"`
	// From is the client's own address and port. What is not set the kernel chooses. The port is the identifier of an echo request.
	From netip.AddrPort `json:"from,omitzero"`
	// To is what is called. The port is 0 for ICMP, and only there.
	To netip.AddrPort `json:"to"`
	// Times is how many connections are made, 1 if it is 0. Those from one port are made one after the other, others at once.
	Times int `json:"times,omitzero"`
	// Timeout is how long each waits for an answer, 5 s if it is 0.
	Timeout time.Duration `json:"timeout,omitzero"`
	// First says that only the first packet of a TCP connection counts. The kernel sends it again after a second; a connection that came of
	// that ends as Silent.
	First bool `json:"first,omitzero"`
	// Keep is the name to keep the connection under, at this agent and at the server's, for Speak. Only one connection has it: Times
	// is 1. A connection that is not kept is ended by a reset once it is answered. UDP, SCTP and ICMP are kept even if nobody answered.
	Keep string `json:"keep,omitzero"`
}

// End is how a connection, or a later packet of one, ended.
type End string

// The ends.
const (
	// Answered: the other end's agent has answered, for ICMP its kernel. Without a Server it was somebody else's program; Why says what.
	Answered End = "answered"
	// Refused: a TCP reset, an SCTP ABORT or an ICMP error came; With says which.
	Refused End = "refused"
	// Silent: nothing came in time.
	Silent End = "silent"
	// Failed: the client's own kernel sent nothing, as there is no route or the port is taken; Why says it.
	Failed End = "failed"
	// Sent: it was sent and has no answer to wait for (a reset, a packet out of the window, data
	// for an end that has sent its FIN).
	Sent End = "sent"
)

// Result is what came of one connection, or of a later packet of one.
type Result struct {
	End End `json:"end"`
	// Token is what the question says, by which Arrivals know it again. Without one nothing was asked.
	Token string `json:"token,omitzero"`
	// From is the client's own address as its socket knows it.
	From netip.AddrPort `json:"from,omitzero"`
	// Server is the name of the agent that answered; of ICMP it is not known from the answer.
	Server string `json:"server,omitzero"`
	// At is the server's own address that the question came to, and Client where it came from, both as the server's socket saw them. For
	// ICMP only At is known, which is where the answer came from.
	At     netip.AddrPort `json:"at,omitzero"`
	Client netip.AddrPort `json:"client,omitzero"`
	// With is what refused it: tcp-reset, sctp-abort, or the ICMP error as packetsim.ErrorName has it.
	With string `json:"with,omitzero"`
	// Offender is who sent the ICMP error.
	Offender netip.Addr `json:"offender,omitzero"`
	// Why is what the kernel said, where End leaves that open.
	Why string `json:"why,omitzero"`
	// Took is how long it took.
	Took time.Duration `json:"took"`
}

// Serve makes an agent listen exactly here from now on. Those that stay are not closed. If one of them cannot be opened nothing changes.
func (c *Client) Serve(ctx context.Context, agent string, listeners []Listener) error {
	return c.tell(ctx, agent, opServe, serveBody{listeners})
}

// Dial has an agent make connections, and has a result for each. That nobody answers is no error.
func (c *Client) Dial(ctx context.Context, agent string, d Dial) ([]Result, error) {
	return ask[[]Result](ctx, c, agent, opDial, d)
}

// Reset closes all that an agent has open: listeners, kept connections, captures, loads; and forgets Arrivals. Addresses stay.
func (c *Client) Reset(ctx context.Context, agent string) error {
	return c.tell(ctx, agent, opReset, nil)
}
