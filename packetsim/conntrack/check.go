package conntrack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// listed are the connections of each source as the lists hold them, the latest first, and how often each is listed by its tuples.
func (k *Tracker) listed() (bySource map[sourceKey][]*Conn, byTuple map[*Conn][2]int) {
	bySource, byTuple = map[sourceKey][]*Conn{}, map[*Conn][2]int{}
	for _, link := range k.tracked.byTuple {
		for ; link != nil; link = link.next {
			times := byTuple[link.conn]
			times[link.dir]++
			byTuple[link.conn] = times
		}
	}
	for _, c := range k.tracked.bySource {
		for ; c != nil; c = c.bySource.earlier {
			bySource[c.source()] = append(bySource[c.source()], c)
		}
	}
	return bySource, byTuple
}

// Check says what is wrong with the table: no two connections share a tuple in a zone, and every list holds exactly the connections. Tests
// ask it after whatever they do.
func (k *Tracker) Check() error {
	bySource, byTuple := k.listed()
	var errs []error
	if len(byTuple) != k.Size() {
		errs = append(errs, fmt.Errorf("%d connections are listed by their tuples, of %d", len(byTuple), k.Size()))
	}
	withSource := 0
	for c, times := range byTuple {
		if times != [2]int{1, 1} || !c.Confirmed || !c.listed {
			errs = append(errs, fmt.Errorf("%v is listed %v times", c.Tuples[Original], times))
		}
		for dir := range c.Tuples {
			if found, _ := k.tracked.get(&c.Tuples[dir], c.Tuples[dir].hash(), c.Zone, Direction(dir)); found != c {
				errs = append(errs, fmt.Errorf("%v is not found, or in two connections", c.Tuples[dir]))
			}
		}
		if c.srcDone {
			withSource++
		}
	}
	for source, list := range bySource {
		at := k.tracked.latest(&source)
		for _, c := range list {
			withSource--
			if c != at {
				return errors.Join(append(errs, fmt.Errorf("%v is not the next of its source", c.Tuples[Original]))...)
			}
			at = at.before(&source)
		}
		if at != nil {
			errs = append(errs, fmt.Errorf("%v has another before it", at.Tuples[Original]))
		}
	}
	if withSource != 0 {
		errs = append(errs, fmt.Errorf("%d connections more have a source than are listed by it", withSource))
	}
	return errors.Join(errs...)
}

// Dump is all that the table holds, and how much there is to undo: equal texts are equal tables.
func (k *Tracker) Dump() string {
	var b strings.Builder
	bySource, byTuple := k.listed()
	for _, c := range slices.SortedFunc(maps.Keys(byTuple), func(a, b *Conn) int { return int(a.bySource.order) - int(b.bySource.order) }) {
		state := c.connState
		state.Counters, state.Labels = nil, nil
		fmt.Fprintf(&b, "%v %v %q %+v", c.Tuples, c.Zone, c.Helper, state)
		if c.Counters != nil {
			fmt.Fprintf(&b, " %v", *c.Counters)
		}
		if c.Labels != nil {
			fmt.Fprintf(&b, " %x", *c.Labels)
		}
		fmt.Fprintln(&b)
	}
	for _, source := range slices.SortedFunc(maps.Keys(bySource), func(a, b sourceKey) int {
		return strings.Compare(fmt.Sprint(a),
			fmt.Sprint(b))
	}) {
		fmt.Fprint(&b, source)
		for _, c := range bySource[source] {
			fmt.Fprint(&b, " ", c.bySource.order)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, len(k.journal.undo), len(k.journal.saved))
	return b.String()
}
