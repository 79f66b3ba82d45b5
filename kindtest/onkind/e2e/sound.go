package main

import (
	"context"
	"strings"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// soundBackend is the simulator with this project's proxier. With each packet it keeps the rules that are there, so that a rule that is
// not there is told from one that the packet does not meet.
type soundBackend struct{ sim.Backend }

// Start starts a cluster.
func (b soundBackend) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	s, err := b.Backend.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return &soundSession{Session: s, cluster: c}, nil
}

type soundSession struct {
	scenarios.Session
	cluster *scenarios.Cluster
}

// Connect makes a connection.
func (s *soundSession) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	return s.withRules(ctx)(s.Session.Connect(ctx, a))
}

// Follow sends a later packet of a kept connection.
func (s *soundSession) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	return s.withRules(ctx)(s.Session.Follow(ctx, p))
}

// Send gives a packet to one node.
func (s *soundSession) Send(ctx context.Context, node string, in inet.Input) (*scenarios.Observed, error) {
	return s.withRules(ctx)(s.Session.Send(ctx, node, in))
}

// withRules puts the rules of all nodes beside what was seen.
func (s *soundSession) withRules(ctx context.Context) func(*scenarios.Observed, error) (*scenarios.Observed, error) {
	return func(seen *scenarios.Observed, err error) (*scenarios.Observed, error) {
		if err != nil {
			return nil, err
		}
		rules := map[string][]string{}
		for i := range s.cluster.Nodes {
			name := s.cluster.Nodes[i].Name
			if rules[name], err = s.rulesOn(ctx, name); err != nil {
				return nil, err
			}
		}
		seen.Rules = func(node string) []string { return rules[node] }
		return seen, nil
	}
}

func (s *soundSession) rulesOn(ctx context.Context, node string) ([]string, error) {
	var out []string
	for _, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
		if s.cluster.IPFamily != family && s.cluster.IPFamily != scenarios.FamilyDual {
			continue
		}
		save, err := s.Save(ctx, node, family)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(save) {
			if at := strings.Index(line, "-A "); at >= 0 {
				out = append(out, strings.TrimSpace(line[at:]))
			}
		}
	}
	return out, nil
}
