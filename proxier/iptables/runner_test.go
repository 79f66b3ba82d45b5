package iptables

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"
)

const (
	legacy189 = "v1.8.9 (legacy)"
	wait      = "-w 5 -W 100000 "
	ignored   = "Ignoring deprecated --wait-interval option.\n"
	noChain   = "iptables: No chain/target/match by that name.\n"
	noRule    = "iptables: Bad rule (does a matching rule exist in that chain?).\n"
	chainIs   = "iptables: Chain already exists.\n"
	locked    = "Another app is currently holding the xtables lock. Stopped waiting after 5s.\n"
)

func TestWaitOptionsByVersion(t *testing.T) {
	rows := []struct {
		version, wait, restoreWait string
		randomFully                bool
	}{
		{version: "v1.4.11"},
		{version: "v1.4.19.1"},
		{version: "v1.4.20", wait: "-w"},
		{version: "v1.4.21", wait: "-w"},
		{version: "v1.4.22", wait: "-w 5"},
		{version: "v1.6.0", wait: "-w 5"},
		{version: "v1.6.1", wait: "-w 5 -W 100000"},
		{version: "v1.6.2", wait: "-w 5 -W 100000", restoreWait: "-w 5 -W 100000", randomFully: true},
		{version: "v1.8.9 (legacy)", wait: "-w 5 -W 100000", restoreWait: "-w 5 -W 100000", randomFully: true},
		{version: "v1.8.9 (nf_tables)", wait: "-w 5 -W 100000", restoreWait: "-w 5 -W 100000", randomFully: true},
	}
	for _, row := range rows {
		t.Run(row.version, func(t *testing.T) {
			runner := newScripted(t, row.version, Options{})
			assert.Equal(t, row.wait, strings.Join(runner.version.waitArgs(), " "))
			assert.Equal(t, row.restoreWait, strings.Join(runner.version.restoreWaitArgs(), " "))
			assert.Equal(t, row.randomFully, runner.HasRandomFully())
			assert.Equal(t, strings.Contains(row.version, "nf_tables"), runner.version.dialect == dialectNFT)
		})
	}
}

// result is what a method returned; methods without a bool return false.
type result struct {
	yes bool
	err error
}

