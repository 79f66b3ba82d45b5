package kind

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// signals are the signals that proxies got, by node, in order.
func signals(s *script) (out []string) {
	for _, line := range s.asked("exec ") {
		node, command, _ := strings.Cut(strings.TrimPrefix(line, "exec "), ": ")
		for _, signal := range []string{"STOP", "CONT"} {
			if strings.Contains(command, "pkill -"+signal) {
				out = append(out, node+" "+signal)
			}
		}
	}
	return out
}

// TestAProxyHoldsStillUntilASyncNamesItsNode: nobody waits for it before, and everybody after.
func TestAProxyHoldsStillUntilASyncNamesItsNode(t *testing.T) {
	session, s := opened(t, shop)
	require.NoError(t, session.NotYet(t.Context(), []string{"node1"}))
	require.NoError(t, session.NotYet(t.Context(), []string{"node1"}))
	assert.Equal(t, []string{"worker STOP"}, signals(s), "once")
	assert.True(t, session.chancy(endpoint("172.30.0.41:80")), "its rules may have more endpoints than the objects")
	s.forgetLog()
	require.NoError(t, session.Sync(t.Context(), []string{"node2"}))
	assert.Empty(t, s.asked("dial worker "))
	assert.NotEmpty(t, s.asked("dial worker2 "))
	s.forgetLog()
	require.NoError(t, session.Sync(t.Context(), []string{"node1", "node2"}))
	assert.Equal(t, []string{"worker CONT"}, signals(s))
	assert.NotEmpty(t, s.asked("dial worker "))
	assert.False(t, session.chancy(endpoint("172.30.0.41:80")))
}

// TestAProxyThatIsHeldGoesOnByNoSync, but at the end of the hold, or of the scenario.
func TestAProxyThatIsHeldGoesOnByNoSync(t *testing.T) {
	session, s := opened(t, shop)
	require.NoError(t, session.Hold(t.Context(), []string{"node1", "node2"}))
	require.NoError(t, session.Sync(t.Context(), []string{"node1", "node2"}))
	assert.ElementsMatch(t, []string{"worker STOP", "worker2 STOP"}, signals(s))
	s.forgetLog()
	require.NoError(t, session.Hold(t.Context(), []string{"node2"}))
	assert.Equal(t, []string{"worker CONT"}, signals(s))
	s.forgetLog()
	require.NoError(t, session.Close())
	assert.Equal(t, []string{"worker2 CONT"}, signals(s))
}

// TestAProxyIsGivenTimeToNoticeAFlush, which it does by chains that are there again. One that does not notice is judged by what comes of
// it.
func TestAProxyIsGivenTimeToNoticeAFlush(t *testing.T) {
	for name, row := range map[string]struct {
		after int // looks
		want  time.Duration
	}{"soon": {3, 3 * lookAgain}, "never": {1 << 30, noticing}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, s := opened(t, shop)
				require.NoError(t, session.Fault(t.Context(), scenarios.Fault{Node: "node1", Flush: []string{"nat"}}))
				assert.Equal(t, []string{"worker STOP"}, signals(s))
				assert.Contains(t, strings.Join(s.asked("exec worker: "), "\n"), "iptables -t nat -F")
				looks := 0
				s.status = func(_ string, c probe.Command) int {
					if !strings.HasSuffix(strings.Join(c.Argv, " "), " noticed iptables nat") {
						return 0
					}
					looks++
					if looks > row.after {
						return 0
					}
					return 1
				}
				began := time.Now()
				require.NoError(t, session.Sync(t.Context(), []string{"node1", "node2"}))
				assert.InDelta(t, row.want, time.Since(began), float64(lookAgain))
			})
		})
	}
}

// TestTablesThatAFaultFlushes: a fault flushes the tables in which proxies have rules, by the node's own tools.
func TestTablesThatAFaultFlushes(t *testing.T) {
	for _, row := range []struct {
		fault scenarios.Fault
		want  []string
	}{
		{scenarios.Fault{Flush: []string{"nat", "raw"}}, []string{"iptables nat", "ip6tables nat"}},
		{scenarios.Fault{Flush: []string{"mangle"}, Family: scenarios.FamilyIPv6}, []string{"ip6tables mangle"}},
		{scenarios.Fault{Run: []string{"iptables -F INPUT", "ip6tables -t nat -F", "iptables -N A", "iptables-legacy -F", "ipset flush"}},
			[]string{"iptables filter", "ip6tables nat"}},
	} {
		got := slices.Compact(flushedTables(&row.fault, scenarios.FamilyDual))
		assert.Equal(t, row.want, got)
	}
}

// TestToolsFailAsLongAsSyncsAreToFail: the error names the node as the scenario does, and the sync after them waits for the sentinel
// there again.
func TestToolsFailAsLongAsSyncsAreToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, s := opened(t, shop)
		require.NoError(t, session.Fault(t.Context(), scenarios.Fault{Node: "node1", RestoreFails: 2}))
		assert.Len(t, s.asked("exec worker: sh -c "+install), 1)
		calls := 0
		s.exec = func(_ string, c probe.Command) string {
			if strings.Contains(strings.Join(c.Argv, " "), ".calls") {
				calls++
				return strings.Repeat("1", calls) + "\n"
			}
			return ""
		}
		for range 2 {
			s.forgetLog()
			err := session.Sync(t.Context(), []string{"node1", "node2"})
			require.ErrorIs(t, err, errFailed)
			assert.ErrorContains(t, err, "node1: ")
			assert.Empty(t, s.asked("dial worker "))
		}
		s.forgetLog()
		require.NoError(t, session.Sync(t.Context(), []string{"node1", "node2"}))
		assert.NotEmpty(t, s.asked("dial worker "))
		assert.Len(t, s.asked("exec worker: sh -c rm -f"), 1, "the tools are the node's own again")
	})
}
