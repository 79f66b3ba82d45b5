package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios"
)

// sketched is a scenario of so many nodes.
func sketched(t *testing.T, name string, nodes int, more string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Read(name+".yaml",
		strings.NewReader(fmt.Sprintf("name: %s\ntopology: {nodes: %d}\nsteps: [{sync: true}]\n%s", name, nodes, more)))
	require.NoError(t, err)
	return s
}

const otherwise = "kubeProxy: {iptables: {masqueradeAll: true}}\n"

// TestTwoPlacesMeetOnce: what needs many nodes comes first and stays where they are, and each place has one configuration for as long as
// it can.
func TestTwoPlacesMeetOnce(t *testing.T) {
	all := []*scenarios.Scenario{
		sketched(t, "a", 2, ""), sketched(t, "b", 1, otherwise), sketched(t, "c", 2, ""), sketched(t, "d", 3, ""), sketched(t, "e", 2, otherwise),
		sketched(t, "f", 2, ""),
	}
	q := newQueue(all, []place{{nodes: 4}, {nodes: 2}})
	var front, behind []string
	for len(front)+len(behind) < len(all) {
		front = append(front, q.take(4, false).Name)
		if s := q.take(2, true); s != nil {
			behind = append(behind, s.Name)
		}
	}
	assert.Equal(t, []string{"d", "a", "c"}, front)
	assert.Equal(t, []string{"e", "b", "f"}, behind)
	assert.Nil(t, q.take(4, false))
	assert.Nil(t, q.take(2, true))
}

var shippedFiles = sync.OnceValues(func() ([]*scenarios.Scenario, error) {
	return scenarios.Load(filepath.Join("..", "..", "..", shipped))
})

// TestTheClusterBesideHasRoomForMostScenarios: all shipped ones are known by their nodes, also those whose slices a controller makes.
func TestTheClusterBesideHasRoomForMostScenarios(t *testing.T) {
	race.OneGoroutine(t)
	all, err := shippedFiles()
	require.NoError(t, err)
	small := 0
	for _, one := range newQueue(all, []place{{nodes: 4}, {nodes: besideWorkers + 1}}).left {
		assert.Positive(t, one.nodes, one.Name)
		assert.NotEqual(t, anyNumber, one.nodes, one.Name)
		if one.nodes <= besideWorkers+1 {
			small++
		}
	}
	assert.Greater(t, small, len(all)*9/10)
}

// TestEveryScenarioRunsOnce, also one with more nodes than any place has, and the report has them as they are listed.
func TestEveryScenarioRunsOnce(t *testing.T) {
	var all []*scenarios.Scenario
	for i := range 40 {
		all = append(all, sketched(t, fmt.Sprintf("s%02d", i), i%5+1, []string{"", otherwise}[i%2]))
	}
	var mutex sync.Mutex
	times := map[string]int{}
	var places []place
	for number, nodes := range []int{4, 2} {
		places = append(places, place{nodes, func(s *scenarios.Scenario) *scenarioRow {
			mutex.Lock()
			defer mutex.Unlock()
			times[s.Name]++
			c, err := scenarios.Resolve(s)
			assert.NoError(t, err)
			assert.True(t, number == 0 || len(c.Nodes) <= nodes, "%s has %d nodes", s.Name, len(c.Nodes))
			return &scenarioRow{Name: s.Name}
		}})
	}
	var want, got []string
	rows := rowsOf(all, places)
	for i, s := range all {
		want, got = append(want, s.Name), append(got, rows[i].Name)
		assert.Equal(t, 1, times[s.Name], s.Name)
	}
	assert.Equal(t, want, got)
}