func TestChainsAndRules(t *testing.T) {
	ensure := func(r *Runner) result { yes, err := r.EnsureChain(TableNAT, "FOO"); return result{yes, err} }
	exists := func(r *Runner) result { yes, err := r.ChainExists(TableNAT, "FOO"); return result{yes, err} }
	flush := func(r *Runner) result { return result{err: r.FlushChain(TableNAT, "FOO")} }
	remove := func(r *Runner) result { return result{err: r.DeleteChain(TableFilter, "FOO")} }
	prepend := func(r *Runner) result {
		yes, err := r.EnsureRule(Prepend, TableFilter, ChainInput, "-m", "comment", "--comment", "a b", "-j", "FOO")
		return result{yes, err}
	}
	appendRule := func(r *Runner) result {
		yes, err := r.EnsureRule(Append, TableNAT, "FOO", "-j", "BAR")
		return result{yes, err}
	}
	sideways := func(r *Runner) result {
		yes, err := r.EnsureRule("-R", TableNAT, "FOO", "-j", "BAR")
		return result{yes, err}
	}
	deleteRule := func(r *Runner) result { return result{err: r.DeleteRule(TableNAT, "FOO", "-j", "BAR")} }

	rows := []struct {
		name    string
		do      func(*Runner) result
		steps   []step
		yes     bool
		wantErr string
		wantIs  error
	}{
		{name: "a new chain is made", do: ensure,
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", stderr: ignored}}},
		{name: "a chain that is there stays", do: ensure, yes: true,
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", stderr: ignored + chainIs, exit: 1}}},
		{name: "a chain made by another program meanwhile is there", do: ensure, yes: true,
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", stderr: "iptables v1.8.9 (nf_tables):  CHAIN_ADD failed (File exists): " +
				"chain FOO\n", exit: 4}}},
		{name: "exit status 1 for another reason is an error", do: ensure, wantErr: "making chain FOO of table nat: iptables -w 5 -W 100000 " +
			"-N FOO -t nat: exit status 1: iptables: Incompatible with this kernel.",
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", stderr: "iptables: Incompatible with this kernel.\n", exit: 1}}},
		{name: "a chain is not made while locked", do: ensure, wantErr: "try again later", wantIs: errResourceProblem,
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", stderr: locked, exit: 4}}},
		{name: "no tool", do: ensure, wantErr: "install iptables", wantIs: exec.ErrExecutableNotFound,
			steps: []step{{run: "iptables " + wait + "-N FOO -t nat", err: exec.ErrExecutableNotFound}}},

		{name: "a chain exists", do: exists, yes: true,
			steps: []step{{run: "iptables " + wait + "-S FOO -t nat", stdout: "-N FOO\n"}}},
		{name: "a chain does not exist", do: exists,
			steps: []step{{run: "iptables " + wait + "-S FOO -t nat", stderr: noChain, exit: 1}}},
		{name: "a chain does not exist, as nft tools say it", do: exists,
			steps: []step{{run: "iptables " + wait + "-S FOO -t nat", stderr: "iptables v1.8.9 (nf_tables): chain `FOO' in table `nat' is " +
				"incompatible, use 'nft' tool.\n", exit: 1}}},
		{name: "whether a chain exists is not known", do: exists, wantErr: "looking for chain FOO of table nat", wantIs: errResourceProblem,
			steps: []step{{run: "iptables " + wait + "-S FOO -t nat", stderr: locked, exit: 4}}},

		{name: "flush", do: flush, steps: []step{{run: "iptables " + wait + "-F FOO -t nat"}}},
		{name: "flush a chain that is not there", do: flush, wantErr: "flushing chain FOO of table nat", wantIs: errNotFound,
			steps: []step{{run: "iptables " + wait + "-F FOO -t nat", stderr: noChain, exit: 1}}},
		{name: "delete", do: remove, steps: []step{{run: "iptables " + wait + "-X FOO -t filter"}}},
		{name: "delete a chain that is not there", do: remove, wantErr: "deleting chain FOO of table filter", wantIs: errNotFound,
			steps: []step{{run: "iptables " + wait + "-X FOO -t filter", stderr: noChain, exit: 1}}},
		{name: "delete a chain in use", do: remove, wantErr: "Too many links",
			steps: []step{{run: "iptables " + wait + "-X FOO -t filter", stderr: "iptables: Too many links.\n", exit: 1}}},

		{name: "a rule that is there stays", do: prepend, yes: true,
			steps: []step{{run: "iptables " + wait + `-C INPUT -t filter -m comment --comment "a b" -j FOO`}}},
		{name: "a new rule goes first", do: prepend, steps: []step{
			{run: "iptables " + wait + `-C INPUT -t filter -m comment --comment "a b" -j FOO`, stderr: noRule, exit: 1},
			{run: "iptables " + wait + `-I INPUT -t filter -m comment --comment "a b" -j FOO`}}},
		{name: "a new rule goes last", do: appendRule, steps: []step{
			{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: noChain, exit: 1},
			{run: "iptables " + wait + "-A FOO -t nat -j BAR"}}},
		{name: "a rule for a chain that is not there", do: appendRule, wantErr: "adding a rule to chain FOO of table nat", wantIs: errNotFound,
			steps: []step{
				{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: noRule, exit: 1},
				{run: "iptables " + wait + "-A FOO -t nat -j BAR", stderr: noChain, exit: 1}}},
		{name: "a rule is not added if it may be there", do: appendRule, wantErr: "looking for a rule in chain FOO of table nat",
			wantIs: errResourceProblem,
			steps:  []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: locked, exit: 4}}},
		{name: "a rule with a bad argument", do: appendRule, wantErr: `unknown option "--foo"`,
			steps: []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: `iptables v1.8.9 (legacy): unknown option "--foo"` + "\n",
				exit: 2}}},
		{name: "a position that is none", do: sideways, wantErr: `unknown rule position "-R"`},

		{name: "a rule is deleted", do: deleteRule, steps: []step{
			{run: "iptables " + wait + "-C FOO -t nat -j BAR"},
			{run: "iptables " + wait + "-D FOO -t nat -j BAR"}}},
		{name: "a rule that is not there is not deleted", do: deleteRule,
			steps: []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: noRule, exit: 1}}},
		{name: "a rule to a chain that is not there is not deleted, legacy", do: deleteRule,
			steps: []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: "iptables v1.8.9 (legacy): Couldn't load target `BAR':No " +
				"such file or directory\n", exit: 2}}},
		{name: "a rule to a chain that is not there is not deleted, nft", do: deleteRule,
			steps: []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: "iptables v1.8.9 (nf_tables): Chain 'BAR' does not exist\n",
				exit: 2}}},
		{name: "a rule is not deleted if it may not be there", do: deleteRule, wantErr: "looking for a rule", wantIs: errResourceProblem,
			steps: []step{{run: "iptables " + wait + "-C FOO -t nat -j BAR", stderr: locked, exit: 4}}},
		{name: "a rule cannot be deleted", do: deleteRule, wantErr: "deleting a rule of chain FOO of table nat", wantIs: errResourceProblem,
			steps: []step{
				{run: "iptables " + wait + "-C FOO -t nat -j BAR"},
				{run: "iptables " + wait + "-D FOO -t nat -j BAR", stderr: locked, exit: 4}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := row.do(newScripted(t, legacy189, Options{}, row.steps...))
			assert.Equal(t, row.yes, got.yes)
			if row.wantErr == "" {
				require.NoError(t, got.err)
				return
			}
			require.ErrorContains(t, got.err, row.wantErr)
			if row.wantIs != nil {
				assert.ErrorIs(t, got.err, row.wantIs)
			}
		})
	}
}

