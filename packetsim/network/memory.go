package network

import "github.com/chainwalk/chainwalk/packetsim"

// Memory is where ConnectIn tells of connections. Who looks at thousands of them one after the other needs it for one of them only: Release
// has the next ones told where those before were told. Outcomes in it have no Events. It is for one goroutine at a time. Its zero value is
// empty.
type Memory struct {
	carrier     carrier
	connections room[Connection]
	journeys    room[Journey]
	hops        room[Hop]
	steps       room[packetsim.Step]
}

// What fits into a piece of memory without another one: the ways of a connection to a service, and what a packet to it meets on a node.
const (
	usualWays  = 8
	usualSteps = 32
)

// Release takes back all that was told since the last Release. Nobody may look at it any more.
func (m *Memory) Release() {
	m.connections.release()
	m.journeys.release()
	m.hops.release()
	m.steps.release()
}

// room is memory for lists.
type room[T any] struct {
	free, taken [][]T
}

// take is an empty list with room for some items. One that grows beyond that has other memory from then on.
func (r *room[T]) take(items int) []T {
	var list []T
	if last := len(r.free) - 1; last >= 0 {
		list, r.free = r.free[last], r.free[:last]
	} else {
		list = make([]T, 0, items)
	}
	r.taken = append(r.taken, list)
	return list
}

func (r *room[T]) release() {
	r.free = append(r.free, r.taken...)
	clear(r.taken)
	r.taken = r.taken[:0]
}
