package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	kjson "sigs.k8s.io/json"
)

// version is that of the lines. An agent and a client of different ones refuse each other.
const version = 1

// maxLine is how long a line may be. A snapshot of a node with 10,000 services has 20 MB.
const maxLine = 64 << 20

// operation is what a request asks for.
type operation string

const (
	opServe    operation = "serve"
	opDial     operation = "dial"
	opReset    operation = "reset"
	opSpeak    operation = "speak"
	opDrop     operation = "drop"
	opArrivals operation = "arrivals"
	opInject   operation = "inject"
	opCapture  operation = "capture"
	opCaptured operation = "captured"
	opRelease  operation = "release"
	opChange   operation = "change"
	opDevices  operation = "devices"
	opLoad     operation = "load"
	opAsked    operation = "asked"
	opStopLoad operation = "stopLoad"
	// These are the relay's own.
	opSnapshot operation = "snapshot"
	opExec     operation = "exec"
	opFetch    operation = "fetch"
	opForget   operation = "forget"
	opAgents   operation = "agents"
)

// request is a line to an agent, or to a relay.
type request struct {
	Version int       `json:"version"`
	ID      uint64    `json:"id"`
	Agent   string    `json:"agent,omitzero"`
	Op      operation `json:"op"`
	// Timeout is how long the caller waits.
	Timeout time.Duration   `json:"timeout"`
	Body    json.RawMessage `json:"body,omitzero"`
}

// response is the line that answers the request of the same ID. The order of responses is any.
type response struct {
	Version int             `json:"version"`
	ID      uint64          `json:"id"`
	Error   string          `json:"error,omitzero"`
	Body    json.RawMessage `json:"body,omitzero"`
}

// longestTimeout bounds what a request may ask for.
const longestTimeout = time.Hour

// parseRequest reads a line.
func parseRequest(line []byte) (r request, err error) {
	if err := unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("request: %w", err)
	}
	switch {
	case r.Version != version:
		return r, fmt.Errorf("request of version %d: this agent speaks version %d, use the same build on both sides", r.Version, version)
	case r.ID == 0 || r.Op == "":
		return r, errors.New("request: id and op must be there")
	case r.Timeout <= 0 || r.Timeout > longestTimeout:
		return r, fmt.Errorf("request: timeout %s: want more than 0 and at most %s", r.Timeout, longestTimeout)
	case r.Agent != "" && !validName(r.Agent):
		return r, fmt.Errorf("request: agent %q: %w", r.Agent, errName)
	}
	return r, nil
}

// parseResponse reads a line.
func parseResponse(line []byte) (r response, err error) {
	if err := unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("response: %w", err)
	}
	if r.Version != version {
		return r, fmt.Errorf("response of version %d: this client speaks version %d, use the same build on both sides", r.Version, version)
	}
	return r, nil
}

// unmarshal reads JSON strictly: what is unknown, given twice or spelled with other capitals is an error.
func unmarshal(text []byte, into any) error {
	wrong, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append([]error{err}, wrong...)...)
}

var errName = errors.New("want 1 to 63 of a-z, 0-9, - and ., with a letter or digit first and last")

// validName reports whether agents may be named so: as Kubernetes names nodes and pods, and good in a path.
func validName(name string) bool {
	if len(name) == 0 || len(name) > 63 {
		return false
	}
	for i, c := range []byte(name) {
		inside := i > 0 && i < len(name)-1
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (!inside || c != '-' && c != '.') {
			return false
		}
	}
	return true
}

// stream reads and writes lines. Lines may be written by several goroutines.
type stream struct {
	io.Closer
	read  *bufio.Scanner
	mu    sync.Mutex
	write io.Writer
}

func newStream(s io.ReadWriteCloser) *stream {
	read := bufio.NewScanner(s)
	read.Buffer(make([]byte, 0, 64<<10), maxLine)
	return &stream{Closer: s, read: read, write: s}
}

// next is the next line, which is valid until the next call; io.EOF at the end.
func (s *stream) next() ([]byte, error) {
	if s.read.Scan() {
		return s.read.Bytes(), nil
	}
	if err := s.read.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// encodeLine is a value as a line without its end.
func encodeLine(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err == nil && len(line) >= maxLine {
		err = fmt.Errorf("a line of %d bytes: the most are %d", len(line), maxLine)
	}
	return line, err
}

// putLine writes a line that has no end yet.
func (s *stream) putLine(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.write.Write(append(line, '\n'))
	return err
}
