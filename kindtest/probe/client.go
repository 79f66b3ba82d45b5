package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Client asks the agents behind one stream, for any number of callers at once. A caller waits until its context ends, a minute if that has
// no deadline; the agent gives up at the same time.
type Client struct {
	stream *stream
	out    chan []byte   // the lines to write
	ended  chan struct{} // closed when nothing more is read

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan response
	broken  error // why nothing more is read
}

// NewClient speaks on a stream whose other end is a relay, or one agent. It reads from it until Close.
func NewClient(s io.ReadWriteCloser) *Client {
	c := &Client{stream: newStream(s), out: make(chan []byte), ended: make(chan struct{}), waiting: map[uint64]chan response{}}
	go c.listen()
	go c.speak()
	return c
}

// Close closes the stream. Whoever waits still gets an error.
func (c *Client) Close() error {
	c.fail(errClosed)
	return c.stream.Close()
}

// errClosed says that a Client was closed, or its stream has ended.
var errClosed = errors.New("the connection is closed")

// errBroken is in the reason why nothing more is read or written.
var errBroken = errors.New("no more answers come")

// defaultTimeout is how long a request without a deadline may take.
const defaultTimeout = time.Minute

// grace is how much earlier than the caller's own deadline an agent gives up, so that its answer arrives.
const grace = 50 * time.Millisecond

// ask sends a request and reads its answer. An empty agent is the relay itself.
func ask[T any](ctx context.Context, c *Client, agent string, op operation, body any) (T, error) {
	var answer T
	got, err := c.exchange(ctx, agent, op, body)
	if err == nil {
		err = unmarshal(got, &answer)
	}
	if err != nil && agent == "" {
		agent = "the relay"
	}
	if err != nil {
		return answer, fmt.Errorf("%s of %s: %w", op, agent, err)
	}
	return answer, nil
}

// none is the answer of what has nothing to say.
type none struct{}

// tell is ask for a request that nothing is said to.
func (c *Client) tell(ctx context.Context, agent string, op operation, body any) error {
	_, err := ask[none](ctx, c, agent, op, body)
	return err
}

func (c *Client) exchange(ctx context.Context, agent string, op operation, body any) (json.RawMessage, error) {
	ctx, cancel := withDefaultTimeout(ctx)
	defer cancel()
	r := request{Version: version, Agent: agent, Op: op}
	if deadline, ok := ctx.Deadline(); ok {
		r.Timeout = min(max(time.Until(deadline)-grace, time.Millisecond), longestTimeout)
	}
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	id, answered, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer c.leave(id)
	r.ID = id
	line, err := encodeLine(r)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
		return nil, c.reason()
	case c.out <- line:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
		select {
		case got := <-answered:
			return got.said()
		default:
			return nil, c.reason()
		}
	case got := <-answered:
		return got.said()
	}
}

func withDefaultTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultTimeout)
}

// said is the answer, or the other end's error.
func (r *response) said() (json.RawMessage, error) {
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Body, nil
}

// enter makes a place for an answer.
func (c *Client) enter() (uint64, chan response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return 0, nil, c.broken
	}
	c.last++
	answered := make(chan response, 1)
	c.waiting[c.last] = answered
	return c.last, answered, nil
}

func (c *Client) leave(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// fail ends all waiting, for the first reason that there is.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = fmt.Errorf("%w: %w", errBroken, err)
		close(c.ended)
	}
}

func (c *Client) isBroken() bool { return c.reason() != nil }

func (c *Client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// speak writes the lines of requests, so that a stream that takes nothing holds up nobody longer than they wait.
func (c *Client) speak() {
	for {
		select {
		case <-c.ended:
			return
		case line := <-c.out:
			if err := c.stream.putLine(line); err != nil {
				c.fail(fmt.Errorf("send a request: %w", err))
				return
			}
		}
	}
}

// listen hands answers to those who wait for them. An answer that nobody waits for any more is dropped; one to nobody tells why the other
// end has not understood what it was sent.
func (c *Client) listen() {
	for {
		got, err := c.next()
		if err != nil {
			c.fail(err)
			return
		}
		c.mu.Lock()
		answered := c.waiting[got.ID]
		delete(c.waiting, got.ID)
		c.mu.Unlock()
		if answered != nil {
			answered <- got
		}
	}
}

func (c *Client) next() (got response, err error) {
	line, err := c.stream.next()
	if errors.Is(err, io.EOF) {
		return got, errClosed
	}
	if err == nil {
		got, err = parseResponse(line)
	}
	if err == nil && got.ID == 0 {
		err = errors.New(got.Error)
	}
	return got, err
}
