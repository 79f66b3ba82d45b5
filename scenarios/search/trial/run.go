package trial

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// run is one play in its world.
type run struct {
	*play
	world  *sim.World
	player *scenarios.Player
	report *Report
	nodes  nodes
	specs  specifications
	kept   connections
	// began is the time of the world's clock when the play began, passed how long ago that is.
	began  time.Time
	passed time.Duration
	// faults says that there was a fault, and unsaved that rules could not be saved: chains that are
	// no more are known again with the next full sync.
	faults, unsaved bool
	// unsearched says that conntrack could not be asked.
	unsearched bool
	step       int
	// mending are the steps made so far to let the faults stop.
	mending []scenarios.Step
	// syncing is the node that syncs now, nil between syncs.
	syncing *nodeState
	// broken are the clauses that the step broke already: one violation of each says enough.
	broken map[*oracle.Clause]bool
	// work counts what was looked at.
	work int
	// failed is why judging within a sync ended; nil if it did not.
	failed error
}

// nodeState is what a trial knows of a node.
type nodeState struct {
	name string
	kernel
	config *kubeproxyconfig.KubeProxyConfiguration
	// object is the Node object that its proxier found when it started.
	object  *corev1.Node
	failing failing
	sync    lastSync
	// full is when its proxier last wrote everything, at the latest.
	full time.Duration
	// waiting is how many endpoints of service ports had chains that may wait, while the cluster was large, to go with a later sync.
	waiting int
	// large says that the cluster was a large one, for which less is written and deleted.
	large bool
}

// failing says whether the last sync of a node failed that had something to write.
type failing struct {
	now   bool
	since time.Duration // of the first that did, without one that ended well in between
}

// synced notes how a sync ended.
func (f *failing) synced(fails bool, at time.Duration) {
	if fails && !f.now {
		f.since = at
	}
	f.now = fails
}

// lastSync is what was seen of the last sync of a node, which may run still.
type lastSync struct {
	concerned []oracle.Attempt // that it can concern
	searched  bool             // it looked through conntrack
	took      time.Duration    // restores may be slow
	// seen are the rules at its last point, by family.
	seen map[scenarios.IPFamily]*netfilter.RulesetView
	// transactions is how many nf_tables had carried out at its last point.
	transactions uint32
}

// errEnough ends a run that has found enough.
var errEnough = errors.New("enough was found")

