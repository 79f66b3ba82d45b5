package kind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// flow is a connection that was kept.
type flow struct {
	attempt        scenarios.Attempt
	client, server agent
	// from and to are the client's own address and what it called, at and saw the same at the server, as the cluster has them.
	from, to, at, saw netip.AddrPort
}

// maxTries is how often chance is asked for a way that was seen: one with a chance of 1 in 100 fails to come so often in 1 of 20,000 runs.
const maxTries = 1000

// keep makes a connection and keeps it: the way of it that was asked for, where there are several.
func (s *Session) keep(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	before, err := s.remembered(ctx, &a)
	if err != nil {
		return nil, err
	}
	seen, err := s.observe(ctx, a)
	if err != nil {
		return nil, err
	}
	if seen.Kept, err = choose(seen.Ways, a.Pick); err != nil {
		return nil, err
	}
	wanted := &seen.Ways[seen.Kept]
	for range maxTries {
		r, err := s.keepOnce(ctx, &a, wanted)
		if err != nil {
			return nil, err
		}
		if r != nil {
			if before != nil {
				err = s.memory.note(ctx, s.deciding(&a), before)
			}
			return seen, err
		}
		if before != nil {
			if err := s.memory.forget(ctx, s.deciding(&a), before); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("keep %s: the way to %s did not come again in %d tries", a.Keep, wanted.Server, maxTries)
}

// remembered are the entries of the nodes' lists, where the connection may make some; nil otherwise.
func (s *Session) remembered(ctx context.Context, a *scenarios.Attempt) (map[remembered]moment, error) {
	if !s.knows.sticky(a.To.AddrPort) {
		return nil, nil
	}
	return s.memory.entries(ctx, s.deciding(a))
}

// keepOnce makes a connection and keeps it if it takes the way; nil if it does not.
func (s *Session) keepOnce(ctx context.Context, a *scenarios.Attempt, wanted *scenarios.Way) (*probe.Result, error) {
	from, d, err := s.dialOf(a)
	if err != nil {
		return nil, err
	}
	f := &flow{attempt: *a, client: agent{from.Machine, from.Agent}, from: d.From, to: d.To}
	results, err := s.relay(from.Machine).Dial(ctx, from.Agent, d)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("the agent has said nothing of its connection")
	}
	r := &results[0]
	f.from, f.at, f.saw = r.From, r.At, r.Client
	if r.End == probe.Failed && wanted.End != scenarios.Lost {
		return nil, fmt.Errorf("keep %s: %s", a.Keep, r.Why)
	}
	w, _ := s.wayOf(a, r)
	heard := wanted.End == scenarios.Delivered && wanted.Heard
	if (r.End == probe.Answered) != heard || heard && w.Server != wanted.Server {
		return nil, s.dropFlow(ctx, f, w.Host)
	}
	if host, ok := s.mapping.Host(w.Host); ok && heard {
		f.server = agent{host.Machine, host.Agent}
		wanted.Client = w.Client
	}
	s.flows[a.Keep] = f
	return r, nil
}

// dropFlow ends a connection that was not to be kept, and has the nodes forget it.
func (s *Session) dropFlow(ctx context.Context, f *flow, server string) error {
	errs := []error{s.relay(f.client.machine).Drop(ctx, f.client.name, f.attempt.Keep, scenarios.SideClient)}
	if host, ok := s.mapping.Host(server); ok {
		errs = append(errs, s.relay(host.Machine).Drop(ctx, host.Agent, f.attempt.Keep, scenarios.SideServer))
	}
	errs = append(errs, s.forgetConnection(ctx, f))
	return errors.Join(errs...)
}
