package beside

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/kindtest/onkind/predict"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Snapshots takes a snapshot of a node of the cluster.
type Snapshots interface {
	Snapshot(ctx context.Context, node string) (*snapshot.NodeSnapshot, error)
}

// Backend is a kind.Backend whose sessions have a prediction beside what they see.
type Backend struct {
	*kind.Backend
	snapshots Snapshots
	none      string
	judges    []*predict.Judge
	idle      map[string]idleNode
}

// idleNode is a node's snapshot from when its proxy was stopped, by the number of the stop.
type idleNode struct {
	since    int
	snapshot *snapshot.NodeSnapshot
}

var _ scenarios.Limited = (*Backend)(nil)

// New predicts what becomes of the connections of a backend. None says why nothing can be predicted, as of a proxy whose rules are not
// iptables'; empty: predictions are made.
func New(b *kind.Backend, s Snapshots, none string) *Backend {
	return &Backend{Backend: b, snapshots: s, none: none, idle: map[string]idleNode{}}
}

// FalseAlarm is a bound for the probability that a count of any session so far is called wrong though it came of its probability.
func (b *Backend) FalseAlarm() float64 {
	sum := 0.0
	for _, j := range b.judges {
		sum += j.FalseAlarm()
	}
	return sum
}

// Start maps a scenario on the cluster.
func (b *Backend) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	began, err := b.Backend.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	inner, ok := began.(*kind.Session)
	if !ok {
		return nil, fmt.Errorf("beside: a session of kind is a %T", began)
	}
	s := &session{Session: inner, backend: b, judge: predict.Nothing(b.none), datagrams: map[string]bool{}}
	if b.none == "" {
		s.judge = predict.NewJudge(s.look)
	}
	b.judges = append(b.judges, s.judge)
	return s, nil
}

// session is a session of kind. What changes the cluster makes the judge look again; what sends packets is foretold before it does.
type session struct {
	*kind.Session
	backend *Backend
	judge   *predict.Judge
	state   *predict.State // the last one
	// datagrams are the kept connections of UDP.
	datagrams map[string]bool
}

var (
	_ scenarios.TableSession  = (*session)(nil)
	_ scenarios.BlindSession  = (*session)(nil)
	_ scenarios.PromptSession = (*session)(nil)
)

func (s *session) translation() *translation {
	return &translation{facts: s.backend.Facts(), mapping: s.Mapping(), scenario: s.Cluster()}
}

// look takes snapshots of all nodes, and asks which clients they remember.
func (s *session) look(ctx context.Context) (*predict.State, error) {
	nodes := s.backend.Facts().Nodes
	v := &predict.State{
		Cluster: s.translation().cluster(s.Objects()), Snapshots: make([]*snapshot.NodeSnapshot, len(nodes)),
		Remembered: map[string][]predict.Client{},
	}
	clients, errs := make([][]predict.Client, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i := range nodes {
		if known := s.backend.idle[nodes[i].Name]; known.snapshot != nil && known.since == s.backend.Idle(nodes[i].Name) {
			v.Snapshots[i] = known.snapshot
			continue
		}
		all.Go(func() { v.Snapshots[i], clients[i], errs[i] = s.lookAt(ctx, nodes[i].Name) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("snapshot of %s: %w", nodes[i].Name, err)
		}
		v.Remembered[nodes[i].Name] = clients[i]
		if since := s.backend.Idle(nodes[i].Name); since > 0 && len(clients[i]) == 0 {
			s.backend.idle[nodes[i].Name] = idleNode{since, v.Snapshots[i]}
		}
	}
	s.state = v
	return v, nil
}

func (s *session) lookAt(ctx context.Context, node string) (*snapshot.NodeSnapshot, []predict.Client, error) {
	taken, err := s.backend.snapshots.Snapshot(ctx, node)
	if err != nil || len(predict.UnreadLists(taken)) == 0 {
		return taken, nil, err
	}
	lists, err := s.backend.Clients(ctx, node)
	var clients []predict.Client
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		for _, a := range lists[list] {
			clients = append(clients, predict.Client{List: list, Addr: a})
		}
	}
	return taken, clients, err
}

// tell puts beside what was seen what was foretold of it, and the rules that it was foretold from.
func (s *session) tell(f *predict.Forecast, seen *scenarios.Observed) {
	t := s.translation()
	seen.Prediction = t.against(f, seen)
	if s.state != nil {
		seen.Rules = t.rulesIn(s.state)
	}
}

// outlookOf is what a forecast says of whether anything comes back.
func outlookOf(f *predict.Forecast) kind.Outlook {
	switch some, all, known := f.Heard(); {
	case all:
		return kind.AnswerForetold
	case some:
		return kind.ChanceForetold
	case known:
		return kind.SilenceForetold
	}
	return kind.Unforetold
}

// Connect makes a connection.
func (s *session) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	t := s.translation()
	real := t.attempt(a)
	f, err := s.judge.Connect(ctx, real)
	if err != nil {
		return nil, err
	}
	s.Foretold(a, outlookOf(f))
	seen, err := s.Session.Connect(ctx, a)
	if err != nil {
		return nil, err
	}
	s.tell(f, seen)
	if a.Keep != "" && seen.Kept >= 0 && seen.Kept < len(seen.Ways) {
		s.judge.Keep(real, t.wayTo(seen.Ways[seen.Kept]))
		s.datagrams[a.Keep] = a.To.Proto == "udp"
	}
	return seen, nil
}

