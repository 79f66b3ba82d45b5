package fakeipt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
func requireFreshCounts(t *rapid.T, k *Kernel, history string) {
	rs := k.Ruleset(netfilter.IPv4)
	for _, table := range rs.Tables() {
		e := k.edit(rs.family, table.kind, 0)
		require.Zero(t, e.fullUpdate(), "a committed table that the kernel would refuse, after\n%s", history)
		table.chains.each(func(c *chainEntry) {
			require.Equal(t, e.slotOf(c.chain.Name).reached, c.reached, "hooks that reach %s, after\n%s", c.chain.Name, history)
			require.Equal(t, countJumps(table, c.chain.Name), int(c.refs), "references of %s, after\n%s", c.chain.Name, history)
		})
	}
}

// A chain that loses its last way in and gets a jump to a chain with a circle does not make that one be reached.
func TestACircleThatNothingComesToStaysUnreached(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		k := New(Options{Dialect: d})
		run := func(args []string, input string) {
			var out bytes.Buffer
			require.Zero(t, k.Run(args, strings.NewReader(input), &out, &out), out.String())
		}
		run([]string{"iptables-restore"}, "*nat\n:C - [0:0]\n:E - [0:0]\n-A C -j C\n-A POSTROUTING -j E\nCOMMIT\n")
		run([]string{"iptables-restore", "-n"}, "*nat\n-D POSTROUTING 1\n-A E -j C\nCOMMIT\n")
		require.Equal(t, hookCounts{}, k.Ruleset(netfilter.IPv4).Table("nat").chains.get("C").reached)
	}
}

func TestHookCountsAreThoseOfAFreshCount(t *testing.T) {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		t.Run(string(d), func(t *testing.T) {
			commits, refused := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				k := New(Options{Dialect: d})
				restored(t, k, []byte("*nat\n:A - [0:0]\n:B - [0:0]\n:C - [0:0]\n:D - [0:0]\n:E - [0:0]\nCOMMIT\n"))
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
