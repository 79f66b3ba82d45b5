package forall_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/walked"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// mutants are the rules of a text with one of them gone, with its last word but the target's another one, or twice.
func mutants(text string) map[string]string {
	out := map[string]string{}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "-A ") {
			continue
		}
		with := func(how string, instead ...string) {
			out[how+": "+strings.TrimSpace(line)] = strings.Join(slices.Concat(lines[:i], instead, lines[i+1:]), "")
		}
		with("gone")
		with("twice", line, line)
		with("other port", strings.NewReplacer("--dport 80 ", "--dport 81 ", ":8080\n", ":8081\n").Replace(line))
		with("no mark", strings.Replace(line, "-j MARK --set-xmark 0x4000/0x4000", "-j MARK --set-xmark 0x0/0x0", 1))
	}
	return out
}

// TestMutantsOfOneRule plants faults in rules like kube-proxy's, of which it takes every third (internal/sample): the fates are alike if
// and only if no walk tells the mutant from them.
func TestMutantsOfOneRule(t *testing.T) {
	text := (&services{count: 2}).text()
	host := (&services{count: 2}).host(t)
	f, err := forall.Of(host, forall.Options{Families: only4, Chance: forall.Exact})
	require.NoError(t, err)
	boxes := boxesOf(f)
	r, alike, differ := rand.New(rand.NewPCG(1, 2)), 0, 0
	all := mutants(text)
	for _, name := range sample.Some(t, slices.Sorted(maps.Keys(all)), 3) {
		mutant := all[name]
		other := hostOfServices(t, mutant)
		g, err := forall.Of(other, forall.Options{Families: only4, Chance: forall.Exact, Against: f})
		require.NoError(t, err, name)
		found := slices.Collect(f.Diff(g))
		require.Equal(t, f.Equal(g), len(found) == 0, name)
		for _, d := range found {
			require.True(t, walksDiffer(t, f, other, &d.Witness), "%s: %s", name, d.Witness.Full())
		}
		if differ += min(len(found), 1); len(found) > 0 {
			continue
		}
		alike++
		for i := range boxes {
			if in, possible := walked.Draw(&boxes[i], r); possible && len(boxes[i].Names) == 0 {
				require.False(t, walksDiffer(t, f, other, &in), "%s: %s", name, in.Full())
			}
		}
	}
	require.Positive(t, alike)
	require.Positive(t, differ)
}

// walksDiffer says whether a walk of a packet through another host says something else than the fates.
func walksDiffer(t *testing.T, f *forall.Fates, other *packetsim.Host, in *inet.Input) bool {
	t.Helper()
	want, err := f.At(*in)
	require.NoError(t, err)
	if !want.Known() {
		return false
	}
	otherwise, err := forall.Confirm(other, forall.New, *in, want, 0, 1e-12)
	require.NoError(t, err)
	return otherwise != ""
}
