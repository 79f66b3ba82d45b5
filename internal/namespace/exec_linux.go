package namespace

import (
	"context"

	"k8s.io/utils/exec"
)

// Exec runs the machine's programs in the namespace.
func (n *Namespace) Exec() exec.Interface { return executor{exec.New(), n} }

type executor struct {
	exec.Interface
	ns *Namespace
}

// Command makes a command that runs in the namespace.
func (e executor) Command(name string, args ...string) exec.Cmd {
	return e.in(e.Interface.Command(name, args...))
}

// CommandContext makes a command that runs in the namespace.
func (e executor) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.in(e.Interface.CommandContext(ctx, name, args...))
}

func (e executor) in(cmd exec.Cmd) exec.Cmd {
	cmd.SetEnv(e.ns.Environment())
	return &command{Cmd: cmd, ns: e.ns}
}

// command is a command in a namespace. A child has the namespace of the thread that starts it.
type command struct {
	exec.Cmd
	ns *Namespace
}

// Run runs the command.
func (c *command) Run() error { return c.ns.Do(c.Cmd.Run) }

// Start starts the command.
func (c *command) Start() error { return c.ns.Do(c.Cmd.Start) }

// CombinedOutput runs the command and returns both of its outputs.
func (c *command) CombinedOutput() (out []byte, err error) {
	err = c.ns.Do(func() (err error) {
		out, err = c.Cmd.CombinedOutput()
		return err
	})
	return out, err
}

// Output runs the command and returns its standard output.
func (c *command) Output() (out []byte, err error) {
	err = c.ns.Do(func() (err error) {
		out, err = c.Cmd.Output()
		return err
	})
	return out, err
}
