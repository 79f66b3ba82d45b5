package trial

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// sampleOne of so many syncs is held to the laws that cost more than the sync.
const sampleOne = 8

// rulesHeld holds the rules of nodes that have just synced, where nothing is in doubt, to the laws about them: nothing is left to write, no
// chain is left over, and what a proxier would write that starts now is there already.
func (r *run) rulesHeld(ctx context.Context, nodes []*nodeState) error {
	if len(r.broken) > 0 {
		return nil // they would say the same
	}
	for _, n := range nodes {
		if n.fresh() || len(n.tried) > 0 || r.world.Node(n.name).Faulty() {
			continue
		}
		if err := r.secondSync(ctx, n); err != nil {
			return err
		}
		if r.unsaved {
			continue // chains out of use are known again after the next full sync
		}
		if err := r.staleChains(ctx, n); err != nil {
			return err
		}
		if !r.sampled(n) || !r.canBreak(oracle.RulesReadBack, oracle.PartialEqualsFull, oracle.RestartEqualsFresh) {
			continue
		}
		if err := r.sampleHeld(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// sampleHeld holds a node's rules to the laws that cost as much as a sync or more.
func (r *run) sampleHeld(ctx context.Context, n *nodeState) error {
	rules, err := r.rulesOf(ctx, n)
	if err != nil {
		return err
	}
	if err := r.readBack(ctx, n, rules); err != nil {
		return err
	}
	return r.asFull(n, rules)
}

// sampled reports whether this sync of a node is one of those drawn.
func (r *run) sampled(n *nodeState) bool {
	if r.options.Sample == 0 {
		return true
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %d %s", r.options.Sample, r.step, n.name) // never fails
	return h.Sum64()%sampleOne == 0
}

// laws judges a node's rules at the end of a case.
func (r *run) laws(ctx context.Context, n *nodeState) error {
	clear(r.broken)
	if err := r.secondSync(ctx, n); err != nil {
		return err
	}
	if err := r.staleChains(ctx, n); err != nil {
		return err
	}
	if !r.canBreak(oracle.RulesReadBack, oracle.PartialEqualsFull, oracle.RestartEqualsFresh, oracle.HealsAfterFaults) {
		return nil
	}
	before, err := r.rulesOf(ctx, n)
	if err != nil {
		return err
	}
	if err := r.readBack(ctx, n, before); err != nil {
		return err
	}
	return r.asFresh(ctx, n, before)
}

// syncPeriod is the one of the proxier's mode.
func (n *nodeState) syncPeriod() time.Duration {
	c := proxier.WithDefaults(n.config)
	if n.inNFTables() {
		return c.NFTables.SyncPeriod.Duration
	}
	return c.IPTables.SyncPeriod.Duration
}

// secondSync syncs a node once more: nothing has changed, so nothing is written.
func (r *run) secondSync(ctx context.Context, n *nodeState) error {
	if err := r.world.Sync(ctx, []string{n.name}); err != nil {
		return r.syncFailed(n, err)
	}
	if n.large && n.sync.took >= n.syncPeriod() {
		return nil // the chains that went out of use with the sync before have waited long enough to be deleted
	}
	r.exercised(oracle.SecondSyncWritesNothing)
	written, err := r.world.Writes(ctx, n.name)
	if err != nil || written.Restores == 0 {
		return err
	}
	f := wroteNothing(n, written)
	f.Check = append([]scenarios.Step{{Sync: &scenarios.NodeSet{Names: []string{n.name}}}}, f.Check...)
	return r.add(f)
}
