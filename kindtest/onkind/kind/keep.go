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
func (t *traffic) keep(ctx context.Context, w *watch, a scenarios.Attempt) (*scenarios.Observed, error) {
	before, err := t.remembered(ctx, &a)
	if err != nil {
		return nil, err
	}
	if before == nil && !t.chancy(a.To.AddrPort) {
		if seen, err := t.keepAtOnce(ctx, &a); seen != nil || err != nil {
			return seen, err
		}
	}
	seen, err := t.observe(ctx, w, a)
	if err != nil {
		return nil, err
	}
	if seen.Kept, err = choose(seen.Ways, a.Pick); err != nil {
		return nil, err
	}
	wanted := &seen.Ways[seen.Kept]
	for range maxTries {
		r, err := t.keepOnce(ctx, &a, wanted)
		if err != nil {
			return nil, err
		}
		if r != nil {
			if before != nil {
				err = t.memory.note(ctx, t.deciding(&a), before)
			}
			return seen, err
		}
		if before != nil {
			if err := t.memory.forget(ctx, t.deciding(&a), before); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("keep %s: the way to %s did not come again in %d tries", a.Keep, wanted.Server, maxTries)
}

// keepAtOnce makes a connection whose way does not depend on chance, and keeps it if it is answered; nil if it is not.
func (t *traffic) keepAtOnce(ctx context.Context, a *scenarios.Attempt) (*scenarios.Observed, error) {
	f, r, err := t.dialKept(ctx, a)
	if err != nil {
		return nil, err
	}
	w, _ := t.wayOf(a, r)
	if r.End != probe.Answered || a.Pick.IsValid() && w.Server != a.Pick {
		return nil, t.dropFlow(ctx, f, w.Host)
	}
	t.holdFlow(f, &w)
	return observed([]scenarios.Way{w}), nil
}

// dialKept makes a connection under the name that it is kept by.
func (t *traffic) dialKept(ctx context.Context, a *scenarios.Attempt) (*flow, *probe.Result, error) {
	from, d, err := t.dialOf(a)
	if err != nil {
		return nil, nil, err
	}
	results, err := t.relay(from.Machine).Dial(ctx, from.Agent, d)
	if err != nil {
		return nil, nil, err
	}
	if len(results) == 0 {
		return nil, nil, errors.New("the agent has said nothing of its connection")
	}
	r := &results[0]
	return &flow{attempt: *a, client: agent{from.Machine, from.Agent}, from: r.From, to: d.To, at: r.At, saw: r.Client}, r, nil
}

// holdFlow remembers a connection that is kept, and its server if it has one.
func (k *keptFlows) holdFlow(f *flow, w *scenarios.Way) {
	if host, ok := k.mapping.Host(w.Host); ok && w.End == scenarios.Delivered && w.Heard {
		f.server = agent{host.Machine, host.Agent}
	}
	k.flows[f.attempt.Keep] = f
}

// remembered are the entries of the nodes' lists, where the connection may make some; nil otherwise.
func (t *traffic) remembered(ctx context.Context, a *scenarios.Attempt) (map[remembered]moment, error) {
	if !t.knows.sticky(a.To.AddrPort) {
		return nil, nil
	}
	return t.memory.entries(ctx, t.deciding(a))
}

// keepOnce makes a connection and keeps it if it takes the way; nil if it does not.
func (t *traffic) keepOnce(ctx context.Context, a *scenarios.Attempt, wanted *scenarios.Way) (*probe.Result, error) {
	f, r, err := t.dialKept(ctx, a)
	if err != nil {
		return nil, err
	}
	if r.End == probe.Failed && wanted.End != scenarios.Lost {
		return nil, fmt.Errorf("keep %s: %s", a.Keep, r.Why)
	}
	w, _ := t.wayOf(a, r)
	heard := wanted.End == scenarios.Delivered && wanted.Heard
	if (r.End == probe.Answered) != heard || heard && w.Server != wanted.Server {
		return nil, t.dropFlow(ctx, f, w.Host)
	}
	if heard {
		wanted.Client = w.Client
	}
	t.holdFlow(f, &w)
	return r, nil
}

// dropFlow ends a connection that was not to be kept, and has the nodes forget it.
func (k *keptFlows) dropFlow(ctx context.Context, f *flow, server string) error {
	errs := []error{k.relay(f.client.machine).Drop(ctx, f.client.name, f.attempt.Keep, scenarios.SideClient)}
	if host, ok := k.mapping.Host(server); ok {
		errs = append(errs, k.relay(host.Machine).Drop(ctx, host.Agent, f.attempt.Keep, scenarios.SideServer))
	}
	errs = append(errs, k.forgetConnection(ctx, f))
	return errors.Join(errs...)
}
