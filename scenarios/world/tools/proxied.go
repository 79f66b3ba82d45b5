package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/scenarios"
)

// Proxied runs a node's tools for its proxier: they can fail, what they write is counted, and somebody may look
// between any two of them. A program is run by Run, Output or CombinedOutput; one that is started is the tool as it is.
type Proxied struct {
	exec.Interface
	Faults *Faults
	Watch  *Watch
	// HoldLock has the tools find the lock of the legacy tools taken, until it is released. Nil: the tools have no such lock.
	HoldLock func() (release func(), err error)
	// Sleep moves the clock while a tool that takes long runs. Required if one does.
	Sleep func(time.Duration)
	// Interrupted is asked before each tool is run, and its error is the run's. Nil: nobody interrupts.
	Interrupted func() error
	// Written is what restores were given since it was set.
	Written scenarios.Written
	// Inputs are the inputs of the restores so far, if KeepInputs is set.
	Inputs     [][]byte
	KeepInputs bool
}

// Command makes a command that runs a tool.
func (p *Proxied) Command(name string, args ...string) exec.Cmd {
	return p.CommandContext(context.Background(), name, args...)
}

// CommandContext makes a command that runs a tool.
func (p *Proxied) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	tool := path.Base(name)
	c := &command{proxied: p, ctx: ctx, name: name, args: args, tool: scenarios.Command(tool), family: scenarios.FamilyIPv4}
	if strings.HasPrefix(tool, "ip6") || slices.Contains(args, NFTFamily(scenarios.FamilyIPv6)) {
		c.family = scenarios.FamilyIPv6
	}
	return c
}

// command is one run of a tool.
type command struct {
	proxied *Proxied
	ctx     context.Context
	name    string
	args    []string
	tool    scenarios.Command
	family  scenarios.IPFamily

	dir            string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	started        exec.Cmd // by Start, or for its pipes
}

// SetDir sets the directory that the tool runs in.
func (c *command) SetDir(dir string) { c.dir = dir }

// SetEnv sets the tool's environment.
func (c *command) SetEnv(env []string) { c.env = env }

// SetStdin sets what the tool reads.
func (c *command) SetStdin(in io.Reader) { c.stdin = in }

// SetStdout sets where the tool prints.
func (c *command) SetStdout(out io.Writer) { c.stdout = out }

// SetStderr sets where the tool prints errors.
func (c *command) SetStderr(out io.Writer) { c.stderr = out }

// StdoutPipe is that of the tool as it is.
func (c *command) StdoutPipe() (io.ReadCloser, error) { return c.asItIs().StdoutPipe() }

// StderrPipe is that of the tool as it is.
func (c *command) StderrPipe() (io.ReadCloser, error) { return c.asItIs().StderrPipe() }

// Start starts the tool as it is.
func (c *command) Start() error { return c.asItIs().Start() }

// Wait waits for the tool as it is.
func (c *command) Wait() error { return c.asItIs().Wait() }

// Stop stops the tool as it is.
func (c *command) Stop() { c.asItIs().Stop() }

func (c *command) asItIs() exec.Cmd {
	if c.started == nil {
		c.started = c.make(c.stdin, c.name, c.args...)
	}
	return c.started
}

// make makes a command of the tool with what was set.
func (c *command) make(stdin io.Reader, name string, args ...string) exec.Cmd {
	cmd := c.proxied.Interface.CommandContext(c.ctx, name, args...)
	if c.dir != "" {
		cmd.SetDir(c.dir)
	}
	if c.env != nil {
		cmd.SetEnv(c.env)
	}
	if stdin != nil {
		cmd.SetStdin(stdin)
	}
	if c.stdout != nil {
		cmd.SetStdout(c.stdout)
	}
	if c.stderr != nil {
		cmd.SetStderr(c.stderr)
	}
	return cmd
}

// CombinedOutput runs the tool and returns all that it prints.
func (c *command) CombinedOutput() ([]byte, error) {
	var out bytes.Buffer
	c.SetStdout(&out)
	c.SetStderr(&out)
	err := c.Run()
	return out.Bytes(), err
}

// Output runs the tool and returns what it prints on its standard output.
func (c *command) Output() ([]byte, error) {
	var out bytes.Buffer
	c.SetStdout(&out)
	err := c.Run()
	return out.Bytes(), err
}

// Run runs the tool, or has it fail.
func (c *command) Run() error {
	if c.proxied.Interrupted != nil {
		if err := c.proxied.Interrupted(); err != nil {
			return err
		}
	}
	release := func() {}
	if hold := c.proxied.HoldLock; hold != nil && c.locks() && c.proxied.Faults.take(c.family, lockHeld) != nil {
		var err error
		if release, err = hold(); err != nil {
			return err
		}
	}
	defer release()
	return c.proxied.Watch.around(c.tool, "", c.run)
}

// locks says whether the tool takes the lock of the legacy tools; those that do are told how long to wait for it.
func (c *command) locks() bool { return slices.Contains(c.args, "-w") }

func (c *command) run() error {
	if c.tool == scenarios.CommandNFT {
		return c.nft()
	}
	switch {
	case strings.HasSuffix(string(c.tool), "-restore") && c.stdin != nil:
		return c.restore()
	case strings.HasSuffix(string(c.tool), "-save") && c.proxied.Faults.take(c.family, saveFails) != nil:
		return c.make(nil, c.name, "-t", "fault").Run() // a table that is not there
	}
	return c.make(c.stdin, c.name, c.args...).Run()
}

// restore runs the tool as a whole, or each of its tables if somebody looks.
func (c *command) restore() error {
	input := readAll(c.stdin)
	c.writes(input)
	if fault := c.proxied.Faults.take(c.family, restoreFails); fault != nil {
		input = broken(input, fault.Commits)
	}
	err := c.tables(input)
	c.takes()
	return err
}

// writes notes the input of a restore.
func (c *command) writes(input []byte) {
	p := c.proxied
	p.Written.Restores++
	p.Written.Bytes += len(input)
	if p.KeepInputs {
		p.Inputs = append(p.Inputs, input)
	}
}

// takes lets the time pass that a restore takes.
func (c *command) takes() {
	if takes := c.proxied.Faults.restoreTakes(c.family); takes > 0 {
		c.proxied.Sleep(takes)
	}
}

func (c *command) tables(input []byte) error {
	if !c.proxied.Watch.watched() {
		return c.part(input)
	}
	for _, t := range split(input) {
		if err := c.proxied.Watch.around(c.tool, t.name, func() error { return c.part(t.input) }); err != nil {
			return err
		}
	}
	return nil
}

// part runs the tool on a part of its input.
func (c *command) part(input []byte) error {
	return c.make(bytes.NewReader(input), c.name, c.args...).Run()
}

// readAll is the input of a restore, which is in memory.
func readAll(in io.Reader) []byte {
	var out bytes.Buffer
	if known, ok := in.(interface{ Len() int }); ok {
		out.Grow(known.Len() + bytes.MinRead)
	}
	if _, err := out.ReadFrom(in); err != nil {
		panic(fmt.Sprintf("the input of a restore cannot be read: %v", err))
	}
	return out.Bytes()
}
