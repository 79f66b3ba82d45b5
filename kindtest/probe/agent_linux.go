package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Agent is at the ends of connections in the network namespace of its process.
type Agent struct {
	name  string
	clock clock.WithTicker
	epoch int64 // when it was made, so that tokens of the one before it are others

	arrivals *record[Arrival]
	sctp     sctpHost

	serving   sync.Mutex // one change of the listeners at a time
	mu        sync.Mutex
	tokens    uint64
	ports     int               // the last one that a client was given, from the first on
	waiting   map[string]waiter // by token
	listeners map[Listener]func()
	kept      map[keptEnd]*peer
	peers     map[*peer]struct{} // all that are open
	captures  map[string]*capture
	deaf      []*capture // that nobody looks at now
	loads     map[string]*load
}

// keptEnd is an end of a kept connection.
type keptEnd struct {
	conn string
	side scenarios.Side
}

// waiter waits for the answer to a question.
type waiter struct {
	of  *peer
	got chan<- Result
}

// NewAgent makes an agent that listens nowhere yet.
func NewAgent(name string, c clock.WithTicker) (*Agent, error) {
	if !validName(name) {
		return nil, fmt.Errorf("agent %q: %w", name, errName)
	}
	a := &Agent{
		name: name, clock: c, epoch: c.Now().UnixNano(), arrivals: newRecord[Arrival](remembered),
		waiting: map[string]waiter{}, listeners: map[Listener]func(){}, kept: map[keptEnd]*peer{}, peers: map[*peer]struct{}{},
		captures: map[string]*capture{}, loads: map[string]*load{},
	}
	a.sctp.agent = a
	a.ports = int(uint64(a.epoch) % clientPorts) // another place for another agent of the same host
	return a, nil
}

// Run takes requests on the connections that control accepts, until the context ends. It closes control, and then all that the agent has
// open, as the kernel does when a program ends.
func (a *Agent) Run(ctx context.Context, control net.Listener) error {
	times, err := socket.Times()
	if err != nil {
		_ = control.Close()
		return fmt.Errorf("agent %s: %w", a.name, err)
	}
	var streams sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = control.Close() })
	defer func() {
		cancel()
		stop()
		streams.Wait()
		a.reset(normally)
		a.forgetDeaf()
		_ = times.Close()
	}()
	for {
		conn, err := control.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("agent %s: take a connection: %w", a.name, err)
		}
		streams.Go(func() { answerRequests(ctx, conn, a.answer) })
	}
}

// answer does what a request asks for. What it says is the body of the response.
func (a *Agent) answer(ctx context.Context, r *request) (any, error) {
	if r.Agent != "" && r.Agent != a.name {
		return nil, fmt.Errorf("this is agent %s", a.name)
	}
	switch r.Op {
	case opServe:
		return with(r, func(b serveBody) (any, error) { return nil, a.Serve(b.Listeners) })
	case opDial:
		return with(r, func(d Dial) (any, error) { return a.Dial(ctx, d) })
	case opReset:
		a.reset(quietly)
		return none{}, nil
	case opSpeak:
		return with(r, func(s Speech) (any, error) { return a.speak(ctx, s) })
	case opDrop:
		return with(r, func(b dropBody) (any, error) { return nil, a.drop(keptEnd{b.Conn, b.Side}) })
	case opArrivals:
		return with(r, func(b Arrived) (any, error) { return a.arrived(ctx, &b), nil })
	}
	return a.answerRaw(ctx, r)
}

