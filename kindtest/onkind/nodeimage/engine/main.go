// Command engine starts a Docker engine where a machine has its programs and nothing that starts it, as in a container or a small virtual
// machine without an init system. Privileged containers work even if the machine's capability bounding set is reduced (command runtime).
//
//	engine [-stop] [-source FOLDER] [-folder FOLDER]
//
// An engine that answers already is left alone. -stop ends the one that this command has started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/command"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
)

func main() { newCommand().Main() }

func newCommand() *command.Command {
	var o options
	look := func(ctx context.Context, _ []string, out io.Writer) (bool, error) { return true, o.do(ctx, out) }
	return &command.Command{Name: "engine", Flags: o.define, Valid: o.valid, Look: look}
}

// options are the flags.
type options struct {
	source, folder string
	stop           bool
}

func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.source, "source", ".", "chainwalk's source tree")
	flags.StringVar(&o.folder, "folder", "", "where the engine's log and process number go (default engine in the cache of node images)")
	flags.BoolVar(&o.stop, "stop", false, "end the engine that this command has started")
}

func (o *options) valid(args []string) bool { return len(args) == 0 }

// patience is how long an engine may take to answer, or to end.
const patience = time.Minute

func (o *options) do(ctx context.Context, out io.Writer) error {
	if o.folder == "" {
		cache, err := nodeimage.Cache()
		if err != nil {
			return err
		}
		o.folder = filepath.Join(cache, "engine")
	}
	switch {
	case o.stop:
		return o.end(ctx)
	case answers(ctx):
		fmt.Fprintln(out, "a Docker engine answers")
		return nil
	}
	if err := o.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "a Docker engine runs; its log is %s\n", o.log())
	return nil
}

func (o *options) log() string { return filepath.Join(o.folder, "dockerd.log") }

func (o *options) pidFile() string { return filepath.Join(o.folder, "dockerd.pid") }

// answers reports whether an engine answers.
func answers(ctx context.Context) bool {
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// start starts the engine as a process of its own, and waits until it answers.
func (o *options) start(ctx context.Context) error {
	daemon, err := exec.LookPath("dockerd")
	if err != nil {
		return fmt.Errorf("%w; install a Docker engine (apt-get install docker.io)", err)
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return err
	}
	runtime := filepath.Join(o.folder, "chainwalk-runtime")
	if err := o.buildRuntime(ctx, runtime); err != nil {
		return err
	}
	log, err := os.OpenFile(o.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// It outlives this command, and hears no Ctrl-C.
	engine := exec.Command(daemon, "--add-runtime", "bounded="+runtime, "--default-runtime", "bounded", "--pidfile", o.pidFile())
	engine.Stdout, engine.Stderr = log, log
	engine.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := engine.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- engine.Wait() }()
	if err := untilAnswers(ctx, ended); err != nil {
		_ = engine.Process.Signal(syscall.SIGTERM)
		return fmt.Errorf("%w; its log is %s", err, o.log())
	}
	return nil
}

func (o *options) buildRuntime(ctx context.Context, path string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./kindtest/onkind/nodeimage/runtime")
	build.Dir = o.source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the runtime: %w\n%s", err, said)
	}
	return nil
}

func untilAnswers(ctx context.Context, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !answers(ctx) {
		select {
		case err := <-ended:
			return fmt.Errorf("the Docker engine ended: %w", errors.Join(err, errors.New("it should have stayed")))
		case <-ctx.Done():
			return fmt.Errorf("the Docker engine does not answer: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// end ends the engine that was started here and waits for its end.
func (o *options) end(ctx context.Context) error {
	pid, err := engineOf(o.pidFile(), "/proc")
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the Docker engine, process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Docker engine, process %d, does not end: %w", pid, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// engineOf is the number of the engine's process by its file. A number that belongs to another program by now is an error.
func engineOf(file, proc string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("no Docker engine was started here: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil || strings.TrimSpace(string(name)) != "dockerd" {
		return 0, fmt.Errorf("%s says process %d, which is no Docker engine: remove the file", file, pid)
	}
	return pid, nil
}
