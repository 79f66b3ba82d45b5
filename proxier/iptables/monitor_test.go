package iptables

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"
)

const (
	testCanary   Chain = "TEST-CANARY"
	testInterval       = 30 * time.Second
)

// testRule is what the Monitor looks for besides the canaries.
var testRule = Rule{Table: TableNAT, Chain: ChainPrerouting, Args: []string{"-j", "SERVICES"}}

// chainTools are tools that know chains: -N, -S, -X of a chain of a table, and -C of testRule.
type chainTools struct {
	mu     sync.Mutex
	chains map[string]bool // "table/chain"
	broken map[string]bool // "-N nat": exit status 4
	noRule bool            // testRule is gone
	log    []string        // "-N nat"
}

func newChainTools() *chainTools {
	return &chainTools{chains: map[string]bool{}, broken: map[string]bool{}}
}

func (c *chainTools) exec() exec.Interface {
	return execFunc(func(_ context.Context, argv []string) (string, string, error) {
		if slices.Contains(argv, "--version") {
			return "iptables v1.8.9 (legacy)\n", "", nil
		}
		// iptables -w 5 -W 100000 -N CHAIN -t TABLE
		if argv[5] == "-C" {
			return c.check(strings.Join(argv[6:], " "))
		}
		return c.run(argv[5], argv[6], argv[8])
	})
}

func (c *chainTools) run(op, chain, table string) (stdout, stderr string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, op+" "+table)
	key := table + "/" + chain
	switch {
	case c.broken[op+" "+table]:
		return "", locked, testingexec.FakeExitError{Status: 4}
	case op == "-N" && c.chains[key]:
		return "", chainIs, testingexec.FakeExitError{Status: 1}
	case op != "-N" && !c.chains[key]:
		return "", noChain, testingexec.FakeExitError{Status: 1}
	}
	switch op {
	case "-N":
		c.chains[key] = true
	case "-X":
		delete(c.chains, key)
	case "-S":
	default:
		return "", "", errors.New("unexpected " + op)
	}
	return "", "", nil
}

// check looks for testRule.
func (c *chainTools) check(rule string) (stdout, stderr string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case rule != "PREROUTING -t nat -j SERVICES":
		return "", "", errors.New("unexpected rule " + rule)
	case c.broken["-C nat"]:
		return "", locked, testingexec.FakeExitError{Status: 4}
	case c.noRule:
		return "", "iptables: Bad rule (does a matching rule exist in that chain?).\n", testingexec.FakeExitError{Status: 1}
	}
	return "", "", nil
}

// setRule takes testRule away, as iptables -F does, or puts it back.
func (c *chainTools) setRule(there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noRule = !there
}

// flush removes the chains of the tables.
func (c *chainTools) flush(tables ...Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, table := range tables {
		delete(c.chains, string(table)+"/"+string(testCanary))
	}
}

// breakDown lets an operation fail, or work again.
func (c *chainTools) breakDown(operation string, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken[operation] = broken
}

// canaries are the tables that have the canary, with blanks between them.
func (c *chainTools) canaries() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var tables []string
	for key := range c.chains {
		table, _, _ := strings.Cut(key, "/")
		tables = append(tables, table)
	}
	slices.Sort(tables)
	return strings.Join(tables, " ")
}

// takeLog returns the operations since the last call.
func (c *chainTools) takeLog() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := strings.Join(c.log, ", ")
	c.log = nil
	return log
}

// monitoring is a Monitor of mangle, nat and filter that runs until end.
type monitoring struct {
	t       *testing.T
	tools   *chainTools
	clock   *waitClock
	stop    chan struct{}
	done    chan struct{}
	reloads int // read only while the Monitor waits
	during  func()
}

func startMonitor(t *testing.T, tools *chainTools) *monitoring {
	m := &monitoring{t: t, tools: tools, clock: newWaitClock(), stop: make(chan struct{}), done: make(chan struct{})}
	runner, err := New(tools.exec(), ProtocolIPv4, Options{Clock: m.clock})
	require.NoError(t, err)
	reload := func() {
		m.reloads++
		if m.during != nil {
			m.during()
		}
	}
	go func() {
		defer close(m.done)
		runner.Monitor(testCanary, []Table{TableMangle, TableNAT, TableFilter}, []Rule{testRule}, reload, testInterval, m.stop)
	}()
	return m
}

// waits asserts that the Monitor waits now, and for how long.
func (m *monitoring) waits(want time.Duration) {
	m.t.Helper()
	select {
	case got := <-m.clock.waiting:
		assert.Equal(m.t, want, got)
	case <-m.done:
		require.FailNow(m.t, "Monitor has ended")
	}
}

// end stops the Monitor while it waits.
func (m *monitoring) end() {
	close(m.stop)
	<-m.done
}

func TestMonitorKeepsCanariesUntilStopped(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	assert.Equal(t, "filter mangle nat", tools.canaries())
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, "-N mangle, -N nat, -N filter, -S mangle", tools.takeLog())
	m.end()
	assert.Empty(t, tools.canaries())
	assert.Zero(t, m.reloads)
}

