package probe

import (
	"context"
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Command is a program for the relay's machine.
type Command struct {
	// Argv is the program and its arguments. It is looked for in PATH.
	Argv  []string `json:"argv"`
	Stdin string   `json:"stdin,omitzero"`
	// Environment is added to the relay's, as NAME=VALUE.
	Environment []string `json:"environment,omitzero"`
}

// Exited is what a program left that has ended.
type Exited struct {
	// Status is its exit status, or that of a shell where a signal ended it: 128 and the signal's number.
	Status int `json:"status"`
	// Stdout and Stderr are the first 32 MiB of each. Text: bytes that are no UTF-8 are replaced.
	Stdout string `json:"stdout,omitzero"`
	Stderr string `json:"stderr,omitzero"`
}

// Snapshot is the NodeSnapshot of the relay's machine, taken now.
func (c *Client) Snapshot(ctx context.Context) (*snapshot.NodeSnapshot, error) {
	return ask[*snapshot.NodeSnapshot](ctx, c, "", opSnapshot, nil)
}

// Exec runs a program on the relay's machine until it ends. An exit status is no error. Where the deadline comes first it is killed.
func (c *Client) Exec(ctx context.Context, command Command) (Exited, error) {
	return ask[Exited](ctx, c, "", opExec, command)
}

// Fetched is what came of an HTTP request.
type Fetched struct {
	// Refused says that nobody listens there.
	Refused bool `json:"refused,omitzero"`
	// Status is that of HTTP.
	Status int `json:"status,omitzero"`
	// Body is the first 32 MiB of the answer. Text: bytes that are no UTF-8 are replaced.
	Body string `json:"body,omitzero"`
}

// Fetch asks an http URL from the relay's machine. Neither a status nor that nobody listens is an error.
func (c *Client) Fetch(ctx context.Context, url string) (Fetched, error) {
	return ask[Fetched](ctx, c, "", opFetch, fetchBody{url})
}

// Forget has the kernel of the relay's machine forget all connections that one of the addresses has or had a part in, in either direction.
func (c *Client) Forget(ctx context.Context, addresses []netip.Addr) error {
	return c.tell(ctx, "", opForget, forgetBody{addresses})
}

// agents are the names of the agents that the relay can reach now.
func (c *Client) agents(ctx context.Context) ([]string, error) {
	return ask[[]string](ctx, c, "", opAgents, nil)
}
