package main

import (
	"math"
	"sync"

	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// place is where scenarios are run one after the other that have so many nodes at most.
type place struct {
	nodes int
	look  func(*scenarios.Scenario) *scenarioRow
}

// anyNumber is more nodes than any scenario has.
const anyNumber = math.MaxInt

// queue are the scenarios that nobody has begun with.
type queue struct {
	mutex sync.Mutex
	left  []queued
}

type queued struct {
	*scenarios.Scenario
	nodes int
}

// newQueue puts first what needs so many nodes that not all places have them. Otherwise scenarios with one configuration are together.
func newQueue(all []*scenarios.Scenario, places []place) *queue {
	least := places[0].nodes
	for _, p := range places {
		least = min(least, p.nodes)
	}
	q := &queue{}
	var small []queued
	for _, s := range kind.Order(all) {
		one := queued{s, anyNumber} // the place that has room for all reports an invalid one
		if c, err := scenarios.ResolveWith(s, controller.New); err == nil {
			one.nodes = len(c.Nodes)
		}
		if one.nodes > least {
			q.left = append(q.left, one)
		} else {
			small = append(small, one)
		}
	}
	q.left = append(q.left, small...)
	return q
}

// take takes the first scenario, or, for whoever comes from behind, the last one, of those that have so many nodes at most; nil if there
// is none. Two who come from both sides meet once, and have scenarios of one configuration together until then.
func (q *queue) take(nodes int, behind bool) *scenarios.Scenario {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for i := range q.left {
		if behind {
			i = len(q.left) - 1 - i
		}
		if one := q.left[i]; one.nodes <= nodes {
			q.left = append(q.left[:i:i], q.left[i+1:]...)
			return one.Scenario
		}
	}
	return nil
}

// rowsOf looks at scenarios, at one after the other in each place; the first place has room for all of them. The rows are in the
// scenarios' own order, without those that have come to no end (nil).
func rowsOf(all []*scenarios.Scenario, places []place) []scenarioRow {
	q := newQueue(all, places)
	found := make([]map[*scenarios.Scenario]*scenarioRow, len(places))
	var group sync.WaitGroup
	for i, p := range places {
		found[i] = map[*scenarios.Scenario]*scenarioRow{}
		nodes := p.nodes
		if i == 0 {
			nodes = anyNumber // what has more nodes than any place is skipped there, with the reason
		}
		group.Go(func() {
			for s := q.take(nodes, i > 0); s != nil; s = q.take(nodes, i > 0) {
				found[i][s] = p.look(s)
			}
		})
	}
	group.Wait()
	var rows []scenarioRow
	for _, s := range all {
		for i := range places {
			if row := found[i][s]; row != nil {
				rows = append(rows, *row)
			}
		}
	}
	return rows
}