func TestRestoreArguments(t *testing.T) {
	const input = "*nat\n:FOO - [0:0]\nCOMMIT\n"
	rows := []struct {
		name string
		do   func(*Runner) error
		run  string
	}{
		{name: "keep the tables, set counters", run: wait + "--noflush --counters",
			do: func(r *Runner) error { return r.RestoreAll([]byte(input), NoFlushTables, RestoreCounters) }},
		{name: "empty the tables, no counters", run: strings.TrimSpace(wait),
			do: func(r *Runner) error { return r.RestoreAll([]byte(input), FlushTables, NoRestoreCounters) }},
		{name: "one table", run: wait + "-T nat --noflush --counters",
			do: func(r *Runner) error { return r.Restore(TableNAT, []byte(input), NoFlushTables, RestoreCounters) }},
		{name: "one table, emptied", run: wait + "-T nat",
			do: func(r *Runner) error { return r.Restore(TableNAT, []byte(input), FlushTables, NoRestoreCounters) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			runner := newScripted(t, legacy189, Options{}, step{run: "iptables-restore " + row.run, stdin: input, stderr: ignored})
			require.NoError(t, row.do(runner))
		})
	}
}

func TestRestoreOfRefusedInput(t *testing.T) {
	const input = "*nat\n-A FOO -j NOPE\nCOMMIT\n"
	runner := newScripted(t, legacy189, Options{}, step{
		run: "iptables-restore " + wait + "-T nat --noflush", stdin: input,
		stderr: ignored + "iptables-restore: line 2 failed\n", exit: 1,
	})
	err := runner.Restore(TableNAT, []byte(input), NoFlushTables, NoRestoreCounters)
	assert.EqualError(t, err, `restoring table nat: `+
		`iptables-restore: line 2: "-A FOO -j NOPE" in table nat: exit status 1: iptables-restore: line 2 failed`)
	var refused *RestoreError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 2, refused.Line)
}