// run plays it.
func (p *play) run(ctx context.Context) (*Report, error) {
	r := &run{play: p, report: &Report{Figures: Figures{Cases: 1}}, broken: map[*oracle.Clause]bool{}}
	err := r.guarded(func() error { return r.all(ctx) })
	if r.world != nil {
		err = errors.Join(err, r.world.Close())
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return r.report, err
}

// all is the whole play.
func (r *run) all(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for i := range r.steps {
		r.step = i + 1
		if err := r.one(ctx, &r.steps[i]); err != nil {
			return err
		}
		if r.options.Stop == 0 && len(r.report.Violations) > 0 || r.step == r.options.Until && r.step < len(r.steps) {
			return errEnough
		}
	}
	return r.end(ctx)
}

// begin makes the world and syncs every node.
func (r *run) begin(ctx context.Context) error {
	var err error
	r.world, err = sim.NewWorld(ctx, r.cluster, sim.Options{Direct: true, OneFamily: true, Proxier: r.options.Proxier})
	if err != nil {
		return err
	}
	r.began = r.world.Now()
	for i := range r.cluster.Nodes {
		n := &nodeState{name: r.cluster.Nodes[i].Name, sync: lastSync{seen: map[scenarios.IPFamily]*netfilter.RulesetView{}}}
		r.started(n)
		n.damage.foreign = slices.ContainsFunc(r.cluster.Preload, func(p scenarios.Preload) bool {
			return p.IsFor(n.name) && p.Dialect.In(r.cluster.Dialect) != r.cluster.Dialect
		})
		n.ruled = &view{new(api.Knowledge), n.config, n.object, nil}
		r.nodes = append(r.nodes, n)
	}
	r.player = scenarios.NewPlayer(r.cluster, r.world)
	r.specs = specifications{cluster: r.cluster, nodes: r.nodes}
	r.specs.renew()
	first := len(r.cluster.Preload) == 0 // what the rules of others lead to is nobody's promise
	if first {
		if err := r.watch(ctx); err != nil {
			return err
		}
	}
	if err := r.synced(ctx, r.nodes); err != nil || first {
		return err
	}
	return r.watch(ctx)
}

// watch has the points within syncs judged from here on.
func (r *run) watch(ctx context.Context) error {
	if r.quiet {
		return nil
	}
	return r.world.During(ctx, func(_ context.Context, p scenarios.Point) { r.within(p) })
}

// one makes a step, syncs, and judges.
func (r *run) one(ctx context.Context, s *scenarios.Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	clear(r.broken)
	if s.Looks() {
		return r.traffic(s)
	}
	before, gone := r.cluster.Pods, renumbered(r.cluster, s)
	others := len(r.cluster.Begun(s))+len(r.cluster.Ended(s)) > 0
	if err := r.player.Act(ctx, s); err != nil {
		return fmt.Errorf("step %d: %w", r.step, err)
	}
	if others {
		gone = addressesOf(before, r.cluster.Pods)
	}
	r.kept.addressesChanged(gone)
	if others || s.Node != nil {
		r.specs.renew()
	}
	r.note(s)
	if err := r.judgeHealthz(ctx); err != nil {
		return err
	}
	if s.Advance != nil {
		if err := r.judgeRemembered(); err != nil {
			return err
		}
	}
	return r.synced(ctx, r.nodes.named(r.player.Syncs(s)))
}

// renumbered are the addresses that a node has no longer after a step.
func renumbered(c *scenarios.Cluster, s *scenarios.Step) []netip.Addr {
	if s.Node == nil || s.Node.Addresses == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Node(s.Node.Name).Addresses), func(a netip.Addr) bool {
		return slices.Contains(s.Node.Addresses, a)
	})
}

// note follows what a step changed beside what proxiers are told.
func (r *run) note(s *scenarios.Step) {
	switch {
	case s.Advance != nil:
		r.pass()
	case s.Fault != nil:
		r.faulty(s.Fault)
	case s.Restart != nil:
		r.specs.renew()
		for _, n := range r.nodes {
			if s.Restart.All || slices.Contains(s.Restart.Names, n.name) {
				r.started(n)
			}
		}
	}
}

// addressesOf are the addresses of the pods that are not in both.
func addressesOf(before, after []scenarios.Pod) []netip.Addr {
	var out []netip.Addr
	in := func(pods []scenarios.Pod, p *scenarios.Pod) bool {
		return slices.ContainsFunc(pods, func(o scenarios.Pod) bool { return o.Name == p.Name && slices.Equal(o.Addresses, p.Addresses) })
	}
	for i := range before {
		if !in(after, &before[i]) {
			out = append(out, before[i].Addresses...)
		}
	}
	for i := range after {
		if !in(before, &after[i]) {
			out = append(out, after[i].Addresses...)
		}
	}
	return out
}

// started notes that a node's proxier begins, with the configuration that the cluster now has for it.
func (r *run) started(n *nodeState) {
	n.restarted()
	had := n.config
	n.config = r.cluster.Configs[n.name].DeepCopy() // a restart changes it in its place
	if had != nil && oracle.ModeOf(had) != oracle.ModeOf(n.config) {
		n.damage.flushed = true // until the first sync there are no rules of a proxier
		r.kept.affinity.Forget(n.name)
	}
	n.object = r.world.Knowledge(n.name).Node
	r.kept.restarted(n.name)
}

// guarded notes a panic as a violation.
func (r *run) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.add(Violation{Clause: oracle.NeverPanics, Want: "no panic", Got: fmt.Sprintf("%v\n%s", p, debug.Stack()), bare: true})
		}
	}()
	return do()
}
