package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Sync waits until the proxies have written what was made so far: real ones do so by themselves, but for those that hold still and are
// none of these nodes. Those whose tools are to fail have tried it then, and the error names them as the scenario does.
func (s *Session) Sync(ctx context.Context, nodes []string) error {
	if err := s.awaitSlices(ctx); err != nil {
		return err
	}
	fails, err := s.failing.healSynced(ctx, s.realNodes(nodes))
	if err != nil {
		return err
	}
	if err := s.still.goOn(ctx, s.realNodes(nodes)); err != nil {
		return err
	}
	if s.anHour {
		s.anHour = false
		if err := s.syncInFull(ctx, nodes); err != nil {
			return err
		}
	}
	rounds := 1
	if len(s.knows.checked()) > 0 || slices.ContainsFunc(s.allFlows(), func(f *flow) bool { return f.attempt.To.Proto == "udp" }) {
		rounds = 2 // health checks are told, and conntrack cleaned up, behind the rules and before those of the next sync
	}
	able := slices.DeleteFunc(s.used(), func(node string) bool { return s.still.nodes[node] || s.failing.nodes[node] != nil })
	for range rounds {
		if err := s.backend.sentinel.wait(ctx, able); err != nil {
			return err
		}
	}
	if err := together(sorted(fails), func(node string) error { return s.failing.await(ctx, node, fails[node]) }); err != nil {
		return err
	}
	if err := s.awaitHealthChecks(ctx); err != nil {
		return err
	}
	var failed []error
	for _, name := range nodes {
		if _, fails := fails[s.mapping.Node(name)]; fails {
			failed = append(failed, fmt.Errorf("%s: %w", name, errFailed))
		}
	}
	return errors.Join(failed...)
}

// awaitForgotten waits until the proxies have forgotten the objects, where they listen for them: the next scenario may have agents that
// want to. All else is forgotten before the next one's first sync is over.
func (s *Session) awaitForgotten(ctx context.Context) error {
	if len(s.knows.checks) == 0 {
		return nil
	}
	// Health checks end behind the rules, and before those of the next sync.
	return errors.Join(s.backend.sentinel.wait(ctx, s.used()), s.backend.sentinel.wait(ctx, s.used()))
}

// fullSyncPeriod is after how long kube-proxy writes everything at the next sync, whatever has changed.
const fullSyncPeriod = time.Hour

// otherZone is one that a node is in for a moment.
const otherZone = "chainwalk-other"
