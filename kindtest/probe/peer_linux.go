package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// peer is an agent's end of a connection, or of what UDP, SCTP and ICMP have in its place.
type peer struct {
	agent *Agent
	proto inet.Proto
	end   keptEnd // conn is empty if it is not kept
	local netip.AddrPort
	// remote is the other end's address as this end sees it.
	remote netip.AddrPort
	way    transport
	// over is what each question gets from here on, once nothing more comes from the other end. The agent's lock guards it.
	over *Result
}

// transport carries a peer's messages.
type transport interface {
	// send sends one message. What an answer from the network made of it is no error here: it comes by peer.fail.
	send(message []byte) error
	// end ends this end of the connection.
	end(how ending)
}

// ending is what the other end hears of an end.
type ending int

const (
	quietly  ending = iota // nothing
	byReset                // a reset, where the protocol has one: conntrack forgets the connection soon
	normally               // what a program that ends leaves to its kernel
)

// ask asks a question and waits for the answer, or for what comes in its place.
func (p *peer) ask(ctx context.Context, timeout time.Duration) Result {
	token := p.agent.token()
	answered := make(chan Result, 1)
	over := p.agent.await(token, waiter{p, answered})
	defer p.agent.forget(token)
	var result Result
	if over != nil && (p.end.conn == "" || over.End != Answered) {
		result = *over
	} else {
		result = p.askNow(ctx, timeout, token, answered, over != nil)
	}
	result.Token, result.From = token, p.local
	return result
}

// askNow sends a question. Who has said that it says no more is asked, too, but gives no answer.
func (p *peer) askNow(ctx context.Context, timeout time.Duration, token string, answered <-chan Result, deaf bool) Result {
	if err := p.way.send(message{Question: token, Keep: p.end.conn}.line()); err != nil {
		select {
		case result := <-answered: // what ended the connection is known better
			return result
		default:
			return Result{End: Failed, Why: err.Error()}
		}
	}
	if deaf {
		return Result{End: Sent}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case result := <-answered:
		return result
	case <-ctx.Done():
		return Result{End: Silent}
	}
}

// await makes a place for an answer. It says what there is instead if none comes.
func (a *Agent) await(token string, w waiter) (over *Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.of.over == nil {
		a.waiting[token] = w
	}
	return w.of.over
}

func (a *Agent) forget(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, token)
}

// hand gives whoever waits for a token what came.
func (a *Agent) hand(token string, r Result) {
	a.mu.Lock()
	w, ok := a.waiting[token]
	delete(a.waiting, token)
	a.mu.Unlock()
	if ok {
		w.got <- r
	}
}

// finish gives those who wait, and all who ask later, what came as the last thing of all.
func (p *peer) finish(r Result) {
	p.agent.mu.Lock()
	if p.over == nil {
		p.over = &r
	}
	p.agent.mu.Unlock()
	p.fail(r)
}

// fail gives all who wait for an answer by this peer what came in its place.
func (p *peer) fail(r Result) {
	p.agent.mu.Lock()
	var failed []chan<- Result
	for token, w := range p.agent.waiting {
		if w.of == p {
			failed = append(failed, w.got)
			delete(p.agent.waiting, token)
		}
	}
	p.agent.mu.Unlock()
	for _, got := range failed {
		got <- r
	}
}

// take takes a message: a question is recorded and answered, an answer is handed over. The message came from one address and to the other.
func (p *peer) take(m message, at, from netip.AddrPort) {
	if m.Answer != "" {
		p.agent.hand(m.Answer, Result{End: Answered, Server: m.Server, At: m.At, Client: m.Client})
		return
	}
	if m.Keep != "" && p.end.conn == "" {
		p.end = keptEnd{m.Keep, scenarios.SideServer}
		p.agent.keep(p.end, p)
	}
	p.note(scenarios.PacketData, m.Question, at, from)
	_ = p.way.send(message{Answer: m.Question, Server: p.agent.name, At: at, Client: from}.line()) // whoever asked hears nothing then
}

func (p *peer) note(kind scenarios.PacketKind, token string, at, from netip.AddrPort) {
	p.agent.note(Arrival{Proto: p.proto, Kind: kind, Token: token, Conn: p.end.conn, Side: p.end.side, At: at, Client: from})
}
