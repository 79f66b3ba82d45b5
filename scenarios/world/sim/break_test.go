package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// patience is a context that ends when it has been asked so many times whether it has.
type patience struct {
	context.Context
	end  context.CancelCauseFunc
	left int
}

var errOver = errors.New("over")

func (p *patience) Err() error {
	if p.left--; p.left < 0 {
		p.end(errOver)
	}
	return p.Context.Err()
}

// patient runs a scenario with so much patience. It returns what was wrong with its last check, and how often the context was asked after
// its end.
func patient(t *testing.T, s *scenarios.Scenario, left int) (result *scenarios.Result, wrong string, after int) {
	t.Helper()
	inner, end := context.WithCancelCause(t.Context())
	defer end(nil)
	p := &patience{inner, end, left}
	result = scenarios.Run(p, s, Backend{Options{Direct: true, OneFamily: true}})
	return result, result.Checks[len(result.Checks)-1].Wrong, max(-p.left, 0)
}

// TestRunsBreakWithinSteps: whenever a context ends, a scenario ends soon and says where it was.
func TestRunsBreakWithinSteps(t *testing.T) {
	endpoints, addresses := "{addresses: [10.244.0.2], nodeName: node1}", "'10.244.0.2:8080'"
	for i := 3; i < 10; i++ {
		endpoints += fmt.Sprintf(", {addresses: [10.244.1.%d], nodeName: node2}", i)
		addresses += fmt.Sprintf(", '10.244.1.%d:8080'", i)
	}
	one := "{from: client, to: 'tcp 172.30.0.41:80', expect: {endpoints: [" + addresses + "]}}"
	s, err := scenarios.Read("breaks.yaml", strings.NewReader(failing("", "ports: [{name: http, port: 8080}], endpoints: ["+endpoints+"]",
		"- fault: {flush: [nat]}\n  sync: true\n- cases: ["+one+", "+one+", "+one+"]\n- {restart: true, syncError: nothing}\n")))
	require.NoError(t, err)
	s.IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy}
	places := map[string]int{}
	step := max(race.Every(4), sample.Every(4))
	for left := 0; ; left += step {
		result, wrong, after := patient(t, s, left)
		if last := result.Checks[len(result.Checks)-1]; last.Expected == `an error with "nothing"` {
			require.Equal(t, "no error", last.Got, "what broke a sync is not its error")
			break // it came to its end
		}
		require.Contains(t, wrong, "over; ", "with %d", left)
		require.Less(t, after, 30, "it goes on long after the end: %s", wrong)
		require.True(t, result.Checks[len(result.Checks)-1].Error)
		_, place, _ := strings.Cut(wrong, "; ")
		places[place]++
	}
	for place, least := range map[string]int{
		"no step was made":                            10, // the tools of the first sync, among others
		"it was in step 1 of 3":                       10,
		"it was in step 2 of 3, at connection 1 of 3": 9, // before it, and after each of its eight ways
		"it was in step 2 of 3, at connection 3 of 3": 9,
		"it was in step 3 of 3":                       5,
	} {
		assert.GreaterOrEqual(t, places[place], least/step, "%s: %v", place, places)
	}
}

// TestRunsThatBreakBetweenToolsFail: a scenario that was not run with all tools has not held, though what was checked has.
func TestRunsThatBreakBetweenToolsFail(t *testing.T) {
	s, err := scenarios.Read("breaks.yaml", strings.NewReader(
		"name: breaks\ntopology: {nodes: 1}\nsteps:\n- connect: {from: node1, to: 'tcp 172.30.0.41:80', expect: untouched}\n"))
	require.NoError(t, err)
	const all = 2 // the checks of a whole run
	between := false
	for left := range 1000 {
		result, wrong, _ := patient(t, s, left)
		if len(result.Checks) == all && !result.Failed() {
			break
		}
		require.True(t, result.Failed(), "after %d questions", left)
		if last := result.Checks[len(result.Checks)-1]; last.Name == "go on with iptables-nft" {
			between = true
			assert.Equal(t, netfilter.NFT, last.Dialect)
			assert.Equal(t, "over; it was in step 1 of 1", wrong)
		}
	}
	assert.True(t, between, "it has ended between the tools")
}