func TestRestoreNeedsATableName(t *testing.T) {
	runner := newScripted(t, legacy189, Options{})
	assert.ErrorContains(t, runner.Restore("", nil, NoFlushTables, RestoreCounters), "RestoreAll")
}

func TestSaveKeepsWarningsOut(t *testing.T) {
	runner := newScripted(t, "v1.8.9 (nf_tables)", Options{},
		step{run: "iptables-save -t nat", stdout: "*nat\nCOMMIT\n", stderr: "# Warning: iptables-legacy tables present, use " +
			"iptables-legacy-save to see them\n"},
		step{run: "iptables-save -t mangle", stdout: "# part", stderr: "iptables-save: Cannot initialize: Table does not exist\n", exit: 1})
	buffer := bytes.NewBufferString("before\n")
	require.NoError(t, runner.SaveInto(TableNAT, buffer))
	assert.Equal(t, "before\n*nat\nCOMMIT\n", buffer.String())
	assert.EqualError(t, runner.SaveInto(TableMangle, buffer),
		"saving table mangle: iptables-save -t mangle: exit status 1: iptables-save: Cannot initialize: Table does not exist")
}

func TestPresent(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	log := logger.GetSink().(ktesting.Underlier).GetBuffer()
	runner := newScripted(t, "v1.8.9 (nf_tables)", Options{Logger: logger},
		step{run: "iptables " + wait + "-S POSTROUTING -t nat", stdout: "-P POSTROUTING ACCEPT\n"},
		step{run: "iptables " + wait + "-S POSTROUTING -t nat", stdout: "-P POSTROUTING ACCEPT\n",
			stderr: "# Warning: iptables-legacy tables present, use iptables-legacy to see them\n"},
		step{run: "iptables " + wait + "-S POSTROUTING -t nat", stderr: "iptables: nope (do you need to insmod?)\n", exit: 3})
	require.NoError(t, runner.Present())
	assert.Empty(t, log.String())
	require.NoError(t, runner.Present())
	assert.Contains(t, log.String(), "Rules of both dialects")
	assert.Contains(t, log.String(), "iptables-legacy tables present")
	assert.ErrorContains(t, runner.Present(), "IPv4 iptables is not usable with this kernel")
}