// ConnectAll makes connections of which none is kept.
func (s *session) ConnectAll(ctx context.Context, attempts []scenarios.Attempt) ([]*scenarios.Observed, error) {
	t := s.translation()
	forecasts := make([]*predict.Forecast, len(attempts))
	for i, a := range attempts {
		var err error
		if forecasts[i], err = s.judge.Connect(ctx, t.attempt(a)); err != nil {
			return nil, err
		}
		s.Foretold(a, outlookOf(forecasts[i]))
	}
	seen, err := s.Session.ConnectAll(ctx, attempts)
	if err != nil {
		return nil, err
	}
	for i := range seen {
		s.tell(forecasts[i], seen[i])
	}
	return seen, nil
}

// Follow sends a later packet of a kept connection.
func (s *session) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	f, err := s.judge.Follow(ctx, p)
	if err != nil {
		return nil, err
	}
	if s.datagrams[p.Of] && p.From == scenarios.SideClient {
		f = f.Told(answeredByWhoever)
	}
	s.FollowForetold(outlookOf(f))
	seen, err := s.Session.Follow(ctx, p)
	if err == nil {
		s.tell(f, seen)
	}
	return seen, err
}

// answeredByWhoever is a datagram's way to agents: whoever gets it answers, also one that is not the server of before, and the client
// hears.
func answeredByWhoever(w scenarios.Way) scenarios.Way {
	w.Heard = w.Heard || w.End == scenarios.Delivered
	return w
}

// Send gives a packet to one node.
func (s *session) Send(ctx context.Context, node string, in inet.Input) (*scenarios.Observed, error) {
	t := s.translation()
	f, err := s.judge.Send(ctx, s.Mapping().Node(node), t.input(in))
	if err != nil {
		return nil, err
	}
	seen, err := s.Session.Send(ctx, node, in)
	if err == nil {
		s.tell(f, seen)
	}
	return seen, err
}

// Apply writes objects. Servers of their endpoints may be there before the proxies write.
func (s *session) Apply(ctx context.Context, objects []manifest.Object) error {
	s.judge.Changed()
	return s.Session.Apply(ctx, objects)
}

// Delete deletes objects.
func (s *session) Delete(ctx context.Context, refs []manifest.Ref) error {
	s.judge.Changed()
	return s.Session.Delete(ctx, refs)
}

// Sync waits until the proxies have written what was made so far.
func (s *session) Sync(ctx context.Context, nodes []string) error {
	s.judge.Changed()
	return s.Session.Sync(ctx, nodes)
}

// Restart ends the proxies of nodes.
func (s *session) Restart(ctx context.Context, nodes []string) error {
	s.judge.Changed()
	return s.Session.Restart(ctx, nodes)
}

// StartPods adds pods.
func (s *session) StartPods(ctx context.Context, pods []scenarios.Pod) error {
	s.judge.Changed()
	return s.Session.StartPods(ctx, pods)
}

// StopPods takes pods away.
func (s *session) StopPods(ctx context.Context, names []string) error {
	s.judge.Changed()
	return s.Session.StopPods(ctx, names)
}

// SetAddresses gives a node other addresses.
func (s *session) SetAddresses(ctx context.Context, node string, addresses []netip.Addr) error {
	s.judge.Changed()
	return s.Session.SetAddresses(ctx, node, addresses)
}

// Fault makes something go wrong.
func (s *session) Fault(ctx context.Context, f scenarios.Fault) error {
	s.judge.Changed()
	return s.Session.Fault(ctx, f)
}

// Advance makes what kernels remember older.
func (s *session) Advance(ctx context.Context, d time.Duration) error {
	s.judge.Changed()
	return s.Session.Advance(ctx, d)
}
