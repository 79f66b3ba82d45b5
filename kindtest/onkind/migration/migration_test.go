//go:build clusters

package migration

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// TestForetoldIsWhatHappens changes the mode of kube-proxy on two clusters that have the same objects, one in each mode, and changes it
// back. Each packet of the scenario fares as chainwalk migrate foretold before the change.
func TestForetoldIsWhatHappens(t *testing.T) {
	kerneltest.Asked(t, variable, "make kind clusters with Docker (make migrate-e2e)")
	program := built(t)
	for _, m := range Modes {
		t.Run("from "+m.From, func(t *testing.T) {
			s, err := Scenario(m.From, m.To)
			require.NoError(t, err)
			b := newBench(t, program, m.From)
			result := scenarios.Run(t.Context(), s, b)
			require.Empty(t, result.Skipped)
			foretold := 0
			for i := range result.Checks {
				c := &result.Checks[i]
				assert.True(t, c.Passed, "%s %s: %s", c.At, c.Name, c.Wrong)
				assert.Empty(t, c.Disagreements, "%s %s: predicted %s, got %s", c.At, c.Name, c.Predicted, c.Got)
				if c.Predicted != "" {
					foretold++
				}
			}
			t.Logf("%d checks, %d of them foretold", len(result.Checks), foretold)
			require.Len(t, b.changes, 2)
			for i := range b.changes {
				judge(t, &b.changes[i])
			}
		})
	}
}

// judge looks at what was foretold of one change.
func judge(t *testing.T, c *change) {
	t.Helper()
	t.Logf("to %s: %s", c.to, c.answer.Answer)
	named := map[string]bool{}
	for _, moved := range slices.Concat(c.answer.Findings, c.answer.Documented) {
		named[moved.Clause] = true
	}
	t.Logf("named: %s", strings.Join(slices.Sorted(maps.Keys(named)), ", "))
	for _, name := range clausesOf(t) {
		assert.True(t, named[name], "%s is not named", name)
	}
	for i := range c.answer.Findings {
		f := &c.answer.Findings[i]
		assert.Equal(t, "hairpin-of-another-node", f.Clause, "a finding that is none: %s", f.Says)
		assert.Equal(t, cause.Martian, f.Cause.Code, f.Cause.Says)
	}
	for i := range c.answer.AllPackets {
		for j := range c.answer.AllPackets[i].Findings {
			f := &c.answer.AllPackets[i].Findings[j]
			assert.Fail(t, "a finding that is none", "%s: %s, before %v, after %v", c.answer.AllPackets[i].Node, f.Packets, f.Before, f.After)
		}
	}
	for node, compared := range c.compared {
		t.Logf("%s as foretold and as it is: %s", node, compared.Answer)
		assert.Empty(t, compared.Unknown)
		for _, what := range compared.Unread {
			assert.Contains(t, what, "order of the iptables backends", "not read")
		}
		for i := range compared.Differences {
			d := &compared.Differences[i]
			assert.True(t, kubeProxyDiffers(c.to, d), "not as foretold: %s, before %v by %v, after %v by %v", d.Packets, d.Before,
				d.DecidedBefore, d.After, d.DecidedAfter)
		}
	}
}

// kubeProxyDiffers says whether kube-proxy in a mode is known to treat packets otherwise than chainwalk's proxier, whose rules migrate
// walks (docs/proxy.md and docs/findings.md, Mode nftables).
func kubeProxyDiffers(mode string, d *allpackets.Difference) bool {
	if mode != "nftables" || os.Getenv("PROXY") == cluster.Chainwalk {
		return false
	}
	in, err := inet.ParseInput(d.Packet)
	if err != nil {
		return false
	}
	decides := func(rules []string, part string) bool {
		return slices.ContainsFunc(rules, func(rule string) bool { return strings.Contains(rule, part) })
	}
	switch {
	case in.Proto.IsICMP() && decides(d.DecidedAfter, "@cluster-ips reject"):
		return true // an echo request to a cluster IP is refused
	case decides(d.DecidedBefore, "!= @cluster-ips"):
		return true // ServiceCIDRs that kube-proxy heard of after its first sync wait for the next full one
	default: // the slice names no node for the endpoint, which calls itself
		return decides(d.DecidedAfter, "chainwalk-sentinel") && len(d.After) == 1 && d.After[0].Fate.Dst == in.Src
	}
}

// clausesOf are the clauses that the names of the scenario's connections begin with: those about which the modes differ.
func clausesOf(t *testing.T) (out []string) {
	t.Helper()
	for line := range strings.Lines(switching) {
		if name, ok := strings.CutPrefix(line, "  - name: "); ok {
			clause, _, _ := strings.Cut(name, ",")
			out = append(out, clause)
		}
	}
	require.NotEmpty(t, out)
	return out
}
