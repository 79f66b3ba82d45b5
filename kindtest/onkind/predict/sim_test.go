package predict

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// foretold is the simulator, with a prediction from its nodes' snapshots beside each probe.
type foretold struct {
	t      *testing.T
	law    bool // predictions have to be exact
	spoil  func(*snapshot.NodeSnapshot)
	client netip.Addr // the one that all lists have, if it is known
	probes int
	judge  *Judge
}

func (f *foretold) Name() string { return scenarios.BackendSim }

// SliceController is Kubernetes' own.
func (f *foretold) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

func (f *foretold) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	// Scenarios of both families have the rules of both in their snapshots; the others need not.
	world, err := sim.NewWorld(ctx, c, sim.Options{Direct: true, OneFamily: true})
	if err != nil {
		return nil, err
	}
	f.judge = NewJudge(func(context.Context) (*State, error) { return f.look(world, c) })
	return &foretoldSession{World: world, foretold: f}, nil
}

// look takes a snapshot of each node.
func (f *foretold) look(world *sim.World, c *scenarios.Cluster) (*State, error) {
	v := &State{Cluster: c}
	for i := range c.Nodes {
		taken, err := snapshot.Of(world.Host(c.Nodes[i].Name))
		if err != nil {
			return nil, err
		}
		if f.spoil != nil {
			f.spoil(taken)
		}
		v.Snapshots = append(v.Snapshots, taken)
		if f.client.IsValid() {
			f.remember(v, taken)
		}
	}
	return v, nil
}

func (f *foretold) remember(v *State, taken *snapshot.NodeSnapshot) {
	if v.Remembered == nil {
		v.Remembered = map[string][]Client{}
	}
	v.Remembered[taken.Hostname] = nil
	for _, list := range UnreadLists(taken) {
		name := strings.TrimPrefix(list, taken.Hostname+": recent list ")
		v.Remembered[taken.Hostname] = append(v.Remembered[taken.Hostname], Client{name, f.client})
	}
}

type foretoldSession struct {
	*sim.World
	*foretold
}

func (s *foretoldSession) Connect(ctx context.Context, a scenarios.Attempt) (*scenarios.Observed, error) {
	if a.Bind.Port == 0 {
		a.Bind.Port = firstPort // as the simulator does, whoever has it
	}
	s.judge.Changed()
	f, err := s.judge.Connect(ctx, a)
	require.NoError(s.t, err)
	seen, err := s.World.Connect(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Keep != "" && seen.Kept >= 0 {
		s.judge.Keep(a, seen.Ways[seen.Kept])
	}
	return seen, s.compare(f, seen)
}

func (s *foretoldSession) Follow(ctx context.Context, p scenarios.FlowPacket) (*scenarios.Observed, error) {
	s.judge.Changed()
	f, err := s.judge.Follow(ctx, p)
	require.NoError(s.t, err)
	seen, err := s.World.Follow(ctx, p)
	if err != nil {
		return nil, err
	}
	return seen, s.compare(f, seen)
}

func (s *foretoldSession) Send(ctx context.Context, node string, in inet.Input) (*scenarios.Observed, error) {
	s.judge.Changed()
	f, err := s.judge.Send(ctx, node, in)
	require.NoError(s.t, err)
	seen, err := s.World.Send(ctx, node, in)
	if err != nil {
		return nil, err
	}
	return seen, s.compare(f, seen)
}

// told leaves out whose rules those of a step are, since the tables of tools that hold no rule are not in a snapshot's host, and the
// steps of base chains' policies. iptables-nft-save prints every base chain of a table, whether the kernel
// has it or not (nft_xt_fake_builtin_chains in iptables/nft.c), so that a snapshot has some that do nothing. A policy that drops is the
// end of a way.
func told(ways []scenarios.Way) []scenarios.Way {
	out := slices.Clone(ways)
	for i := range out {
		for _, hops := range []*[]scenarios.Hop{&out[i].Forward, &out[i].Back} {
			*hops = slices.Clone(*hops)
			for j := range *hops {
				h := &(*hops)[j]
				h.Steps = slices.DeleteFunc(slices.Clone(h.Steps), func(s scenarios.TraceStep) bool { return strings.Contains(s.At, ":policy:") })
				h.Input, h.Walk = inet.Input{}, nil // which reports tell the steps from, and more
				for k := range h.Steps {
					h.Steps[k].Dialect = ""
				}
			}
		}
	}
	return out
}

func (s *foretoldSession) compare(f *Forecast, seen *scenarios.Observed) error {
	s.probes++
	seen.Prediction = f.Against(seen)
	if s.law && f.partly == "" {
		done, predicted := told(seen.Ways), told(f.ways)
		if reflect.DeepEqual(done, predicted) { // as nearly all are, to the bit: a tenth of cmp's time
			return nil
		}
		diff := cmp.Diff(done, predicted, cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateEmpty(),
			cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{}))
		assert.Empty(s.t, diff, "the simulator's ways (-), those predicted from its snapshots (+)")
	}
	return nil
}