func TestNewRefuses(t *testing.T) {
	rows := []struct {
		name, family string
		steps        []step
		wantErr      string
	}{
		{name: "unknown family", family: "IPv5", wantErr: `unknown IP family "IPv5"`},
		{name: "no tool", family: "IPv6", wantErr: "setting up the IPv6 tools: ip6tables --version: executable file not found",
			steps: []step{{run: "ip6tables --version", err: exec.ErrExecutableNotFound}}},
		{name: "another program", family: "IPv4", wantErr: "setting up the IPv4 tools: iptables --version: no version",
			steps: []step{{run: "iptables --version", stdout: "hello\n"}}},
		{name: "old tools", family: "IPv4", wantErr: "1.4.7 (legacy) is not supported",
			steps: []step{{run: "iptables --version", stdout: "iptables v1.4.7\n"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := New(scripted(t, row.steps...), Protocol(row.family), Options{})
			require.ErrorContains(t, err, row.wantErr)
		})
	}
}

func TestToolsOfAFamily(t *testing.T) {
	tools := map[Protocol]Tools{ProtocolIPv6: {iptables: "/opt/ip6tables", Save: "/opt/save"}}
	runner, err := New(scripted(t,
		step{run: "/opt/ip6tables --version", stdout: "ip6tables v1.8.9 (legacy)\n"},
		step{run: "/opt/save -t nat"},
		step{run: "ip6tables-restore " + strings.TrimSpace(wait)},
	), ProtocolIPv6, Options{Tools: tools})
	require.NoError(t, err)
	assert.True(t, runner.IsIPv6())
	assert.Equal(t, ProtocolIPv6, runner.Protocol())
	require.NoError(t, runner.SaveInto(TableNAT, &bytes.Buffer{}))
	require.NoError(t, runner.RestoreAll(nil, FlushTables, NoRestoreCounters))

	assert.Equal(t, Tools{"iptables", "iptables-save", "iptables-restore"}, ToolsOf(ProtocolIPv4, ""))
	assert.Equal(t, Tools{"ip6tables-nft", "ip6tables-nft-save", "ip6tables-nft-restore"}, ToolsOf(ProtocolIPv6, "nft"))
}

func TestNewDualStack(t *testing.T) {
	both, err := NewDualStack(scripted(t,
		step{run: "iptables --version", stdout: "iptables v1.8.9 (legacy)\n"},
		step{run: "iptables " + wait + "-S POSTROUTING -t nat"},
		step{run: "ip6tables --version", stdout: "ip6tables v1.8.9 (legacy)\n"},
		step{run: "ip6tables " + wait + "-S POSTROUTING -t nat"}), Options{})
	require.NoError(t, err)
	require.Len(t, both, 2)
	assert.False(t, both[ProtocolIPv4].IsIPv6())
	assert.True(t, both[ProtocolIPv6].IsIPv6())

	one, err := NewDualStack(scripted(t,
		step{run: "iptables --version", stdout: "iptables v1.8.9 (legacy)\n"},
		step{run: "iptables " + wait + "-S POSTROUTING -t nat"},
		step{run: "ip6tables --version", stdout: "ip6tables v1.8.9 (legacy)\n"},
		step{run: "ip6tables " + wait + "-S POSTROUTING -t nat", stderr: "no nat", exit: 3}), Options{})
	assert.ErrorContains(t, err, "IPv6 iptables is not usable with this kernel")
	assert.Len(t, one, 1)
	assert.Contains(t, one, ProtocolIPv4)
}

func TestToolThatHangsIsKilled(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Unix(0, 0))
	tools := execFunc(func(ctx context.Context, argv []string) (string, string, error) {
		if argv[1] == "--version" {
			return "iptables v1.8.9 (legacy)\n", "", nil
		}
		clk.Step(time.Minute)
		<-ctx.Done()
		return "", "", errors.New("signal: killed")
	})
	runner, err := New(tools, ProtocolIPv4, Options{Clock: clk, TimeLimit: time.Minute})
	require.NoError(t, err)
	_, err = runner.EnsureRule(Append, TableNAT, "FOO", "-j", "BAR")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "killed after 1m0s")
	assert.False(t, clk.HasWaiters(), "timers are stopped")
}

func TestToolMayTakeAsLongAsItLikes(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Unix(0, 0))
	tools := execFunc(func(ctx context.Context, _ []string) (string, string, error) {
		clk.Step(24 * time.Hour)
		return "iptables v1.8.9 (legacy)\n", "", ctx.Err()
	})
	runner, err := New(tools, ProtocolIPv4, Options{Clock: clk, TimeLimit: -1})
	require.NoError(t, err)
	_, err = runner.EnsureRule(Append, TableNAT, "FOO", "-j", "BAR")
	require.NoError(t, err)
}

func TestToolsRunOneAfterTheOther(t *testing.T) {
	var running, most atomic.Int32
	tools := execFunc(func(context.Context, []string) (string, string, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		return "iptables v1.8.9 (legacy)\n", "", nil
	})
	runner, err := New(tools, ProtocolIPv4, Options{})
	require.NoError(t, err)
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			_, err := runner.EnsureRule(Append, TableNAT, "FOO", "-j", "BAR")
			assert.NoError(t, err)
			assert.NoError(t, runner.RestoreAll(nil, NoFlushTables, RestoreCounters))
		})
	}
	done.Wait()
	assert.EqualValues(t, 1, most.Load())
}
