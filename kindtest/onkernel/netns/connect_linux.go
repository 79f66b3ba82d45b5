package netns

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Connect makes a connection, many times if its way depends on chance.
func (s *session) Connect(_ context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	if err := s.network.routeVia(a.Via); err != nil {
		return nil, err
	}
	if err := s.openFor(plan.Proto(a.To.Proto, a.To.Addr().Is6()), a.To.AddrPort); err != nil {
		return nil, err
	}
	var count tally
	for tries := 1; count.tries < tries; {
		t, err := s.tryOnce(a)
		if err != nil {
			return nil, err
		}
		if t.chancy {
			tries = s.samples
		}
		count.add(t.way)
		if err := s.takeBack(t); err != nil {
			return nil, err
		}
	}
	seen := count.observed()
	if a.Keep == "" {
		return seen, nil
	}
	return seen, s.keepOne(a, seen)
}

// maxTries is how often chance is asked for a way that was seen: one with a chance
// of 1 in 100 fails to come a thousand times in 1 of 20,000 runs.
const maxTries = 1000

// keepOne makes the connection once more, until it takes the way to keep.
func (s *session) keepOne(a scenarios.Attempt, seen *scenarios.Observed) error {
	seen.Kept = choose(seen.Ways, a.Pick)
	if seen.Kept < 0 {
		return fmt.Errorf("keep %s: no way leads to %s", a.Keep, a.Pick)
	}
	wanted := seen.Ways[seen.Kept]
	for range maxTries {
		t, err := s.tryOnce(a)
		if err != nil {
			return err
		}
		if t.way.Server == wanted.Server && t.way.End == wanted.End {
			seen.Ways[seen.Kept].Client = t.way.Client
			return s.keep(a, t)
		}
		if err := s.takeBack(t); err != nil {
			return err
		}
	}
	return fmt.Errorf("keep %s: the way to %s did not come again in %d tries", a.Keep, wanted.Server, maxTries)
}

// choose is the way to keep: the one to pick, otherwise the answered one with the
// lowest endpoint, otherwise the first.
func choose(all []scenarios.Way, pick netip.AddrPort) int {
	best := -1
	for i := range all {
		made := all[i].End == scenarios.Delivered && all[i].Heard
		switch {
		case pick.IsValid() && all[i].Server == pick:
			return i
		case pick.IsValid() || !made:
		case best < 0 || all[i].Server.Compare(all[best].Server) < 0:
			best = i
		}
	}
	if best < 0 && !pick.IsValid() && len(all) > 0 {
		return 0
	}
	return best
}
