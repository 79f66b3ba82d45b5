package forall_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

var (
	forallPackets = flag.Int("forall-packets", 0, "packets to compare with walks: half in shipped scenarios, half in generated clusters; "+
		"0: as many as a test of all packages has")
	forallSeed = flag.Uint64("forall-seed", 1, "of the clusters and packets")
)

// comparedPackets are so many if nobody asks for more, or a part of them (internal/sample).
func comparedPackets() int { return cmp.Or(*forallPackets, 6000/sample.Every(3)) }

// kept keeps the clusters that scenarios are played in.
type kept struct {
	sim.Backend
	worlds []*sim.World
	nodes  [][]string
}

func (k *kept) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	w, err := sim.NewWorld(ctx, cluster, sim.Options{Direct: true})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range cluster.Nodes {
		names = append(names, cluster.Nodes[i].Name)
	}
	k.worlds, k.nodes = append(k.worlds, w), append(k.nodes, names)
	return w, nil
}

// played are the nodes of a scenario after its last step, without the connections that they had. Nil if it is not played.
func played(t *testing.T, s *scenarios.Scenario, modes ...scenarios.Mode) (nodes []*packetsim.Host) {
	t.Helper()
	k := &kept{}
	if result := scenarios.RunIn(t.Context(), s, k, modes...); result.Skipped != "" {
		return nil
	}
	for i, w := range k.worlds {
		for _, name := range k.nodes[i] {
			taken, err := snapshot.Of(w.Host(name))
			require.NoError(t, err)
			taken.Conntrack = nil
			h, err := snapshot.NewHost(taken, snapshot.HostOptions{})
			require.NoError(t, err)
			nodes = append(nodes, h)
		}
	}
	return nodes
}

// compared compares the fates of nodes with walks until there were so many packets. next gives the nodes of a cluster.
func compared(t *testing.T, packets int, next func(n int) []*packetsim.Host) {
	var all walked.Report
	perNode := min(1000, max(100, packets/200))
	for n := 0; all.Asked < packets && len(all.Wrong) == 0; n++ {
		for _, h := range next(n) {
			f, err := forall.Of(h, forall.Options{Chance: forall.Exact, Replies: n%4 >= 2}) // of either mode
			require.NoError(t, err)
			r := walked.Compare(f, rand.New(rand.NewPCG(*forallSeed, uint64(n))), perNode)
			all.Add(r)
			if !assert.Empty(t, r.Wrong, r.Text()) {
				break
			}
		}
	}
	t.Log(&all)
	fmt.Printf("%s: %s\n", t.Name(), &all)
}

var modes = []scenarios.Mode{scenarios.ModeIPTables, scenarios.ModeNFTables}

// TestFatesOfShippedScenarios compares the nodes of shipped scenarios, one after the other in a random order, in both modes.
func TestFatesOfShippedScenarios(t *testing.T) {
	all, err := scenarios.Load("../scenarios/testdata")
	require.NoError(t, err)
	order := rand.New(rand.NewPCG(*forallSeed, 0)).Perm(len(all))
	compared(t, comparedPackets()/2, func(n int) []*packetsim.Host {
		return played(t, all[order[n%len(all)]], modes[(n+n/len(all))%2]) // the other mode in every second lap
	})
}

// TestFatesOfGeneratedClusters compares the nodes of generated scenarios, in both modes.
func TestFatesOfGeneratedClusters(t *testing.T) {
	compared(t, comparedPackets()/2, func(n int) []*packetsim.Host {
		return played(t, gen.Example(gen.Options{}, *forallSeed+uint64(n)), modes[n%2])
	})
}
