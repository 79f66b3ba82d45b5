package netns

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/scenarios"
)

// nsExec runs programs in a namespace, the iptables tools in one of their variants.
type nsExec struct {
	exec.Interface
	ns   *namespace
	tool scenarios.Tool
	lock *os.File
}

// newExec makes an nsExec with a lock of its own for the legacy tools, whose usual one
// is the whole machine's. The lock is a file without a name.
func newExec(ns *namespace, tool scenarios.Tool) (*nsExec, error) {
	fd, err := unix.MemfdCreate("xtables.lock", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a lock for the iptables tools: %w", err)
	}
	return &nsExec{Interface: exec.New(), ns: ns, tool: tool, lock: os.NewFile(uintptr(fd), "xtables.lock")}, nil
}

// environment names the lock by this process, which has it open.
func (e *nsExec) environment() []string {
	return append(os.Environ(), fmt.Sprintf("XTABLES_LOCKFILE=/proc/%d/fd/%d", os.Getpid(), e.lock.Fd()))
}

// variant is the name of a tool's variant: iptables-save is iptables-nft-save.
func (e *nsExec) variant(name string) string {
	for _, family := range []string{"iptables", "ip6tables"} {
		if suffix, ok := strings.CutPrefix(name, family); ok && (suffix == "" || suffix == "-save" || suffix == "-restore") {
			return family + "-" + string(e.tool) + suffix
		}
	}
	return name
}

// Command makes a command that runs in the namespace.
func (e *nsExec) Command(name string, args ...string) exec.Cmd {
	return e.in(e.Interface.Command(e.variant(name), args...))
}

// CommandContext makes a command that runs in the namespace.
func (e *nsExec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.in(e.Interface.CommandContext(ctx, e.variant(name), args...))
}

func (e *nsExec) in(cmd exec.Cmd) exec.Cmd {
	cmd.SetEnv(e.environment())
	return &nsCmd{Cmd: cmd, ns: e.ns}
}

// nsCmd is a command in a namespace. A child has the namespace of the thread that
// starts it.
type nsCmd struct {
	exec.Cmd
	ns *namespace
}

// Run runs the command.
func (c *nsCmd) Run() error { return c.ns.do(c.Cmd.Run) }

// Start starts the command.
func (c *nsCmd) Start() error { return c.ns.do(c.Cmd.Start) }

// CombinedOutput runs the command and returns both of its outputs.
func (c *nsCmd) CombinedOutput() (out []byte, err error) {
	err = c.ns.do(func() (err error) {
		out, err = c.Cmd.CombinedOutput()
		return err
	})
	return out, err
}

// Output runs the command and returns its standard output.
func (c *nsCmd) Output() (out []byte, err error) {
	err = c.ns.do(func() (err error) {
		out, err = c.Cmd.Output()
		return err
	})
	return out, err
}