// answerRaw is answer for what is beneath connections, and for loads.
func (a *Agent) answerRaw(ctx context.Context, r *request) (any, error) {
	switch r.Op {
	case opInject:
		return with(r, func(i Injection) (any, error) { return inject(i) })
	case opCapture:
		return with(r, func(b nameBody) (any, error) { return nil, a.capture(b.Name) })
	case opCaptured:
		return with(r, func(b Captured) (any, error) { return a.captured(ctx, &b) })
	case opRelease:
		return with(r, func(b nameBody) (any, error) { return nil, a.release(b.Name) })
	case opChange:
		return with(r, func(b changeBody) (any, error) { return nil, change(b.Changes) })
	case opDevices:
		return devices()
	case opLoad:
		return with(r, func(l Load) (any, error) { return nil, a.startLoad(l) })
	case opAsked:
		return with(r, func(b askedBody) (any, error) { return a.asked(b.Name, b.After) })
	case opStopLoad:
		return with(r, func(b nameBody) (any, error) { return a.stopLoad(ctx, b.Name) })
	}
	return nil, fmt.Errorf("no agent knows %q", r.Op)
}

// reset closes all that is open and forgets what came.
func (a *Agent) reset(how ending) {
	a.serving.Lock()
	defer a.serving.Unlock()
	a.mu.Lock()
	var closing []func()
	for _, l := range a.listeners {
		closing = append(closing, l)
	}
	for p := range a.peers {
		closing = append(closing, func() { p.way.end(how) })
	}
	for _, c := range a.captures {
		closing = append(closing, c.close)
	}
	for _, l := range a.loads {
		closing = append(closing, l.cancel)
	}
	clear(a.listeners)
	clear(a.kept)
	clear(a.peers)
	clear(a.captures)
	clear(a.loads)
	a.mu.Unlock()
	for _, c := range closing {
		c()
	}
	a.sctp.forget()
	a.arrivals.clear()
}

// forgetDeaf closes the captures that nobody looks at.
func (a *Agent) forgetDeaf() {
	a.mu.Lock()
	closing := a.deaf
	a.deaf = nil
	a.mu.Unlock()
	for _, c := range closing {
		c.close()
	}
}

// token makes the name of a question.
func (a *Agent) token() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens++
	return fmt.Sprintf("%s-%x-%d", a.name, a.epoch, a.tokens)
}

// note records that something came.
func (a *Agent) note(came Arrival) {
	came.When = a.clock.Now()
	a.arrivals.add(func(number int) Arrival {
		came.Seq = uint64(number)
		return came
	})
}

// arrived is what of the record is asked for.
func (a *Agent) arrived(ctx context.Context, w *Arrived) []Arrival {
	ctx, cancel := context.WithTimeout(ctx, w.Wait)
	defer cancel()
	return a.arrivals.find(ctx, 0, func(c *Arrival) bool {
		return c.Seq > w.After && (w.Token == "" || c.Token == w.Token) && (w.Conn == "" || c.Conn == w.Conn) &&
			(w.Side == "" || c.Side == w.Side) && (w.Kind == "" || c.Kind == w.Kind)
	})
}

var errNotKept = errors.New("no connection of that name is kept here")

// keptPeer is the end of a kept connection.
func (a *Agent) keptPeer(end keptEnd) (*peer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.kept[end]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s, %s: %w", end.conn, end.side, errNotKept)
}

// keep remembers an end. One before it under the same name is closed without a packet.
func (a *Agent) keep(end keptEnd, p *peer) {
	a.mu.Lock()
	before := a.kept[end]
	a.kept[end] = p
	a.mu.Unlock()
	if before != nil && before != p {
		before.way.end(quietly)
	}
}

// enter and leave keep the list of what is open.
func (a *Agent) enter(p *peer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peers[p] = struct{}{}
}

func (a *Agent) leave(p *peer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.peers, p)
}

// drop is Client.Drop.
func (a *Agent) drop(end keptEnd) error {
	a.mu.Lock()
	p := a.kept[end]
	delete(a.kept, end)
	a.mu.Unlock()
	if p != nil {
		p.way.end(quietly)
	}
	return nil
}

// defaultDialTimeout is how long to wait for an answer.
const defaultDialTimeout = 5 * time.Second

func timeoutOr(d time.Duration) time.Duration {
	if d == 0 {
		return defaultDialTimeout
	}
	return d
}

// proper is an address without the mapping of IPv4 into IPv6, and without a zone.
func proper(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
