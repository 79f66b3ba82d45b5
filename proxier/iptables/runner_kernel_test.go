//go:build linux

package iptables

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// onKernel runs the test with each dialect and family, each in a new network namespace.
func onKernel(t *testing.T, test func(t *testing.T, runner *Runner)) {
	kerneltest.Need(t)
	for _, variant := range []string{"legacy", "nft"} {
		for _, protocol := range []Protocol{ProtocolIPv4, ProtocolIPv6} {
			t.Run(variant+" "+string(protocol), func(t *testing.T) {
				tools := ToolsOf(protocol, variant)
				kerneltest.Need(t, tools.iptables, tools.Save, tools.Restore)
				runner, err := New(kerneltest.New(t).Exec(), protocol, Options{
					Tools: map[Protocol]Tools{protocol: tools},
					Clock: newWaitClock(),
				})
				require.NoError(t, err)
				test(t, runner)
			})
		}
	}
}

func TestKernelChains(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		require.NoError(t, runner.Present())
		for _, table := range []Table{TableNAT, TableFilter, TableMangle} {
			existed, err := runner.EnsureChain(table, "FOO")
			require.NoError(t, err)
			assert.False(t, existed)
			existed, err = runner.EnsureChain(table, "FOO")
			require.NoError(t, err)
			assert.True(t, existed)
			existed, err = runner.EnsureChain(table, ChainOutput)
			require.NoError(t, err)
			assert.True(t, existed, "a built-in chain")

			assertChain(t, runner, table, "FOO", true)
			assertChain(t, runner, table, "BAR", false)
			require.NoError(t, runner.FlushChain(table, "FOO"))
			require.NoError(t, runner.DeleteChain(table, "FOO"))
			assertChain(t, runner, table, "FOO", false)
			assert.ErrorIs(t, runner.FlushChain(table, "FOO"), errNotFound)
			assert.ErrorIs(t, runner.DeleteChain(table, "FOO"), errNotFound)
		}
		_, err := runner.EnsureChain(TableNAT, Chain(strings.Repeat("X", 29)))
		assert.ErrorContains(t, err, "too long")
		_, err = runner.EnsureChain("nosuch", "FOO")
		assert.ErrorContains(t, err, "nosuch")
	})
}

func assertChain(t *testing.T, runner *Runner, table Table, chain Chain, want bool) {
	t.Helper()
	exists, err := runner.ChainExists(table, chain)
	require.NoError(t, err)
	assert.Equal(t, want, exists)
}

// The hook rules of kube-proxy: a tool whose -C does not know its own rules would add them at each sync.
func TestKernelRulesAreAddedOnce(t *testing.T) {
	hook := func(comment string, more ...string) []string {
		return append(more, "-m", "comment", "--comment", comment, "-j", "KUBE-SERVICES")
	}
	rules := [][]string{
		hook("kubernetes service portals"),
		hook("kubernetes service portals", "-m", "conntrack", "--ctstate", "NEW"),
		hook("kubernetes load balancer firewall", "-m", "conntrack", "--ctstate", "NEW"),
		{"-m", "mark", "--mark", "0x4000/0x4000", "-j", "RETURN"},
		{"-i", "eth0", "-p", "tcp", "-m", "tcp", "--dport", "80", "-j", "ACCEPT"},
		{"-m", "addrtype", "--dst-type", "LOCAL", "-j", "KUBE-SERVICES"},
		{"-j", "KUBE-SERVICES"},
	}
	onKernel(t, func(t *testing.T, runner *Runner) {
		_, err := runner.EnsureChain(TableFilter, "KUBE-SERVICES")
		require.NoError(t, err)
		for round := range 2 {
			for _, rule := range rules {
				existed, err := runner.EnsureRule(Prepend, TableFilter, ChainInput, rule...)
				require.NoError(t, err)
				assert.Equal(t, round == 1, existed, "%v", rule)
			}
		}
		assert.Len(t, rulesOf(t, runner, TableFilter, ChainInput), len(rules))
		for range 2 {
			for _, rule := range rules {
				require.NoError(t, runner.DeleteRule(TableFilter, ChainInput, rule...))
			}
		}
		assert.Empty(t, rulesOf(t, runner, TableFilter, ChainInput))
	})
}

func TestKernelRulePositionsAndMissingChains(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		for _, rule := range []struct {
			position RulePosition
			comment  string
		}{{Append, "b"}, {Append, "c"}, {Prepend, "a"}} {
			existed, err := runner.EnsureRule(rule.position, TableNAT, ChainPostrouting,
				"-m", "comment", "--comment", rule.comment, "-j", "ACCEPT")
			require.NoError(t, err)
			assert.False(t, existed)
		}
		assert.Equal(t, []string{
			"-A POSTROUTING -m comment --comment a -j ACCEPT",
			"-A POSTROUTING -m comment --comment b -j ACCEPT",
			"-A POSTROUTING -m comment --comment c -j ACCEPT",
		}, rulesOf(t, runner, TableNAT, ChainPostrouting))

		_, err := runner.EnsureRule(Append, TableNAT, "NOPE", "-j", "ACCEPT")
		assert.ErrorIs(t, err, errNotFound)
		_, err = runner.EnsureRule(Append, TableNAT, ChainPostrouting, "-j", "NOPE")
		assert.ErrorIs(t, err, errNotFound)
		assert.NoError(t, runner.DeleteRule(TableNAT, ChainPostrouting, "-j", "NOPE"))
		assert.NoError(t, runner.DeleteRule(TableNAT, "NOPE", "-j", "ACCEPT"))

		_, err = runner.EnsureRule(Append, TableNAT, ChainPostrouting, "--nonsense")
		assert.ErrorContains(t, err, "nonsense")
		assert.NotErrorIs(t, err, errNotFound)
	})
}

