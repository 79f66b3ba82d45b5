//go:build clusters

package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
)

// gate is the way of a client to the API server, which can be shut. It counts the watches that were told that their beginning has been
// forgotten.
type gate struct {
	next http.RoundTripper

	lock    sync.Mutex
	shut    bool
	open    map[*answer]bool
	expired int
}

func newGate() *gate { return &gate{open: map[*answer]bool{}} }

// around puts the gate before a transport.
func (g *gate) around(next http.RoundTripper) http.RoundTripper {
	g.next = next
	return g
}

// errShut is what a client gets where nobody listens: it tries the same watch again.
var errShut = fmt.Errorf("the gate is shut: %w", syscall.ECONNREFUSED)

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	if g.isShut() {
		return nil, errShut
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	a := &answer{gate: g, body: response.Body}
	response.Body = a
	g.lock.Lock()
	defer g.lock.Unlock()
	g.open[a] = true
	return response, nil
}

func (g *gate) isShut() bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.shut
}

// close ends what is under way, as the API server ends a watch after some minutes, and refuses what comes.
func (g *gate) close() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.shut = true
	for a := range g.open {
		_ = a.body.Close()
	}
	g.open = map[*answer]bool{}
}

func (g *gate) reopen() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.shut = false
}

// expirations are the watches that were told that their beginning has been forgotten.
func (g *gate) expirations() int {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.expired
}

// answer is the body of a response.
type answer struct {
	gate *gate
	body io.ReadCloser
}

// Read implements io.Reader.
func (a *answer) Read(into []byte) (int, error) {
	n, err := a.body.Read(into)
	// An event fits into one read here: the server writes each of them at once.
	if bytes.Contains(into[:n], []byte(`"reason":"Expired"`)) {
		a.gate.lock.Lock()
		a.gate.expired++
		a.gate.lock.Unlock()
	}
	if err != nil && a.gate.isShut() {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	a.gate.lock.Lock()
	delete(a.gate.open, a)
	a.gate.lock.Unlock()
	return a.body.Close()
}
