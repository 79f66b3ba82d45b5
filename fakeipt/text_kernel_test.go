//go:build linux

package fakeipt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
)

// realMachine is a network namespace of its own on this machine.
type realMachine struct{ ns *namespace.Namespace }

// needKernel skips a test that is not asked to run real tools.
func needKernel(t testing.TB) {
	t.Helper()
	tools := []string{"nfacct", "ipset"}
	for _, tool := range []string{"iptables-legacy", "iptables-nft", "ip6tables-legacy", "ip6tables-nft"} {
		tools = append(tools, tool, tool+"-restore", tool+"-save")
	}
	kerneltest.Need(t, tools...)
}

// newRealMachine makes a namespace that goes away with the test.
func newRealMachine(t testing.TB) *realMachine {
	m := &realMachine{}
	m.make(t)
	t.Cleanup(func() { require.NoError(t, m.ns.Close()) })
	return m
}

func (m *realMachine) make(t testing.TB) {
	ns, err := namespace.New()
	require.NoError(t, err)
	m.ns = ns
}

func (m *realMachine) reset(t testing.TB) {
	require.NoError(t, m.ns.Close())
	m.make(t)
}

func (m *realMachine) run(t testing.TB, argv []string, stdin string) (string, string, int) {
	r, err := m.ns.Run(argv, stdin)
	require.NoError(t, err)
	return r.Stdout, r.Stderr, r.Status
}

func TestFilesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	machines := map[netfilter.Dialect]machine{netfilter.Legacy: newRealMachine(t), netfilter.NFT: newRealMachine(t)}
	datadriven.Walk(t, "testdata/tools", func(t *testing.T, path string) {
		runFile(t, path, machines)
	})
}

// TestGeneratedRulesOnTheRealKernel gives the same generated input to the real tools
// and to the fake ones.
func TestGeneratedRulesOnTheRealKernel(t *testing.T) {
	needKernel(t)
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		t.Run(string(d), func(t *testing.T) {
			host := newRealMachine(t)
			rapid.Check(t, func(rt *rapid.T) {
				machines := [2]machine{host, newFakeMachine(d)}
				for _, m := range machines {
					m.reset(t)
				}
				var history strings.Builder
				step := func(argv []string, stdin string) {
					fmt.Fprintf(&history, "$ %s\n%s", strings.Join(argv, " "), stdin)
					real := oneRun(t, machines[0], d, append([]string{}, argv...), stdin)
					fake := oneRun(t, machines[1], d, append([]string{}, argv...), stdin)
					require.Equal(rt, real, fake, "after\n%s", history.String())
				}
				step([]string{"nfacct", "add", "there"}, "")
				step([]string{"ipset", "restore"}, genSets)
				for range rapid.IntRange(1, 3).Draw(rt, "restores") {
					argv := []string{"iptables-restore"}
					if rapid.IntRange(0, 3).Draw(rt, "noflush") > 0 {
						argv = append(argv, "-n")
					}
					step(argv, genRestore(rt))
					step([]string{"iptables-save", "-c"}, "")
				}
			})
		})
	}
}

// TestTypeNamesOfHelpOnTheRealKernel holds the list of ICMP types, which firewalld reads from the help of the protocol's match.
func TestTypeNamesOfHelpOnTheRealKernel(t *testing.T) {
	needKernel(t)
	host := newRealMachine(t)
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for tool, protocol := range map[string]string{"iptables": "icmp", "ip6tables": "ipv6-icmp"} {
			argv := []string{withDialect(tool, d), "-p", protocol, "--help"}
			typeNames := func(m machine) string {
				stdout, stderr, status := m.run(t, argv, "")
				require.Zero(t, status, stderr)
				_, names, ok := strings.Cut(stdout, "Valid ICMP")
				require.True(t, ok, stdout)
				return names
			}
			require.Equal(t, typeNames(host), typeNames(newFakeMachine(d)), argv)
		}
	}
}