func rulesOf(t *testing.T, runner *Runner, table Table, chain Chain) []string {
	t.Helper()
	var buffer bytes.Buffer
	require.NoError(t, runner.SaveInto(table, &buffer))
	var rules []string
	for line := range strings.Lines(buffer.String()) {
		if strings.HasPrefix(line, "-A "+string(chain)+" ") {
			rules = append(rules, strings.TrimSpace(line))
		}
	}
	return rules
}

// What is restored is read back in the words it was written in: tools that do not fit the libraries or the kernel lost
// the mark match, or the address of DNAT (kubernetes/kubernetes#112477, #114537).
func TestKernelRestoreReadsBack(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		to := "10.0.0.1:80"
		if runner.IsIPv6() {
			to = "[fd00:10::1]:80"
		}
		rules := []string{
			"-A FOO -m mark ! --mark 0x4000/0x4000 -j RETURN",
			"-A FOO -j MARK --set-xmark 0x4000/0x0",
			"-A FOO -m comment --comment \"kubernetes service traffic requiring SNAT\" -j MARK --set-xmark 0x1/0x1",
			"-A FOO -p tcp -m tcp -j DNAT --to-destination " + to,
		}
		input := "*nat\n:FOO - [0:0]\n" + strings.Join(rules, "\n") + "\nCOMMIT\n"
		require.NoError(t, runner.RestoreAll([]byte(input), NoFlushTables, RestoreCounters))
		assert.Equal(t, rules, rulesOf(t, runner, TableNAT, "FOO"))
	})
}

func TestKernelRestoreFlags(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		_, err := runner.EnsureChain(TableNAT, "OLD")
		require.NoError(t, err)
		both := []byte("*nat\n:NEW - [0:0]\nCOMMIT\n*filter\n:NEW - [0:0]\nCOMMIT\n")

		require.NoError(t, runner.Restore(TableNAT, both, NoFlushTables, NoRestoreCounters))
		assertChain(t, runner, TableNAT, "OLD", true)
		assertChain(t, runner, TableNAT, "NEW", true)
		assertChain(t, runner, TableFilter, "NEW", false)

		require.NoError(t, runner.RestoreAll(both, FlushTables, NoRestoreCounters))
		assertChain(t, runner, TableNAT, "OLD", false)
		assertChain(t, runner, TableFilter, "NEW", true)
	})
}

func TestKernelRestoreErrors(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		legacy := runner.version.dialect == dialectLegacy
		rows := []struct {
			name, input string
			legacy, nft int // lines
		}{
			{name: "unknown option", input: "*nat\n:A - [0:0]\n-A A --nonsense\nCOMMIT\n", legacy: 3, nft: 3},
			{name: "unknown match in the second table", input: "*filter\n:A - [0:0]\nCOMMIT\n\n*nat\n:A - [0:0]\n-A A -m nosuch\nCOMMIT\n",
				legacy: 7, nft: 7},
			{name: "missing chain", input: "*nat\n-A NOPE -j ACCEPT\nCOMMIT\n", legacy: 2, nft: 2},
			{name: "jump to a missing chain", input: "*nat\n:A - [0:0]\n-A A -j NOPE\nCOMMIT\n", legacy: 3, nft: 4},
			{name: "loop", input: "*nat\n:A - [0:0]\n-A A -j A\n-A OUTPUT -j A\nCOMMIT\n", legacy: 5, nft: 4},
			{name: "delete a chain in use", input: "*nat\n:A - [0:0]\n-A OUTPUT -j A\n-X A\nCOMMIT\n", legacy: 4, nft: 4},
			{name: "no commit", input: "*nat\n:A - [0:0]\n", legacy: 3, nft: 3},
			{name: "no table", input: "-A A -j ACCEPT\n", legacy: 1, nft: 1},
		}
		for _, row := range rows {
			err := runner.RestoreAll([]byte(row.input), NoFlushTables, RestoreCounters)
			var refused *RestoreError
			if !assert.ErrorAs(t, err, &refused, row.name) {
				continue
			}
			want := row.nft
			if legacy {
				want = row.legacy
			}
			assert.Equal(t, want, refused.Line, "%s: %v", row.name, err)
			assert.Equal(t, strings.Split(row.input, "\n")[refused.Line-1], refused.Input, row.name)
			assertChain(t, runner, TableNAT, "A", false)
		}
	})
}

func TestKernelMonitor(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		clk := runner.clock.(*waitClock)
		tables := []Table{TableMangle, TableNAT, TableFilter}
		reloads, stop, done := 0, make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			runner.Monitor(testCanary, tables, nil, func() { reloads++ }, testInterval, stop)
		}()
		for round := range 3 {
			assert.Equal(t, testInterval, <-clk.waiting)
			assert.Equal(t, round, reloads)
			for _, table := range tables {
				assertChain(t, runner, table, testCanary, true)
				require.NoError(t, runner.RestoreAll([]byte("*"+string(table)+"\nCOMMIT\n"), FlushTables, NoRestoreCounters))
			}
			if round < 2 {
				clk.Step(testInterval)
			}
		}
		close(stop)
		<-done
		for _, table := range tables {
			assertChain(t, runner, table, testCanary, false)
		}
	})
}

func TestKernelWithoutTheTools(t *testing.T) {
	onKernel(t, func(t *testing.T, runner *Runner) {
		_, err := New(exec.New(), runner.Protocol(), Options{
			Tools:     map[Protocol]Tools{runner.Protocol(): {iptables: "no-such-iptables"}},
			TimeLimit: time.Minute,
		})
		assert.ErrorIs(t, err, exec.ErrExecutableNotFound)
		assert.ErrorContains(t, err, "install iptables")
	})
}
