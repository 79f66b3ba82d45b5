package differ

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	_ "github.com/chainwalk/chainwalk/internal/ram"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// TestStateOfWhatIsDrawnIsReadAgain holds that all that the search of the tools' text can draw leaves a state which is read again, and is
// the same: the tools say on a folder what they say in memory, and each rule has all its values again.
func TestStateOfWhatIsDrawnIsReadAgain(t *testing.T) {
	race.OneGoroutine(t)
	sample.Checks(t, 8)
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			t.Run(tool("iptables", d, f), rapid.MakeCheck(func(t *rapid.T) {
				g := newTextGen(rapid.Uint64().Draw(t, "seed"), d, f)
				g.help = drawnHelp()
				session := rapid.SampledFrom([]func() []textStep{g.session, g.wide, g.sweep}).Draw(t, "session")
				requireKept(t, d, session())
			}))
		}
	}
}

// requireKept makes runs and holds that the state is kept after each.
func requireKept(t *rapid.T, d netfilter.Dialect, steps []textStep) {
	memory := newFakeRunner(d, machineEtc())
	for i := range steps {
		_, err := memory.run(&steps[i])
		require.NoError(t, err)
		again, err := readAgain(memory.kernel)
		require.NoError(t, err, "after %s", &steps[i])
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			requireSameTables(t, memory.kernel.Ruleset(f), again.Ruleset(f), &steps[i])
		}
		for _, argv := range [][]string{{tool("iptables-save", d, netfilter.IPv4), "-c"}, {tool("iptables-save", d, netfilter.IPv6), "-c"},
			{"ipset", "save"}, {"nfacct", "list"}} {
			look := &textStep{Argv: argv}
			require.Equal(t, steadyRun(runFake(memory.kernel, look.Argv, "")), steadyRun(runFake(again, look.Argv, "")), "after %s", &steps[i])
		}
	}
}

// requireSameTables compares all that the rules hold, also what no tool prints.
func requireSameTables(t *rapid.T, want, got *ruleset.Ruleset, step *textStep) {
	for _, table := range want.Tables() {
		other := got.Table(table.Name())
		require.NotNil(t, other, "after %s", step)
		for c := range table.Chains() {
			o := other.Chain(c.Name)
			require.NotNil(t, o, "after %s", step)
			require.True(t, reflect.DeepEqual(c, o), "chain %s after %s", c.Name, step)
			require.Equal(t, []any{table.References(c.Name), table.Made(c.Name), table.CountsPolicy(c.Name)},
				[]any{other.References(c.Name), other.Made(c.Name), other.CountsPolicy(c.Name)}, "after %s", step)
		}
	}
}

// TestStateOnAFolderIsThatInMemory runs what the search draws on a folder beside a kernel in memory.
func TestStateOnAFolderIsThatInMemory(t *testing.T) {
	for _, d := range race.Some([]netfilter.Dialect{netfilter.Legacy, netfilter.NFT}, 2) {
		for _, f := range race.Some([]netfilter.Family{netfilter.IPv4, netfilter.IPv6}, 2) {
			t.Run(tool("iptables", d, f), func(t *testing.T) {
				g := newTextGen(1, d, f)
				for range 3 {
					folder := newFolderRunner(d, t.TempDir(), machineEtc())
					for _, step := range g.wide() {
						run, err := folder.run(&step)
						require.NoError(t, err)
						require.False(t, strings.HasSuffix(run.Stderr, notAsInMemory), &step)
						require.NotContains(t, run.Stderr, " cannot be used: ", &step)
					}
				}
			})
		}
	}
}

// steadyRun is what a tool has said without what differs from one run to the next.
func steadyRun(run toolrun.Run) toolrun.Run {
	run, _ = toolrun.Steady(run)
	return run
}
