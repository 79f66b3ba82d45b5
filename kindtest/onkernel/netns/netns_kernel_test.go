//go:build linux

package netns

import (
	"flag"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// needKernel skips a test that is not asked to use the machine's kernel and tools.
func needKernel(t *testing.T) {
	t.Helper()
	kerneltest.Need(t, "nft", "nfacct", "iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft")
}

// wayKey tells the ways of one packet from each other.
type wayKey struct {
	end            scenarios.End
	host           string
	server, client netip.Addr
	port           uint16
}

func keyOf(w *scenarios.Way) wayKey {
	return wayKey{w.End, w.Host, w.Server.Addr(), w.Client.Addr(), w.Server.Port()}
}

// stepLines are the steps of a way with their hosts and rules, there and back.
func stepLines(w *scenarios.Way) (lines []string) {
	add := func(direction string, hops []scenarios.Hop) {
		for i, h := range hops {
			for _, s := range h.Steps {
				lines = append(lines, fmt.Sprintf("%s, host %d, %s: %s", direction, i+1, h.Host, &s))
			}
		}
	}
	add("there", w.Forward)
	add("back", w.Back)
	return lines
}

func stepsByWay(c *scenarios.Check) map[wayKey][]string {
	out := map[wayKey][]string{}
	for i := range c.Ways {
		out[keyOf(&c.Ways[i])] = stepLines(&c.Ways[i])
	}
	return out
}

// compared counts what a comparison has looked at, by several tests at once.
type compared struct {
	lock                                                   sync.Mutex
	scenarios, checks, ways, steps, undrawn, disagreements int
}

// inMode is the mode of kube-proxy to run the scenarios in that name none: make kernel-cases MODE=nftables. Those that name another one are
// left out then.
var inMode = flag.String("in-mode", "", "the mode of kube-proxy: iptables or nftables; none: each scenario's own")

// oneTool halves the time: every other scenario that names no tool runs with iptables-legacy, and those between with iptables-nft.
var oneTool = flag.Bool("one-tool", false, "run each scenario with one tool, legacy and nft in turn")

// TestKernelCases runs every scenario file on the kernel and in memory. Each must hold
// on the kernel with both tools (or oneTool), and every way that a packet takes there must be one of
// the simulator's: the same rules in the same order on the same hosts, there and back.
func TestKernelCases(t *testing.T) {
	needKernel(t)
	all, err := scenarios.Load("../../../scenarios/testdata")
	require.NoError(t, err)
	modes, err := scenarios.ParseModes(*inMode)
	require.NoError(t, err)
	var count compared
	start := time.Now()
	t.Run("scenarios", func(t *testing.T) {
		for i, s := range all {
			if !sample.InPart(t, i/2) { // both tools are in each part
				continue
			}
			if *oneTool && len(s.IPTables.Dialects) == 0 {
				s.IPTables.Dialects = []netfilter.Dialect{[]netfilter.Dialect{netfilter.Legacy, netfilter.NFT}[i%2]}
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				real := scenarios.RunIn(t.Context(), s, Backend{}, modes...)
				simulated := scenarios.RunIn(t.Context(), s, sim.Backend{}, modes...)
				require.Equal(t, simulated.Skipped, real.Skipped, "every shipped scenario runs on the real kernel")
				require.True(t, real.Skipped == "" || *inMode != "", real.Skipped)
				count.compare(t, real, simulated)
			})
		}
	})
	tools := "both tools"
	if *oneTool {
		tools = "one tool each"
	}
	fmt.Printf("\nnetns: %d scenarios with %s, %d checks, %d ways, %d steps, %d disagreements, %.0f s\n",
		count.scenarios, tools, count.checks, count.ways, count.steps, count.disagreements, time.Since(start).Seconds())
	fmt.Printf("netns: %d of the simulator's ways not drawn by the kernel in %d tries\n", count.undrawn, defaultSamples)
}

func (c *compared) compare(t *testing.T, real, simulated *scenarios.Result) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.scenarios++
	if len(real.Checks) != len(simulated.Checks) {
		var report strings.Builder
		c.disagreements++
		require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{real}, scenarios.WaysFailed))
		t.Fatal(report.String())
	}
	for i := range real.Checks {
		r, m := &real.Checks[i], &simulated.Checks[i]
		c.checks++
		if !assert.True(t, r.Passed, "%s (iptables-%s): expected %s, got %s: %s", r.At, r.Dialect, r.Expected, r.Got, r.Wrong) {
			c.disagreements++
			continue
		}
		ours := stepsByWay(m)
		for key, got := range stepsByWay(r) {
			want, known := ours[key]
			if len(r.Ways) == 1 && len(m.Ways) == 1 {
				want, known = stepLines(&m.Ways[0]), true // a port may be the kernel's choice
			}
			c.ways++
			c.steps += len(got)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !known || diff != "" {
				c.disagreements++
				t.Errorf("%s (iptables-%s): %s: the simulator's way (-), the kernel's (+):\n%s", r.At, r.Dialect, r.Packet, diff)
			}
		}
		c.undrawn += max(len(m.Ways)-len(r.Ways), 0)
	}
}
