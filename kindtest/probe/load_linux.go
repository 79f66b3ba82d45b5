package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// askedMost is how many questions of a load are remembered.
const askedMost = 100_000

// mostLasting bounds Load.Connections.
const mostLasting = 1000

// load is a Load that goes on.
type load struct {
	Load
	agent  *Agent
	asked  *record[Asked]
	cancel context.CancelFunc // asks no more
	done   chan struct{}      // closed when all questions have an end
}

// startLoad is Client.StartLoad.
func (a *Agent) startLoad(l Load) error {
	if err := l.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &load{Load: l, agent: a, asked: newRecord[Asked](askedMost), cancel: cancel, done: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loads[l.Name] != nil {
		cancel()
		return fmt.Errorf("load %s is there already: stop it first", l.Name)
	}
	a.loads[l.Name] = one
	go one.run(ctx)
	return nil
}

// fastest is the shortest time between two questions.
const fastest = 100 * time.Microsecond

func (l *Load) check() error {
	switch {
	case l.Name == "":
		return errors.New("load: name must be there")
	case l.Kind != Short && l.Kind != Lasting:
		return fmt.Errorf("load %s: kind %q: want %s or %s", l.Name, l.Kind, Short, Lasting)
	case l.Every < fastest:
		return fmt.Errorf("load %s: every %s: want at least %s", l.Name, l.Every, fastest)
	case l.Connections < 0 || l.Connections > mostLasting:
		return fmt.Errorf("load %s: %d connections: want 1 to %d", l.Name, l.Connections, mostLasting)
	case l.From.Port() != 0 && l.Connections > 1:
		return fmt.Errorf("load %s: %d connections from one port", l.Name, l.Connections)
	}
	d := l.dial()
	return d.check()
}

func (l *Load) dial() Dial {
	return Dial{Proto: l.Proto, From: l.From, To: l.To, Timeout: l.Timeout}
}

// run asks until the context ends.
func (l *load) run(ctx context.Context) {
	var asking sync.WaitGroup
	if l.Kind == Short {
		l.short(ctx, &asking)
	} else {
		for i := range max(l.Connections, 1) {
			asking.Go(func() { l.lasting(ctx, i) })
		}
	}
	asking.Wait()
	close(l.done)
}

// short asks on a new connection each time. A port of its own is used by one connection after the other.
func (l *load) short(ctx context.Context, asking *sync.WaitGroup) {
	var one sync.Mutex
	l.every(ctx, func(number int) bool {
		asking.Go(func() {
			if l.From.Port() != 0 {
				one.Lock()
				defer one.Unlock()
			}
			when := l.agent.clock.Now()
			// What is under way has its end, also when no more is asked.
			l.note(Asked{Seq: number, When: when, Result: l.agent.dialOnce(context.Background(), l.dial())})
		})
		return true
	})
}

// lasting asks on one connection, until that ends.
func (l *load) lasting(ctx context.Context, conn int) {
	timeout := timeoutOr(l.Timeout)
	opening, cancel := context.WithTimeout(context.Background(), timeout) // what is under way has its end, also when no more is asked
	p, result := l.agent.openFromAnyPort(opening, l.dial())
	cancel()
	if p == nil {
		l.note(Asked{Conn: conn, Seq: 1, When: l.agent.clock.Now(), Result: result})
		return
	}
	defer p.way.end(byReset)
	var asking sync.WaitGroup
	defer asking.Wait()
	ended := make(chan struct{})
	var once sync.Once
	ask := func(number int) bool {
		asking.Go(func() {
			when := l.agent.clock.Now()
			result := p.ask(context.Background(), timeout)
			result.Took = l.agent.clock.Since(when)
			l.note(Asked{Conn: conn, Seq: number, When: when, Result: result})
			if p.proto != inet.UDP && !p.proto.IsICMP() && (result.End == Refused || result.End == Failed) {
				once.Do(func() { close(ended) })
			}
		})
		select {
		case <-ended:
			return false
		default:
			return true
		}
	}
	l.every(ctx, ask)
}

// every calls a function with the numbers from 1 at once and then each time that it is due, until that says no or the context ends.
func (l *load) every(ctx context.Context, do func(number int) bool) {
	due := l.agent.clock.NewTicker(l.Every)
	defer due.Stop()
	for number := 1; ctx.Err() == nil && do(number); number++ {
		select {
		case <-ctx.Done():
			return
		case <-due.C():
		}
	}
}

func (l *load) note(a Asked) { l.asked.add(func(int) Asked { return a }) }

func (l *load) all() []Asked { return l.asked.found(func(*Asked) bool { return true }) }

func (a *Agent) loadNamed(name string) (*load, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.loads[name]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("there is no load %s", name)
}

// asked is Client.Asked.
func (a *Agent) asked(name string, after int) (any, error) {
	l, err := a.loadNamed(name)
	if err != nil {
		return nil, err
	}
	all := l.all()
	return all[min(max(after, 0), len(all)):], nil
}

// stopLoad is Client.StopLoad.
func (a *Agent) stopLoad(ctx context.Context, name string) (any, error) {
	l, err := a.loadNamed(name)
	if err != nil {
		return nil, err
	}
	l.cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("load %s: questions are under way still: %w", name, ctx.Err())
	}
	a.mu.Lock()
	delete(a.loads, name)
	a.mu.Unlock()
	return l.all(), nil
}
