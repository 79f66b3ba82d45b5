package config

import (
	"math"
	"sync"
)

// gate lets those through who wait for a marker that a handler has reached.
type gate struct {
	lock    sync.Mutex
	latest  int64
	waiting map[int64]chan struct{}
}

func newGate() *gate {
	return &gate{waiting: map[int64]chan struct{}{}}
}

// after returns a channel that is closed when the ticket's marker was reached.
func (g *gate) after(ticket int64) <-chan struct{} {
	g.lock.Lock()
	defer g.lock.Unlock()
	if done, ok := g.waiting[ticket]; ok {
		return done
	}
	done := make(chan struct{})
	if ticket <= g.latest {
		close(done)
	} else {
		g.waiting[ticket] = done
	}
	return done
}

// reach says that the ticket's marker and all before it were reached. Markers
// may be skipped: one stands for all that were asked for before it was sent.
func (g *gate) reach(ticket int64) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.latest = max(g.latest, ticket)
	for waits, done := range g.waiting {
		if waits <= g.latest {
			close(done)
			delete(g.waiting, waits)
		}
	}
}

// open lets everybody through from now on.
func (g *gate) open() { g.reach(math.MaxInt64) }
