package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// judging is the simulator, with the oracle looking over its shoulder: whatever a scenario's steps ask, and every class of packets after
// every sync, is judged too.
type judging struct {
	sim.Backend
	clauses map[*oracle.Clause]int
	judged  int
	wrong   []string
}

func (j *judging) errorf(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

func (j *judging) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	inner, err := j.Backend.Start(ctx, c)
	s := &judged{
		Session: inner, judging: j, cluster: c,
		objects: map[manifest.Ref]manifest.Object{}, known: map[string]*oracle.Spec{}, flows: map[string]*oracle.Flow{},
	}
	s.note(c.Objects)
	s.broken = slices.ContainsFunc(c.Preload, func(p scenarios.Preload) bool { return p.Dialect.In(c.Dialect) != c.Dialect })
	return s, err
}

type judged struct {
	scenarios.Session
	*judging
	cluster *scenarios.Cluster
	objects map[manifest.Ref]manifest.Object
	order   []manifest.Ref
	known   map[string]*oracle.Spec // by node, as it was when it synced
	told    *oracle.Spec            // what the API has now; nil if not made yet
	memory  oracle.Affinity
	flows   map[string]*oracle.Flow
	now     time.Time
	within  bool // a sync runs
	broken  bool // something went wrong behind the proxiers' back, or they are not told everything, or rules of the other tools are there
}

func (s *judged) note(objects []manifest.Object) {
	for _, o := range objects {
		if _, known := s.objects[o.Ref()]; !known {
			s.order = append(s.order, o.Ref())
		}
		s.objects[o.Ref()] = o
	}
	s.told = nil
}

func (s *judged) Apply(ctx context.Context, objects []manifest.Object) error {
	s.note(objects)
	return s.Session.Apply(ctx, objects)
}

func (s *judged) Delete(ctx context.Context, refs []manifest.Ref) error {
	for _, ref := range refs {
		delete(s.objects, ref)
		s.order = slices.DeleteFunc(s.order, func(r manifest.Ref) bool { return r == ref })
	}
	s.told = nil
	return s.Session.Delete(ctx, refs)
}

func (s *judged) Restart(ctx context.Context, nodes []string) error {
	s.told = nil
	return s.Session.Restart(ctx, nodes)
}

func (s *judged) Fault(ctx context.Context, f scenarios.Fault) error {
	s.broken = true
	return s.Session.Fault(ctx, f)
}

func (s *judged) Hold(ctx context.Context, nodes []string) error {
	s.broken = true
	return s.Session.Hold(ctx, nodes)
}

func (s *judged) During(ctx context.Context, watch func(context.Context, scenarios.Point)) error {
	if watch == nil {
		return s.Session.During(ctx, nil)
	}
	return s.Session.During(ctx, func(ctx context.Context, p scenarios.Point) {
		s.within = true
		watch(ctx, p)
		s.within = false
	})
}

// moved is when the network has changed.
func (s *judged) moved() {
	s.told = nil
	for _, f := range s.flows {
		f.Moved(s.spec())
	}
}

func (s *judged) StartPods(ctx context.Context, pods []scenarios.Pod) error {
	defer s.moved()
	return s.Session.StartPods(ctx, pods)
}

func (s *judged) StopPods(ctx context.Context, names []string) error {
	defer s.moved()
	return s.Session.StopPods(ctx, names)
}

func (s *judged) SetAddresses(ctx context.Context, node string, addresses []netip.Addr) error {
	defer s.moved()
	return s.Session.SetAddresses(ctx, node, addresses)
}

func (s *judged) Advance(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	for _, f := range s.flows {
		f.Idle(d)
	}
	return s.Session.Advance(ctx, d)
}

// spec is what the API has, with what each node knows.
func (s *judged) spec() *oracle.Spec {
	if s.told == nil {
		var objects []manifest.Object
		for _, ref := range s.order {
			objects = append(objects, s.objects[ref])
		}
		s.told = oracle.New(plan.Of(s.cluster).Oracle(objects))
	}
	return s.told.With(s.known)
}

func (s *judged) Sync(ctx context.Context, nodes []string) error {
	err := s.Session.Sync(ctx, nodes)
	if err != nil {
		s.broken = true
		return err
	}
	s.spec()
	for _, name := range nodes {
		s.known[name] = s.told
	}
	if s.broken {
		return nil
	}
	spec := s.spec()
	s.memory.Synced(spec)
	if len(nodes) == len(s.cluster.Nodes) {
		for _, f := range s.flows {
			f.Synced(spec)
		}
	}
	for _, a := range spec.Attempts() {
		a.Source = netip.AddrPortFrom(netip.Addr{}, 45678)
		ways, err := s.Session.(*sim.World).Reach(a)
		if err != nil {
			return err
		}
		s.judge(spec, a, ways)
	}
	return nil
}

