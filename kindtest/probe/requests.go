package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// with reads a request's body.
func with[T any](r *request, do func(T) (any, error)) (any, error) {
	var body T
	if err := unmarshal(r.Body, &body); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Op, err)
	}
	said, err := do(body)
	if said == nil {
		said = none{}
	}
	return said, err
}

// atOnce is how many requests of one stream are under way at most.
const atOnce = 1024

// answerRequests reads requests from a stream and writes what answer says, each when it is there, until the stream or the context ends. A
// line that is no request is answered by what is wrong with it, to nobody, and ends the stream.
func answerRequests(ctx context.Context, conn io.ReadWriteCloser, answer func(context.Context, *request) (any, error)) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	lines := newStream(conn)
	var underWay sync.WaitGroup
	places := make(chan struct{}, atOnce)
	defer func() {
		cancel()
		stop()
		underWay.Wait()
		_ = conn.Close()
	}()
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		r, err := parseRequest(line)
		if err != nil {
			_ = lines.putLine(respond(&r, nil, err))
			return
		}
		r.Body = append(json.RawMessage(nil), r.Body...) // the line is overwritten by the next
		places <- struct{}{}
		underWay.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, r.Timeout)
			defer cancel()
			said, err := answer(ctx, &r)
			_ = lines.putLine(respond(&r, said, err)) // a stream that is gone has nobody to tell
		})
	}
}

// respond is the response to a request.
func respond(r *request, said any, err error) []byte {
	answer := response{Version: version, ID: r.ID}
	if err == nil {
		answer.Body, err = json.Marshal(said)
	}
	if err != nil {
		answer.Body, answer.Error = nil, err.Error()
	}
	line, err := encodeLine(answer)
	if err != nil {
		line, _ = encodeLine(response{Version: version, ID: r.ID, Error: err.Error()}) // short, as it has no body
	}
	return line
}
