package ruleset_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// genJumps are commands that make, move and cut jumps between few chains, so that circles, chains that lose their last
// way in, and rules that nothing comes to are frequent.
func genJumps(t *rapid.T) []string {
	user := []string{"A", "B", "C", "D", "E"}
	chain := rapid.SampledFrom(append([]string{"OUTPUT", "PREROUTING", "POSTROUTING"}, user...))
	target := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return "-j " + rapid.SampledFrom(user).Draw(t, "to") }),
		rapid.Custom(func(t *rapid.T) string { return "-g " + rapid.SampledFrom(user).Draw(t, "to") }),
		rapid.SampledFrom([]string{"-j ACCEPT", "-j RETURN", "-s 10.0.0.1 -j ACCEPT", "-j MASQUERADE", "-p tcp -j REDIRECT"}),
	)
	number := rapid.IntRange(1, 3)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return "-D " + chain.Draw(t, "chain") + fmt.Sprintf(" %d", number.Draw(t, "number"))
		case 1:
			return "-R " + chain.Draw(t, "chain") + fmt.Sprintf(" %d ", number.Draw(t, "number")) + target.Draw(t, "target")
		case 2:
			return "-I " + chain.Draw(t, "chain") + " " + target.Draw(t, "target")
		case 3:
			return rapid.SampledFrom([]string{"-F", "-X", "-N"}).Draw(t, "op") + " " + chain.Draw(t, "chain")
		case 4:
			return "-E " + rapid.SampledFrom(user).Draw(t, "from") + " " + rapid.SampledFrom(user).Draw(t, "to")
		}
		return "-A " + chain.Draw(t, "chain") + " " + target.Draw(t, "target")
	}), 1, 6).Draw(t, "commands")
}

// requireFreshCounts compares what the table knows about its chains with what a count from the hooks says.
func requireFreshCounts(t *rapid.T, k *fakeipt.Kernel, history string) {
	rs := k.Ruleset(netfilter.IPv4)
	for _, table := range rs.Tables() {
		fresh, errno := ruleset.FreshCounts(rs, table)
		require.Zero(t, errno, "a committed table that the kernel would refuse, after\n%s", history)
		for c := range table.Chains() {
			require.Equal(t, fresh[c.Name], table.Reached(c.Name), "hooks that reach %s, after\n%s", c.Name, history)
			require.Equal(t, countJumps(table, c.Name), table.References(c.Name), "references of %s, after\n%s", c.Name, history)
		}
	}
}

// countJumps is the number of rules that jump or go to a chain.
func countJumps(t *ruleset.Table, chain string) int {
	n := 0
	for c := range t.Chains() {
		for _, r := range c.Rules {
			if j, ok := r.Target.(*xtables.Jump); ok && j.Chain == chain {
				n++
			}
		}
	}
	return n
}

// A chain that loses its last way in and gets a jump to a chain with a circle does not make that one be reached.
func TestACircleThatNothingComesToStaysUnreached(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		k := fakeipt.New(fakeipt.Options{Dialect: d})
		run := func(args []string, input string) {
			var out bytes.Buffer
			require.Zero(t, k.Run(args, strings.NewReader(input), &out, &out), out.String())
		}
		run([]string{"iptables-restore"}, "*nat\n:C - [0:0]\n:E - [0:0]\n-A C -j C\n-A POSTROUTING -j E\nCOMMIT\n")
		run([]string{"iptables-restore", "-n"}, "*nat\n-D POSTROUTING 1\n-A E -j C\nCOMMIT\n")
		require.Zero(t, k.Ruleset(netfilter.IPv4).Table("nat").Reached("C"))
	}
}

func TestHookCountsAreThoseOfAFreshCount(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		t.Run(string(d), func(t *testing.T) {
			commits, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				k := fakeipt.New(fakeipt.Options{Dialect: d})
				input := "*nat\n:A - [0:0]\n:B - [0:0]\n:C - [0:0]\n:D - [0:0]\n:E - [0:0]\nCOMMIT\n"
				require.Zero(t, k.Run([]string{"iptables-restore", "--noflush"}, strings.NewReader(input), io.Discard, io.Discard))
				var history strings.Builder
				for range rapid.IntRange(1, 6).Draw(t, "commits") {
					commands := genJumps(t)
					var out bytes.Buffer
					status := 0
					if len(commands) == 1 {
						argv := append([]string{"iptables", "-t", "nat"}, strings.Fields(commands[0])...)
						status = k.Run(argv, nil, &out, &out)
					} else {
						input := "*nat\n" + strings.Join(commands, "\n") + "\nCOMMIT\n"
						status = k.Run([]string{"iptables-restore", "-n"}, strings.NewReader(input), &out, &out)
					}
					fmt.Fprintf(&history, "%s\n%s", strings.Join(commands, "\n"), out.String())
					commits++
					if status != 0 {
						refused++
					}
					requireFreshCounts(t, k, history.String())
				}
			})
			t.Logf("%d commits, %d of them refused", commits, refused)
			require.Less(t, refused, commits, "nothing was committed")
		})
	}
}
