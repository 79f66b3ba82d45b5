package beside

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// Machines are the relays of the nodes and of the container outside, by name.
type Machines map[string]*probe.Client

var _ Snapshots = Machines{}

// MachinesOf opens a relay to each machine of a cluster.
func MachinesOf(ctx context.Context, c *cluster.Cluster) (Machines, error) {
	m, names := Machines{}, []string{c.Outside().Name}
	for _, node := range c.Nodes() {
		names = append(names, node.Name)
	}
	for _, name := range names {
		stream, err := c.Relay(ctx, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("relay of %s: %w", name, err), m.Close())
		}
		m[name] = probe.NewClient(stream)
	}
	return m, nil
}

// Machine is the relay of one.
func (m Machines) Machine(name string) *probe.Client { return m[name] }

// Snapshot takes a snapshot of a node.
func (m Machines) Snapshot(ctx context.Context, node string) (*snapshot.NodeSnapshot, error) {
	return m[node].Snapshot(ctx)
}

// Close closes the relays.
func (m Machines) Close() error {
	var errs []error
	for _, client := range m {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
