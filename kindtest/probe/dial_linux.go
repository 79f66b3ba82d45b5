package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// dialsAtOnce is how many connections of one request are made at the same time.
const dialsAtOnce = 128

// associationsAtOnce is the same for SCTP, each of whose raw sockets hears of the packets of all others.
const associationsAtOnce = 32

// mostDials bounds Dial.Times.
const mostDials = 100_000

// Dial is Client.Dial, for who has the agent in hand.
func (a *Agent) Dial(ctx context.Context, d Dial) ([]Result, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	results := make([]Result, max(d.Times, 1))
	workers := min(dialsAtOnce, len(results))
	switch {
	case d.From.Port() != 0:
		workers = 1
	case d.Proto == inet.SCTP:
		workers = min(workers, associationsAtOnce)
	}
	next := make(chan int)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := range next {
				results[i] = a.dialOnce(ctx, d)
			}
		})
	}
	err := feed(ctx, next, len(results))
	close(next)
	working.Wait()
	return results, err
}

// feed hands out the numbers below n until the context ends.
func feed(ctx context.Context, next chan<- int, n int) error {
	for i := range n {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no time for more than %d of %d connections: %w", i, n, ctx.Err())
		case next <- i:
		}
	}
	return nil
}

// check says what is wrong with a request.
func (d *Dial) check() error {
	switch {
	case !d.To.Addr().IsValid():
		return errors.New("dial: to must be there")
	case d.Times < 0 || d.Times > mostDials:
		return fmt.Errorf("dial: %d times: want 1 to %d", d.Times, mostDials)
	case d.Keep != "" && d.Times > 1:
		return errors.New("dial: only one connection has the name under which it is kept")
	case len(d.Keep) > maxToken:
		return fmt.Errorf("dial: a name of %d bytes to keep it under: the most are %d", len(d.Keep), maxToken)
	case d.Timeout < 0:
		return fmt.Errorf("dial: timeout %s", d.Timeout)
	case d.From.Addr().IsValid() && d.From.Addr().Is6() != d.To.Addr().Is6():
		return fmt.Errorf("dial: from %s to %s: two families", d.From.Addr(), d.To.Addr())
	}
	return checkProto("dial", d.Proto, d.To)
}

// checkProto says whether an address is one of a protocol that agents speak.
func checkProto(what string, proto inet.Proto, at netip.AddrPort) error {
	switch {
	case !proto.HasPorts() && !proto.IsICMP():
		return fmt.Errorf("%s: protocol %s: want tcp, udp, sctp, icmp or icmpv6", what, proto)
	case proto.IsICMP() && at.Port() != 0:
		return fmt.Errorf("%s: %s has no port", what, proto)
	case proto.HasPorts() && at.Port() == 0:
		return fmt.Errorf("%s: %s wants a port", what, proto)
	case proto.IsICMP() && (proto == inet.ICMPv6) != at.Addr().Is6():
		return fmt.Errorf("%s: %s to %s: two families", what, proto, at.Addr())
	}
	return nil
}

// dialOnce makes one connection, asks who is there, and keeps it or ends it.
func (a *Agent) dialOnce(ctx context.Context, d Dial) Result {
	start := a.clock.Now()
	ctx, cancel := context.WithTimeout(ctx, timeoutOr(d.Timeout))
	defer cancel()
	p, result := a.openFromAnyPort(ctx, d)
	if p != nil {
		result = p.ask(ctx, longestTimeout)
		if d.Keep == "" {
			p.way.end(byReset)
		} else {
			a.keep(p.end, p)
		}
	}
	result.Took = a.clock.Since(start)
	return result
}

// The ports of clients that do not ask for one. The kernel would soon give one again for a connection to another address; a node that
// translates both addresses to the same one still remembers the first, and changes the port of the second.
const (
	firstClientPort = 42000
	clientPorts     = 18000
)

// portTries is how many ports are tried where others have them.
const portTries = 8

// openFromAnyPort is open for a client that may not ask for a port.
func (a *Agent) openFromAnyPort(ctx context.Context, d Dial) (p *peer, result Result) {
	if d.From.Port() != 0 || d.Proto != inet.TCP && d.Proto != inet.UDP {
		return a.open(ctx, d)
	}
	for range portTries {
		d.From = netip.AddrPortFrom(d.From.Addr(), a.clientPort())
		p, result = a.open(ctx, d)
		taken := strings.Contains(result.Why, unix.EADDRINUSE.Error()) || strings.Contains(result.Why, unix.EADDRNOTAVAIL.Error())
		if result.End != Failed || !taken {
			break
		}
	}
	return p, result
}

// clientPort is the port of a client that does not ask for one: that which was used longest ago.
func (a *Agent) clientPort() uint16 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports = (a.ports + 1) % clientPorts
	return uint16(firstClientPort + a.ports)
}

// open opens the client's end. If nothing can be asked there is no peer, and the result says why.
func (a *Agent) open(ctx context.Context, d Dial) (*peer, Result) {
	p := &peer{agent: a, proto: d.Proto, remote: d.To}
	if d.Keep != "" {
		p.end = keptEnd{d.Keep, scenarios.SideClient}
	}
	switch d.Proto {
	case inet.TCP:
		return p.openTCP(ctx, d)
	case inet.SCTP:
		return p.openSCTP(ctx, d)
	}
	return p.openDatagrams(d)
}

// speak is Client.Speak.
func (a *Agent) speak(ctx context.Context, s Speech) (Result, error) {
	p, err := a.keptPeer(keptEnd{s.Conn, s.Side})
	if err != nil {
		return Result{}, err
	}
	start := a.clock.Now()
	result, err := p.speak(ctx, s.Kind, timeoutOr(s.Timeout))
	result.Took, result.From = a.clock.Since(start), p.local
	return result, err
}

// segmenter is a transport that has more to say than messages.
type segmenter interface {
	sendFIN(ctx context.Context) Result
	sendReset() Result
	sendOutOfWindow() (Result, error)
	sendBehindFIN() (result Result, sent bool, err error)
}

func (p *peer) speak(ctx context.Context, kind scenarios.PacketKind, timeout time.Duration) (Result, error) {
	way, ok := p.way.(segmenter)
	if kind == scenarios.PacketData {
		if ok {
			if result, sent, err := way.sendBehindFIN(); sent || err != nil {
				return result, err
			}
		}
		return p.ask(ctx, timeout), nil
	}
	if !ok {
		return Result{}, fmt.Errorf("%s has no %s", p.proto, kind)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch kind {
	case scenarios.PacketFIN:
		return way.sendFIN(ctx), nil
	case scenarios.PacketRST:
		return way.sendReset(), nil
	case scenarios.PacketOutOfWindow:
		return way.sendOutOfWindow()
	}
	return Result{}, fmt.Errorf("%q is no kind of packet: want data, fin, rst or outOfWindow", kind)
}