func TestMonitorReloadsAfterAFlush(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.during = func() { assert.Equal(t, "filter mangle nat", tools.canaries(), "canaries are there before the reload") }
	m.waits(testInterval)
	for flushes := 1; flushes <= 2; flushes++ {
		tools.flush(TableMangle, TableNAT, TableFilter)
		m.clock.Step(testInterval)
		m.waits(testInterval)
		assert.Equal(t, flushes, m.reloads)
	}
	m.end()
}

func TestMonitorSeesAFlushDuringTheReload(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	m.during = func() {
		if m.reloads == 1 {
			tools.flush(TableMangle, TableNAT, TableFilter)
		}
	}
	tools.flush(TableMangle, TableNAT, TableFilter)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, 2, m.reloads)
	m.end()
}

func TestMonitorWaitsForTheEndOfAFlush(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	tools.flush(TableMangle)
	m.clock.Step(testInterval)
	m.waits(flushPoll)
	tools.flush(TableNAT)
	m.clock.Step(flushPoll)
	m.waits(flushPoll)
	assert.Zero(t, m.reloads)
	tools.flush(TableFilter)
	m.clock.Step(flushPoll)
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads)
	m.end()
}

func TestMonitorReloadsIfOnlyTheFirstTableIsFlushed(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	tools.flush(TableMangle)
	m.clock.Step(testInterval)
	for waited := time.Duration(0); waited < flushLimit; waited += flushPoll {
		m.waits(flushPoll)
		assert.Zero(t, m.reloads)
		m.clock.Step(flushPoll)
	}
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads)
	m.end()
}

func TestMonitorReloadsWhenTheChainsAreEmptied(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.during = func() { tools.setRule(true) }
	m.waits(testInterval)
	tools.setRule(false)
	tools.breakDown("-C nat", true)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Zero(t, m.reloads, "not known to be emptied")
	tools.breakDown("-C nat", false)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads, "the rule is there again")
	m.end()
}

func TestMonitorTakesAnErrorForNoAnswer(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	tools.breakDown("-S mangle", true)
	tools.flush(TableMangle, TableNAT, TableFilter)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Zero(t, m.reloads, "not known to be flushed")
	tools.breakDown("-S mangle", false)
	tools.breakDown("-S nat", true)
	m.clock.Step(testInterval)
	m.waits(flushPoll)
	assert.Zero(t, m.reloads, "flush not known to be over")
	tools.breakDown("-S nat", false)
	m.clock.Step(flushPoll)
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads)
	m.end()
}

func TestMonitorTriesAgainToMakeTheFirstCanaries(t *testing.T) {
	tools := newChainTools()
	tools.breakDown("-N nat", true)
	m := startMonitor(t, tools)
	m.waits(testInterval)
	assert.Equal(t, "mangle", tools.canaries())
	tools.breakDown("-N nat", false)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, "filter mangle nat", tools.canaries())
	assert.Zero(t, m.reloads)
	m.end()
}

func TestMonitorReloadsAgainAfterLateCanaries(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	tools.breakDown("-N nat", true)
	tools.flush(TableMangle, TableNAT, TableFilter)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, 1, m.reloads, "the reload does not wait for canaries")
	tools.breakDown("-N nat", false)
	m.clock.Step(testInterval)
	m.waits(testInterval)
	assert.Equal(t, 2, m.reloads)
	assert.Equal(t, "filter mangle nat", tools.canaries())
	m.end()
}

func TestMonitorStopsWhereverItWaits(t *testing.T) {
	rows := []struct {
		name  string
		until func(m *monitoring)
	}{
		{name: "first canaries", until: func(m *monitoring) {
			m.waits(testInterval)
		}},
		{name: "end of the flush", until: func(m *monitoring) {
			m.tools.breakDown("-N nat", false)
			m.waits(testInterval)
			m.clock.Step(testInterval)
			m.waits(testInterval)
			m.tools.flush(TableMangle)
			m.clock.Step(testInterval)
			m.waits(flushPoll)
		}},
		{name: "late canaries", until: func(m *monitoring) {
			m.tools.breakDown("-N nat", false)
			m.waits(testInterval)
			m.clock.Step(testInterval)
			m.waits(testInterval)
			m.tools.flush(TableMangle, TableNAT, TableFilter)
			m.tools.breakDown("-N nat", true)
			m.clock.Step(testInterval)
			m.waits(testInterval)
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			tools := newChainTools()
			tools.breakDown("-N nat", true)
			m := startMonitor(t, tools)
			row.until(m)
			m.end()
			assert.Empty(t, tools.canaries())
		})
	}
}

func TestMonitorWithoutTablesEnds(t *testing.T) {
	runner := newScripted(t, legacy189, Options{})
	runner.Monitor(testCanary, nil, nil, func() { t.Error("reloaded") }, testInterval, nil)
}

func TestMonitorDeletesTheCanariesThatItCan(t *testing.T) {
	tools := newChainTools()
	m := startMonitor(t, tools)
	m.waits(testInterval)
	tools.breakDown("-X nat", true)
	m.end()
	assert.Equal(t, "nat", tools.canaries())
}
