package trial

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// synced syncs nodes one after the other, and judges within each sync and after all.
func (r *run) synced(ctx context.Context, nodes []*nodeState) error {
	if len(nodes) == 0 {
		return nil
	}
	var attempts attemptSet
	for _, n := range nodes {
		if err := r.sync(ctx, n); err != nil {
			return err
		}
		attempts.add(n.sync.concerned)
	}
	if r.quiet {
		return nil
	}
	if r.nodes.blind() {
		r.kept.forget(r.nodes)
		r.kept.tried(r.specs.of(r.nodes.tried())) // where rules are damaged still, what a sync forgets of connections is forgotten all the same
		return nil
	}
	if err := r.after(ctx, attempts.list); err != nil {
		return err
	}
	return r.rulesHeld(ctx, nodes)
}

// sync syncs one node.
func (r *run) sync(ctx context.Context, n *nodeState) error {
	n.next = &view{r.world.Knowledge(n.name), n.config, n.object, r.specs.addressesOf(n)}
	n.sync.concerned, n.large = r.concerned(n), n.large || endpointsOf(n.next) > maxFewEndpoints
	if err := r.syncDue(n); err != nil {
		return err
	}
	if n.inNFTables() && (r.unsaved || r.world.Node(n.name).FailingRestores() > 0) {
		r.kept.affinity.Forget(n.name) // a table that could not be read, or not be filled again, is made anew
	}
	r.syncing = n
	for _, family := range tools.Families(r.cluster.IPFamily) {
		n.sync.seen[family] = r.ruleset(n, family)
	}
	n.sync.transactions = r.transactions(n)
	faulty, failures := r.world.Node(n.name).Faulty(), r.world.Node(n.name).Failures()
	n.begins()
	n.sync.searched = false
	began := r.passed
	err := r.world.Sync(ctx, []string{n.name})
	r.pass()
	n.sync.took = r.passed - began
	tried := n.ends()
	r.syncing = nil
	if r.failed != nil {
		return r.failed
	}
	n.failing.synced(err != nil && !errors.As(err, new(*node.CanariesError)) && r.hasToWrite(n, tried), r.passed)
	if err == nil && r.world.Node(n.name).Failures() < failures && !r.nodes.blind() {
		n.lied(tried, r.step)
		return nil
	}
	if faulty || err != nil && r.nodes.blind() {
		n.failed(tried, err)
		return nil
	}
	if err != nil {
		n.failed(tried, err)
		return r.syncFailed(n, err)
	}
	if err := r.cost(ctx, n, tried); err != nil {
		return err
	}
	n.succeeded(tried, r.passed)
	return nil
}

// concerned are the attempts that the sync of a node can concern.
func (r *run) concerned(n *nodeState) []oracle.Attempt {
	if r.quiet {
		return nil
	}
	m := r.moment()
	var all attemptSet
	if n.fresh() || !n.ruled.sameNode(n.next) || !n.ruled.sameRanges(n.next) || len(n.tried) > 0 || n.damage.any() {
		all.add(m.before.Attempts())
		all.add(m.after.Attempts())
	} else if services := changed(n.ruled.Knowledge, n.next.Knowledge); len(services) > 0 {
		all.add(m.before.Concerning(services...))
		all.add(m.after.Concerning(services...))
	}
	return all.list
}

// after judges what the syncs of some nodes have led to.
func (r *run) after(ctx context.Context, attempts []oracle.Attempt) error {
	m := r.moment()
	if err := m.judge(attempts); err != nil {
		return err
	}
	if !m.settled() {
		r.kept.tried(m.after)
	} else {
		r.kept.synced(m.after, r.nodes)
		if err := r.judgeHealth(ctx); err != nil {
			return err
		}
	}
	if err := m.judgeFlows(); err != nil {
		return err
	}
	return m.keep(attempts)
}

// within judges at a point of the sync that runs.
func (r *run) within(p scenarios.Point) {
	r.pass()
	n := r.syncing
	if n != nil && p.Command == scenarios.CommandConntrackList {
		n.sync.searched = true
	}
	if n == nil || r.failed != nil || r.quiet || r.nodes.blind() || !r.matters(n, p) {
		return
	}
	m := r.moment()
	m.point = &p
	families := []bool{strings.HasPrefix(string(p.Command), "ip6")}
	if p.Command == scenarios.CommandNFT {
		families = []bool{false, true}
	}
	r.failed = r.guarded(func() error {
		for _, v6 := range families {
			if err := m.judge(m.of(n.sync.concerned, n.name, v6)); err != nil {
				return err
			}
		}
		return m.judgeFlows()
	})
}

// matters reports whether packets can meet something else than at the points before. What a restore commits is looked at, whatever it is;
// other commands change rules seldom.
func (r *run) matters(n *nodeState, p scenarios.Point) bool {
	family := scenarios.FamilyIPv4
	switch p.Command {
	case scenarios.CommandConntrackDelete:
		return p.After
	case scenarios.CommandNFT: // most runs of kube-proxy's first sync list sets and maps
		was := n.sync.transactions
		n.sync.transactions = r.transactions(n)
		return n.sync.transactions != was
	case scenarios.CommandIP6Tables, scenarios.CommandIP6TablesRestore:
		family = scenarios.FamilyIPv6
	case scenarios.CommandIPTables, scenarios.CommandIPTablesRestore:
	default:
		return false
	}
	is := r.ruleset(n, family)
	was := n.sync.seen[family]
	n.sync.seen[family] = is
	if p.Command == scenarios.CommandIPTables || p.Command == scenarios.CommandIP6Tables {
		return p.After && !alike(was, is)
	}
	return p.After && p.Table != ""
}

// attemptSet is a list of different attempts.
type attemptSet struct {
	list []oracle.Attempt
	seen map[oracle.Attempt]bool
}

func (s *attemptSet) add(attempts []oracle.Attempt) {
	if s.list == nil {
		s.list = attempts // most often there is one list only
		return
	}
	if s.seen == nil {
		s.seen = make(map[oracle.Attempt]bool, len(s.list)+len(attempts))
		for _, a := range s.list {
			s.seen[a] = true
		}
		s.list = slices.Clone(s.list)
	}
	for _, a := range attempts {
		if !s.seen[a] {
			s.seen[a] = true
			s.list = append(s.list, a)
		}
	}
}
