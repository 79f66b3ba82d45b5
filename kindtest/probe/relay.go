package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/utils/clock"
	kexec "k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// socketSuffix is behind an agent's name in the name of its socket.
const socketSuffix = ".sock"

// socketPath is where the agent of a name takes requests, if its relay looks for agents in this folder.
func socketPath(dir, agent string) string { return filepath.Join(dir, agent+socketSuffix) }

// relay passes requests on to the agents of a folder.
type relay struct {
	dir    string
	clock  clock.PassiveClock
	mu     sync.Mutex
	agents map[string]*Client
}

// Relay takes requests from a stream until that or the context ends. Those with an agent's name go to its socket in the folder, the others
// the relay answers itself.
func Relay(ctx context.Context, dir string, c clock.PassiveClock, s io.ReadWriteCloser) {
	r := &relay{dir: dir, clock: c, agents: map[string]*Client{}}
	defer r.close()
	answerRequests(ctx, s, r.answer)
}

func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.agents {
		_ = c.Close()
	}
}

func (r *relay) answer(ctx context.Context, q *request) (any, error) {
	if q.Agent != "" {
		return r.pass(ctx, q)
	}
	switch q.Op {
	case opSnapshot:
		return r.snapshot(ctx)
	case opExec:
		return with(q, func(c Command) (any, error) { return runCommand(ctx, &c) })
	case opFetch:
		return with(q, func(b fetchBody) (any, error) { return fetch(ctx, b.URL) })
	case opForget:
		return with(q, func(b forgetBody) (any, error) { return nil, forget(b.Addresses) })
	case opAgents:
		return r.names()
	}
	return nil, fmt.Errorf("a relay does %s, %s, %s, %s and %s itself; %q needs the name of an agent", opSnapshot, opExec, opFetch, opForget,
		opAgents, q.Op)
}

// pass has an agent answer. One that has been replaced meanwhile is connected to anew.
func (r *relay) pass(ctx context.Context, q *request) (any, error) {
	c, err := r.client(ctx, q.Agent)
	if err != nil {
		return nil, err
	}
	body, err := c.exchange(ctx, q.Agent, q.Op, q.Body)
	if errors.Is(err, errBroken) {
		r.mu.Lock()
		if r.agents[q.Agent] == c {
			delete(r.agents, q.Agent)
		}
		r.mu.Unlock()
		_ = c.Close()
		return nil, fmt.Errorf("agent %s has gone: %w", q.Agent, err)
	}
	return body, err
}

// client is the connection to an agent.
func (r *relay) client(ctx context.Context, agent string) (*Client, error) {
	r.mu.Lock()
	c := r.agents[agent]
	r.mu.Unlock()
	if c != nil && !c.isBroken() {
		return c, nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socketPath(r.dir, agent))
	if err != nil {
		return nil, fmt.Errorf("nobody answers as agent %s (is its pod running, and does it have %s?): %w", agent, r.dir, err)
	}
	fresh := NewClient(conn)
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.agents[agent]; other != nil && other != c {
		_ = fresh.Close()
		return other, nil
	}
	r.agents[agent] = fresh
	return fresh, nil
}

// names are the names of agents whose sockets answer.
func (r *relay) names() (any, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), socketSuffix)
		if !ok || !validName(name) {
			continue
		}
		if conn, err := net.DialTimeout("unix", socketPath(r.dir, name), time.Second); err == nil {
			_ = conn.Close()
			names = append(names, name)
		}
	}
	return names, nil
}

// snapshot is that of this machine. It goes as the JSON of its fields, and not as the document for people, which takes longer to read.
func (r *relay) snapshot(ctx context.Context) (any, error) {
	node, err := snapshot.Take(ctx, kexec.New())
	if err != nil {
		return nil, err
	}
	node.Taken = r.clock.Now().UTC().Truncate(time.Second)
	return node, nil
}

// mostOutput is how much a command may print on each of its outputs.
const mostOutput = 32 << 20

// signalled is added to the number of a signal that ended a program.
const signalled = 128

// afterKill is how long the outputs of a program that was killed stay open, as others may have them.
const afterKill = time.Second

// runCommand is Client.Exec.
func runCommand(ctx context.Context, c *Command) (any, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("exec: argv must be there")
	}
	stdout, stderr := &bounded{left: mostOutput}, &bounded{left: mostOutput}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.Stdin), stdout, stderr
	cmd.Env, cmd.WaitDelay = append(os.Environ(), c.Environment...), afterKill
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(c.Argv, " "), ctx.Err())
	}
	exited := Exited{Stdout: stdout.text(), Stderr: stderr.text()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exited.Status, err = exit.ExitCode(), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			exited.Status = signalled + int(status.Signal())
		}
	}
	return exited, err
}

// fetch is Client.Fetch.
func fetch(ctx context.Context, url string) (any, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	ask.Close = true // who is asked next may be another process
	answer, err := http.DefaultClient.Do(ask)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return Fetched{Refused: true}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body := &bounded{left: mostOutput}
	_, err = io.Copy(body, answer.Body)
	return Fetched{Status: answer.StatusCode, Body: body.text()}, err
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	left int
}

// Write takes everything.
func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.left)]
	b.left -= len(kept)
	_, _ = b.Buffer.Write(kept) // which never fails
	return len(p), nil
}

func (b *bounded) text() string { return strings.ToValidUTF8(b.String(), "\uFFFD") }
