package packetsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// listed are the connections of each source as the lists hold them, the latest first, and how often each is listed by its tuples.
func (h *tracker) listed() (bySource map[sourceKey][]*conn, byTuple map[*conn][2]int) {
	bySource, byTuple = map[sourceKey][]*conn{}, map[*conn][2]int{}
	for _, link := range h.tracked.byTuple {
		for ; link != nil; link = link.next {
			times := byTuple[link.conn]
			times[link.dir]++
			byTuple[link.conn] = times
		}
	}
	for _, c := range h.tracked.bySource {
		for ; c != nil; c = c.bySource.earlier {
			bySource[c.source()] = append(bySource[c.source()], c)
		}
	}
	return bySource, byTuple
}

// check says what is wrong with the table: no two connections share a tuple in a zone, and every list holds exactly the connections. Tests
// ask it after whatever they do.
func (h *tracker) check() error {
	bySource, byTuple := h.listed()
	var errs []error
	if len(byTuple) != h.size() {
		errs = append(errs, fmt.Errorf("%d connections are listed by their tuples, of %d", len(byTuple), h.size()))
	}
	withSource := 0
	for c, times := range byTuple {
		if times != [2]int{1, 1} || !c.confirmed || !c.listed {
			errs = append(errs, fmt.Errorf("%v is listed %v times", c.tuples[original], times))
		}
		for dir := range c.tuples {
			if found, _ := h.tracked.get(&c.tuples[dir], c.tuples[dir].hash(), c.zone, direction(dir)); found != c {
				errs = append(errs, fmt.Errorf("%v is not found, or in two connections", c.tuples[dir]))
			}
		}
		if c.srcDone {
			withSource++
		}
	}
	for source, list := range bySource {
		at := h.tracked.latest(&source)
		for _, c := range list {
			withSource--
			if c != at {
				return errors.Join(append(errs, fmt.Errorf("%v is not the next of its source", c.tuples[original]))...)
			}
			at = at.before(&source)
		}
		if at != nil {
			errs = append(errs, fmt.Errorf("%v has another before it", at.tuples[original]))
		}
	}
	if withSource != 0 {
		errs = append(errs, fmt.Errorf("%d connections more have a source than are listed by it", withSource))
	}
	return errors.Join(errs...)
}

// dump is all that the table holds, and how much there is to undo: equal texts are equal tables.
func (h *tracker) dump() string {
	var b strings.Builder
	bySource, byTuple := h.listed()
	for _, c := range slices.SortedFunc(maps.Keys(byTuple), func(a, b *conn) int { return int(a.bySource.order) - int(b.bySource.order) }) {
		state := c.connState
		state.counters, state.labels = nil, nil
		fmt.Fprintf(&b, "%v %v %q %+v", c.tuples, c.zone, c.helper, state)
		if c.counters != nil {
			fmt.Fprintf(&b, " %v", *c.counters)
		}
		if c.labels != nil {
			fmt.Fprintf(&b, " %x", *c.labels)
		}
		fmt.Fprintln(&b)
	}
	for _, source := range slices.SortedFunc(maps.Keys(bySource), func(a, b sourceKey) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		fmt.Fprint(&b, source)
		for _, c := range bySource[source] {
			fmt.Fprint(&b, " ", c.bySource.order)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, len(h.journal.undo), len(h.journal.saved))
	return b.String()
}