func waysOf(seen *scenarios.Observed) []oracle.Way {
	var out []oracle.Way
	for i := range seen.Ways {
		w := &seen.Ways[i]
		out = append(out, oracle.Way{
			Probability: w.Probability, End: oracle.End(w.End), Host: w.Host, Sender: w.Sender, Client: w.Client, Server: w.Server,
			Masqueraded: w.Masqueraded == scenarios.Yes, Heard: w.Heard, With: w.With,
		})
	}
	return out
}

func (s *judged) judge(spec *oracle.Spec, a oracle.Attempt, ways []oracle.Way) {
	s.judged++
	answer := s.memory.Expect(spec, a, s.now)
	for _, c := range answer.Clauses() {
		s.clauses[c]++
	}
	for _, v := range s.memory.Judge(spec, a, s.now, ways) {
		s.errorf("%s\n  sent: %+v\n  want: %s\n  got:  %s", v.Clause.Name, v.Attempt, v.Want, v.Got)
	}
}

func (s *judged) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	seen, err := s.Session.Connect(ctx, a)
	if err != nil || s.broken || s.within {
		return seen, err
	}
	attempt := oracle.Attempt{
		From: a.From, Source: netip.AddrPortFrom(a.Bind.Addr, a.Bind.Port), Via: a.Via,
		Protocol: corev1.Protocol(strings.ToUpper(a.To.Proto)), To: a.To.AddrPort,
	}
	spec := s.spec()
	s.judge(spec, attempt, waysOf(seen))
	if a.Keep != "" && seen.Kept >= 0 {
		way := waysOf(seen)[seen.Kept]
		s.memory.Made(spec, attempt, way, s.now)
		s.flows[a.Keep] = spec.Keep(attempt, way)
	}
	return seen, nil
}

func (s *judged) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	seen, err := s.Session.Follow(ctx, p)
	f := s.flows[p.Of]
	if err != nil || s.broken || s.within || f == nil {
		return seen, err
	}
	s.judged++
	later := oracle.Later{
		From: oracle.Side(p.From), OutOfWindow: p.Send == scenarios.PacketOutOfWindow,
		Reset: p.Send == scenarios.PacketRST, Fin: p.Send == scenarios.PacketFIN,
	}
	for _, v := range f.Judge(later, waysOf(seen)) {
		s.errorf("%s\n  flow %s of %+v\n  want: %s\n  got:  %s", v.Clause.Name, p.Of, v.Attempt, v.Want, v.Got)
	}
	if later.From != oracle.FromServer {
		answer := f.Expect(later)
		for _, c := range answer.Clauses() {
			s.clauses[c]++
		}
	}
	if len(seen.Ways) > 0 {
		f.Went(later, waysOf(seen)[0])
	}
	return seen, nil
}

// playing is what came of playing all shipped scenarios.
type playing struct {
	files  map[*oracle.Clause][]string // the scenarios in which a clause decided
	judged int
}

// played is made once: it takes seconds.
var played = sync.OnceValues(func() (*playing, error) {
	all, err := scenarios.Load("../../testdata/cases")
	out := &playing{files: map[*oracle.Clause][]string{}}
	for _, s := range all {
		one := *s
		one.IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy}
		// Without informers, and without a family that a scenario has not: package sim holds that this comes to the same.
		j := &judging{Backend: sim.Backend{Options: sim.Options{Direct: true, OneFamily: true}}, clauses: map[*oracle.Clause]int{}}
		result := scenarios.Run(klog.NewContext(context.Background(), logr.Discard()), &one, j)
		if result.Failed() {
			j.wrong = append(j.wrong, "its own expectations do not hold")
		}
		for _, wrong := range j.wrong {
			err = errors.Join(err, fmt.Errorf("%s: %s", s.Name, wrong))
		}
		for c := range j.clauses {
			out.files[c] = append(out.files[c], filepath.Base(s.Pos.File))
		}
		out.judged += j.judged
	}
	return out, err
})

func shipped(t *testing.T) *playing {
	p, err := played()
	require.NoError(t, err)
	return p
}

// TestShippedScenarios plays every shipped scenario on the simulator and lets the oracle judge each of its connections, and those of every
// class after every sync, from which the file's own expectations are independent.
func TestShippedScenarios(t *testing.T) {
	assert.Greater(t, shipped(t).judged, 10000)
}
