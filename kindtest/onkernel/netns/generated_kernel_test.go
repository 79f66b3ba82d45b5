//go:build linux

package netns

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// generatedSeeds are as many generated scenarios as a run compares, attemptsOfEach as many packets after each of their steps.
const (
	generatedSeeds = 12
	attemptsOfEach = 8
)

// TestKernelGeneratedScenarios plays generated scenarios on the kernel and in memory: whatever goes, comes, fails and is held
// back, what becomes of packets is the same after each step, and so is what the proxiers wrote and say.
func TestKernelGeneratedScenarios(t *testing.T) {
	needKernel(t)
	var kept atomic.Int64
	taken := 0
	t.Run("scenarios", func(t *testing.T) {
		for seed := range uint64(generatedSeeds) {
			if !sample.InPart(t, int(seed)/2) { // both tools are in each part
				continue
			}
			taken++
			s := gen.Example(gen.Options{}, seed)
			tool := []netfilter.Dialect{netfilter.Legacy, netfilter.NFT}[seed%2]
			if len(s.IPTables.Dialects) > 0 {
				tool = s.IPTables.Dialects[0]
			}
			t.Run(fmt.Sprintf("seed %d with %s", seed, tool), func(t *testing.T) {
				t.Parallel()
				both := []*played{play(t, s, tool, sim.Backend{}), play(t, s, tool, Backend{samples: 60})}
				for i := 0; i <= len(s.Steps) && !t.Failed(); i++ {
					if i > 0 {
						compareBoth(t, i, "the step", both, func(p *played) string { return p.step(&s.Steps[i-1]) })
					}
					comparePackets(t, i, both)
				}
				kept.Add(int64(both[0].kept))
				if t.Failed() {
					var text strings.Builder
					require.NoError(t, scenarios.Write(&text, s))
					t.Log(text.String())
				}
			})
		}
	})
	least := int64(1) // of a part of the seeds
	if taken == generatedSeeds {
		least = generatedSeeds/2 + 1
	}
	assert.GreaterOrEqual(t, kept.Load(), least, "connections that are kept")
}

// played is a scenario that is played on a backend.
type played struct {
	*testing.T
	cluster *scenarios.Cluster
	session scenarios.Session
	player  *scenarios.Player
	kept    int
}

// play starts a scenario's cluster and syncs it.
func play(t *testing.T, s *scenarios.Scenario, tool netfilter.Dialect, b scenarios.Backend) *played {
	t.Helper()
	c, err := scenarios.Resolve(s)
	require.NoError(t, err)
	c.Dialect = tool
	session, err := b.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	p := &played{t, c, session, scenarios.NewPlayer(c, session), 0}
	require.NoError(t, session.Sync(t.Context(), p.nodes()))
	return p
}

func (p *played) nodes() (names []string) {
	for i := range p.cluster.Nodes {
		names = append(names, p.cluster.Nodes[i].Name)
	}
	return names
}

// step makes a step and syncs, and says what the proxiers wrote and say of themselves. Errors have other texts on another kernel.
func (p *played) step(s *scenarios.Step) string {
	out := fmt.Sprintf("made %v", p.player.Act(p.Context(), s) == nil)
	if nodes := p.player.Syncs(s); len(nodes) > 0 {
		out += fmt.Sprintf(", synced %v", p.session.Sync(p.Context(), nodes) == nil)
	}
	for _, name := range p.nodes() {
		written, err := p.session.Writes(p.Context(), name)
		require.NoError(p, err)
		healthy, err := p.session.Healthz(p.Context(), name)
		require.NoError(p, err)
		out += fmt.Sprintf(", %s wrote %v, healthy %v", name, written, healthy)
	}
	return out
}

// comparePackets makes some of the connections that concern the cluster, keeps some, and sends later packets of those that are kept.
func comparePackets(t *testing.T, step int, both []*played) {
	c := both[0].cluster
	attempts := oracle.New(plan.Of(c).Oracle(c.Objects)).Attempts()
	for i := 0; i < both[0].kept; i++ {
		compareBoth(t, step, fmt.Sprintf("kept%d", i+1), both, func(p *played) string {
			return outcome(p.session.Follow(p.Context(), scenarios.FlowPacket{
				Of: fmt.Sprintf("kept%d", i+1), From: scenarios.SideClient, Send: scenarios.PacketData,
			}))
		})
	}
	for i := step; i < len(attempts); i += max(1, len(attempts)/attemptsOfEach) {
		a := attempts[i]
		compareBoth(t, step, fmt.Sprint(a), both, func(p *played) string { return p.connect(a, step == 0 && a.Protocol == "UDP") })
	}
}

func (p *played) connect(a oracle.Attempt, keep bool) string {
	attempt := scenarios.Attempt{
		From: a.From, Via: a.Via, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
		To: scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To},
	}
	if attempt.Via == "" {
		attempt.Via = p.cluster.Nodes[0].Name
	}
	if keep {
		p.kept++
		attempt.Keep = fmt.Sprintf("kept%d", p.kept)
		attempt.Bind.Port = uint16(41000 + p.kept)
	}
	return outcome(p.session.Connect(p.Context(), attempt))
}

// outcome says how the ways of a packet end. The kernel tells a sender a few times a second only that there is no route.
func outcome(seen *scenarios.Observed, err error) string {
	if err != nil {
		return "an error"
	}
	var ends []string
	for i := range seen.Ways {
		w := &seen.Ways[i]
		end := fmt.Sprintf("%s at %s, to %s from %s", w.End, w.Host, w.Server, w.Client.Addr())
		if w.End != scenarios.Lost {
			end += fmt.Sprintf(", heard %v %s", w.Heard, w.With)
		}
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return strings.Join(slices.Compact(ends), "; ")
}

func compareBoth(t *testing.T, step int, what string, both []*played, look func(*played) string) {
	t.Helper()
	simulated, real := look(both[0]), look(both[1])
	assert.Equal(t, simulated, real, "step %d: %s", step, what)
}
