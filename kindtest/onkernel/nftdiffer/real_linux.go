package nftdiffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// realMachine runs the real tool in a namespace of its own.
type realMachine struct {
	ns     *namespace.Namespace
	folder string
}

// newRealMachine makes a namespace where no tool has run.
func newRealMachine() (machine, error) {
	folder, err := os.MkdirTemp("", "chainwalk-nft")
	if err != nil {
		return nil, err
	}
	ns, err := namespace.New()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return &realMachine{ns, folder}, nil
}

func (m *realMachine) close() { _ = errors.Join(m.ns.Close(), os.RemoveAll(m.folder)) }

func (m *realMachine) write(name, text string) error {
	path := filepath.Join(m.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// longestRun is how long a run of nft may take. Most take milliseconds; some input has nft 1.0.6 loop for ever.
const longestRun = time.Minute

func (m *realMachine) run(args []string, stdin string) (run toolrun.Run, err error) {
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), longestRun)
	defer cancel()
	err = m.ns.Do(func() error {
		cmd := exec.CommandContext(ctx, "nft", args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(stdin), &stdout, &stderr, m.folder
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd.Run()
	})
	if ctx.Err() != nil {
		return run, fmt.Errorf("nft did not end in %s: %s\n%s", longestRun, joinWords(args), stdin)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		run.Status, err = exit.ExitCode(), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			run.Status = toolrun.StatusSignal + int(status.Signal())
		}
	}
	run.Stdout, run.Stderr = stdout.String(), stderr.String()
	return run, err
}