// TestASnapshotForetellsTheSimulator is the law: what a snapshot says of a packet is what the node does that it was taken of.
func TestASnapshotForetellsTheSimulator(t *testing.T) {
	all, err := scenarios.Load("../../../scenarios/testdata")
	require.NoError(t, err)
	for _, s := range race.Some(sample.Some(t, all, 4), 4) {
		t.Run(s.Name, func(t *testing.T) {
			b := &foretold{t: t, law: true}
			for _, c := range scenarios.Run(t.Context(), s, b).Checks {
				assert.True(t, c.Passed, "%s: %s", c.At, c.Wrong)
			}
		})
	}
}

// TestAMissingRuleIsFoundByThePrediction takes the hairpin's masquerade out of the snapshots only: what happens is no more what they say.
func TestAMissingRuleIsFoundByThePrediction(t *testing.T) {
	s, err := scenarios.Load("../../../scenarios/testdata/cases/hairpin.yaml")
	require.NoError(t, err)
	b := &foretold{t: t, spoil: func(taken *snapshot.NodeSnapshot) {
		for i := range taken.IPTables {
			taken.IPTables[i].Save, _ = without(taken.IPTables[i].Save, "-A KUBE-SEP-", "KUBE-MARK-MASQ")
		}
	}}
	result := scenarios.Run(t.Context(), s[0], b)
	require.True(t, result.Failed())
	i := slices.IndexFunc(result.Checks, func(c scenarios.Check) bool { return !c.Passed })
	assert.Contains(t, result.Checks[i].Wrong, "not as predicted")
	assert.NotEmpty(t, result.Checks[i].PredictedWays[0].Forward, "the way that was predicted is told")
}

// halfShare is how the real tool prints a share of one half, and thirdShare one of a third.
const halfShare, thirdShare = "--probability 0.50000000000", "--probability 0.33333333349"

// TestAnUnevenShareIsFoundInEveryProbeThatHasOne: the rules give a third where a half is due. What is counted in a hundred tries fits both.
func TestAnUnevenShareIsFoundInEveryProbeThatHasOne(t *testing.T) {
	all, err := scenarios.Load("../../../scenarios/testdata/cases")
	require.NoError(t, err)
	found, some := 0, sample.Nth(all, 6*sample.Every(2))
	for _, s := range some {
		b := &foretold{t: t, spoil: func(taken *snapshot.NodeSnapshot) {
			for i := range taken.IPTables {
				taken.IPTables[i].Save = strings.ReplaceAll(taken.IPTables[i].Save, halfShare, thirdShare)
			}
		}}
		for _, c := range scenarios.Run(t.Context(), s, b).Checks {
			if c.PredictedInPart || !hasHalves(c.Ways) {
				continue
			}
			found++
			assert.True(t, slices.ContainsFunc(c.Disagreements, func(d scenarios.Disagreement) bool {
				return d.Between == scenarios.ExpectedPredicted && strings.Contains(d.Why, "has the chance")
			}), "%s: %s: %s", c.At, c.Name, c.Wrong)
		}
	}
	assert.Greater(t, found, 50/sample.Every(2))
	t.Logf("%d probes", found)
}

// hasHalves reports whether a rule on one of these ways gives a half.
func hasHalves(ways []scenarios.Way) bool {
	return slices.ContainsFunc(ways, func(w scenarios.Way) bool {
		return slices.ContainsFunc(slices.Concat(w.Forward, w.Back), func(h scenarios.Hop) bool {
			return slices.ContainsFunc(h.Steps, func(s scenarios.TraceStep) bool { return strings.Contains(s.Rule, halfShare) })
		})
	})
}

// TestRememberedClientsMakeAPredictionExact: of the client that is in a list, and of another one.
func TestRememberedClientsMakeAPredictionExact(t *testing.T) {
	all, err := scenarios.Load("../../../scenarios/testdata/cases/affinity.yaml")
	require.NoError(t, err)
	s := all[0]
	s.Steps = s.Steps[:2] // the first connection, and the same client again, another client, and another port
	for name, tc := range map[string]struct {
		client netip.Addr
		inPart bool
	}{
		"the lists were read":      {client: netip.MustParseAddr("10.244.1.100")},
		"nobody has read the list": {inPart: true},
	} {
		t.Run(name, func(t *testing.T) {
			result := scenarios.Run(t.Context(), s, &foretold{t: t, client: tc.client, law: true})
			for _, c := range result.Checks {
				assert.True(t, c.Passed, "%s: %s", c.At, c.Wrong)
				assert.Equal(t, tc.inPart && c.Step == 2, c.PredictedInPart, "%s: %s", c.At, c.Name)
			}
		})
	}
}
