package differ

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestNoDeadRuleIsMet walks random packets through random rulesets: no rule that any of them matches is called dead.
func TestNoDeadRuleIsMet(t *testing.T) {
	race.OneGoroutine(t)
	rulesets, packets := 12/sample.Every(3), comparedPackets/sample.Every(12)
	if n := *forallPackets; n > 0 {
		rulesets, packets = max(rulesets, n/5000), n
	}
	for _, language := range []string{"legacy", "nft", "nftables"} {
		for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			t.Run(fmt.Sprintf("%s/%d", language, family), func(t *testing.T) {
				met, dead := 0, 0
				g := &gen{r: rand.New(rand.NewPCG(*forallSeed, 7*uint64(family))), w: worlds[family]}
				for n := range rulesets {
					h, text := drawnRoutedHost(t, g, language)
					if h == nil {
						continue
					}
					found, err := forall.Dead(h)
					require.NoError(t, err)
					is := map[string]forall.DeadRule{}
					for _, r := range found.Rules {
						is[deadPlace(r.Table, r.Chain, r.Number, r.Handle)] = r
					}
					dead += len(found.Rules)
					for range packets {
						in, err := drawnFirst(g)
						require.NoError(t, err)
						outcomes, err := h.Walk(in)
						if err != nil {
							continue
						}
						for i := range outcomes {
							met += notDead(t, is, outcomes[i].Steps)
						}
						if t.Failed() {
							t.Logf("ruleset %d: %s\n%s", n, in.Full(), text)
							return
						}
					}
				}
				assert.NotZero(t, met)
				assert.NotZero(t, dead)
				t.Log(dead, "dead rules,", met, "rules met")
			})
		}
	}
}

// drawnFirst is the first packet of a random flow.
func drawnFirst(g *gen) (inet.Input, error) {
	f, s := g.newFlow()
	by := map[string]string{clientPlace: " in " + clientDev, serverPlace: " in " + serverDev, nodePlace: " local"}[f.from]
	return inet.ParseInput(s.Packet + by)
}

func deadPlace(table, chain string, number int, handle uint64) string {
	if handle != 0 {
		number = 0 // a step of nftables is named by the handle
	}
	return fmt.Sprint(table, " ", chain, " ", number, " ", handle)
}

// notDead fails for each rule that a packet has matched and that is called dead. It returns how many rules were met.
func notDead(t *testing.T, is map[string]forall.DeadRule, steps []packetsim.Step) (met int) {
	for i := range steps {
		s := &steps[i]
		if s.Kind != packetsim.StepRule {
			continue
		}
		met++
		table := s.Table
		if s.Family != "" {
			table = s.Family + " " + table
		}
		if r, called := is[deadPlace(table, s.Chain, s.Number, s.Handle)]; called {
			t.Errorf("%s is met and called dead: %+v", s, r)
		}
	}
	return met
}
