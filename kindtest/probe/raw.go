package probe

import (
	"context"
	"net"
	"time"
)

// Injection is one raw packet.
type Injection struct {
	// Packet is as inet.ParseInput reads it. With "local" the agent's host sends it itself, with the mark that it gives. Otherwise it
	// goes out of the device that "in" names, which is one of the agent's own, to the neighbour To, as if the host behind that device had
	// sent it: what for the node comes in from a pod goes out of the pod's device.
	Packet string `json:"packet"`
	// To is the hardware address that it is sent to. If it is not given it is that of the device's default gateway, as for a pod.
	To net.HardwareAddr `json:"to,omitzero"`
	// Number tells it from others with the same headers.
	Number uint32 `json:"number"`
}

// Point is where a packet was seen.
type Point string

// The points.
const (
	// In is a device that it came in by, before any rule.
	In Point = "in"
	// Out is a device that it left by, behind all rules.
	Out Point = "out"
	// Local is a socket: it was delivered to the host itself, behind all rules. SCTP is not seen there, as a socket that looks would keep
	// the kernel from refusing it.
	Local Point = "local"
)

// Sighting is a packet as an agent's host saw it.
type Sighting struct {
	Point  Point  `json:"point"`
	Device string `json:"device,omitzero"`
	// Packet is as inet.ParseInput reads it, without the way that it came. Of an ICMP error it is the error itself, and Quoted the
	// packet that it is about.
	Packet string `json:"packet"`
	Quoted string `json:"quoted,omitzero"`
	// With is what refuses, in an answer: tcp-reset, or the ICMP error as packetsim.ErrorName has it.
	With string `json:"with,omitzero"`
	// Print is the same for a packet on its whole way, whatever is translated, and another for every other packet.
	Print string `json:"print"`
	// Answer says that it refuses the packet of Captured.Refusing.
	Answer bool `json:"answer,omitzero"`
	// Behind says of such an answer that it came in by a device: another host refuses, and not this one.
	Behind bool `json:"behind,omitzero"`
	// When is when the kernel had it. What was delivered has the time at which it came in.
	When time.Time `json:"when"`
}

// Captured is what of a capture to say.
type Captured struct {
	Name string `json:"name"`
	// Print is the packet's. Without Print, Like and Refusing all packets are said.
	Print string `json:"print,omitzero"`
	// Like is a packet as inet.ParseInput reads it: of those without a Print only packets of its protocol, ports and destination are said,
	// and of its source if that is not unspecified. An echo request has no ports.
	Like string `json:"like,omitzero"`
	// Refusing is a packet as inet.ParseInput reads it: what resets it or quotes it in an ICMP error is said as well.
	Refusing string `json:"refusing,omitzero"`
	// After is how many of them are known already.
	After int `json:"after,omitzero"`
	// Wait is how long to wait for one more, if there is none.
	Wait time.Duration `json:"wait,omitzero"`
}

// Inject sends a raw packet and says its print. Rules may stop it: that is no error.
func (c *Client) Inject(ctx context.Context, agent string, i Injection) (string, error) {
	return ask[string](ctx, c, agent, opInject, i)
}

// Capture makes an agent see all packets of its host from here on, under this name. It remembers the last 100,000.
func (c *Client) Capture(ctx context.Context, agent, name string) error {
	return c.tell(ctx, agent, opCapture, nameBody{name})
}

// Captured is what a capture has seen so far, in the order in which the agent was told of it; what says a packet's way is Sighting.When.
func (c *Client) Captured(ctx context.Context, agent string, s Captured) ([]Sighting, error) {
	return ask[[]Sighting](ctx, c, agent, opCaptured, s)
}

// Release ends a capture. One that is not there is no error.
func (c *Client) Release(ctx context.Context, agent, name string) error {
	return c.tell(ctx, agent, opRelease, nameBody{name})
}
