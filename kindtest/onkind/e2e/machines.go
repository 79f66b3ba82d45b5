package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// machines are the relays of the nodes and of the container outside, by name.
type machines map[string]*probe.Client

// relays opens one to each machine.
func relays(ctx context.Context, c *cluster.Cluster) (machines, error) {
	names := []string{c.Outside().Name}
	for _, node := range c.Nodes() {
		names = append(names, node.Name)
	}
	m := machines{}
	for _, name := range names {
		stream, err := c.Relay(ctx, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("relay of %s: %w", name, err), m.close())
		}
		m[name] = probe.NewClient(stream)
	}
	return m, nil
}

// machine is the relay of one.
func (m machines) machine(name string) *probe.Client { return m[name] }

// Snapshot takes a snapshot of a node.
func (m machines) Snapshot(ctx context.Context, node string) (*snapshot.NodeSnapshot, error) {
	return m[node].Snapshot(ctx)
}

func (m machines) close() error {
	var errs []error
	for _, client := range m {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
