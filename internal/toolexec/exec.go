package toolexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"k8s.io/utils/exec"
)

// Tools runs a tool and returns its exit status. argv[0] is its name.
type Tools interface {
	Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) (status int)
}

// Exec is tools as programs that can be run: a k8s.io/utils/exec.Interface.
type Exec struct {
	// Tools runs them.
	Tools Tools
	// Known says whether there is a program of that name, which may have a folder in front. Others are not found.
	Known func(name string) bool
	// Prompt says that a tool waits for nothing but its input.
	Prompt bool
}

var _ exec.Interface = (*Exec)(nil)

// Command returns a program with arguments.
func (e *Exec) Command(name string, args ...string) exec.Cmd {
	return e.CommandContext(context.Background(), name, args...)
}

// CommandContext is Command; a context that is done before the program starts keeps it from running.
func (e *Exec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return &process{executor: e, ctx: ctx, argv: append([]string{name}, args...)}
}

// LookPath returns where a program is.
func (e *Exec) LookPath(file string) (string, error) {
	if !e.Known(file) {
		return "", exec.ErrExecutableNotFound
	}
	return "/usr/sbin/" + path.Base(file), nil
}

// process is one run of a program.
type process struct {
	executor       *Exec
	ctx            context.Context
	argv           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	pipes          []*io.PipeWriter

	started bool
	done    chan struct{}
	err     error
	stop    sync.Once
	stopped chan struct{}
}

// exitError is the exit status of a tool that is not 0.
type exitError struct {
	status int
}

var _ exec.ExitError = (*exitError)(nil)

// Error is "exit status N".
func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// String is the same as Error.
func (e *exitError) String() string { return e.Error() }

// Exited is true: the tools are never killed.
func (e *exitError) Exited() bool { return true }

// ExitStatus is the status.
func (e *exitError) ExitStatus() int { return e.status }

// Errors of starting a program in a way that is not possible.
var (
	errStarted    = errors.New("toolexec: already started")
	errNotStarted = errors.New("toolexec: not started")
	errOutputSet  = errors.New("toolexec: output is already set")
)

func (p *process) SetDir(string) {}

func (p *process) SetStdin(in io.Reader) { p.stdin = in }

func (p *process) SetStdout(out io.Writer) { p.stdout = out }

func (p *process) SetStderr(out io.Writer) { p.stderr = out }

func (p *process) SetEnv([]string) {}

// StdoutPipe returns a reader of what the program prints; it must be read to its end before Wait.
func (p *process) StdoutPipe() (io.ReadCloser, error) { return p.pipe(&p.stdout) }

// StderrPipe is StdoutPipe for errors.
func (p *process) StderrPipe() (io.ReadCloser, error) { return p.pipe(&p.stderr) }

func (p *process) pipe(to *io.Writer) (io.ReadCloser, error) {
	if *to != nil {
		return nil, errOutputSet
	}
	if p.started {
		return nil, errStarted
	}
	r, w := io.Pipe()
	*to = w
	p.pipes = append(p.pipes, w)
	return r, nil
}

// Start runs the program in the background.
func (p *process) Start() error {
	err := p.start()
	if err == nil {
		p.beside()
	}
	return err
}

// beside runs the program on a goroutine of its own.
func (p *process) beside() {
	p.done, p.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.done)
		p.run()
	}()
}

// start prepares to run the program.
func (p *process) start() error {
	if p.started {
		return errStarted
	}
	p.started = true
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !p.executor.Known(p.argv[0]) {
		return exec.ErrExecutableNotFound
	}
	return nil
}

func (p *process) run() {
	status := p.executor.Tools.Run(p.argv, p.stdin, orDiscard(p.stdout), orDiscard(p.stderr))
	for _, w := range p.pipes {
		// The reader sees the end of the output.
		_ = w.Close()
	}
	if status != 0 {
		p.err = &exitError{status: status}
	}
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// Wait waits for the end of a program that was started, or until it is stopped or its context is done.
func (p *process) Wait() error {
	if p.done == nil {
		return errNotStarted
	}
	select {
	case <-p.done:
		return p.err
	default:
	}
	select {
	case <-p.done:
		return p.err
	case <-p.stopped:
		return &exitError{status: statusKilled}
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// statusKilled is the status a shell gives a program that a signal ended.
const statusKilled = 137

// Stop makes Wait return. A tool that is at work is not broken off: its changes come all at once or not at all.
func (p *process) Stop() {
	if p.stopped != nil {
		p.stop.Do(func() { close(p.stopped) })
	}
}

// Run starts the program and waits for it.
func (p *process) Run() error {
	if err := p.start(); err != nil {
		return err
	}
	if p.waitsForNobody() {
		p.run()
		return p.err
	}
	p.beside()
	return p.Wait()
}

// waitsForNobody says whether the program ends without anybody else's doing, so that it needs no goroutine of its own.
func (p *process) waitsForNobody() bool {
	if !p.executor.Prompt || len(p.pipes) > 0 {
		return false
	}
	switch p.stdin.(type) {
	case nil, *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	return false
}

// CombinedOutput runs the program and returns all it prints.
func (p *process) CombinedOutput() ([]byte, error) {
	if p.stdout != nil || p.stderr != nil {
		return nil, errOutputSet
	}
	out := &lockedBuffer{}
	p.stdout, p.stderr = out, out
	err := p.Run()
	return out.take(), err
}

// Output runs the program and returns what it prints on its standard output.
func (p *process) Output() ([]byte, error) {
	if p.stdout != nil {
		return nil, errOutputSet
	}
	out := &lockedBuffer{}
	p.stdout = out
	err := p.Run()
	return out.take(), err
}

// lockedBuffer may still be written to when it is read, by a program that was not waited for.
type lockedBuffer struct {
	lock sync.Mutex
	buf  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) take() []byte {
	b.lock.Lock()
	defer b.lock.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
