package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/utils/exec"
)

// Exec runs a node's tools, can make restores fail and keep their inputs.
type Exec struct {
	exec.Interface
	// RestoreFails is how many of the next restores fail.
	RestoreFails int
	KeepInputs   bool
	// Inputs are those of the restores so far, if they are kept.
	Inputs [][]byte
}

// Command runs a tool.
func (e *Exec) Command(name string, args ...string) exec.Cmd {
	return e.breakable(name, e.Interface.Command(name, args...))
}

// CommandContext runs a tool.
func (e *Exec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.breakable(name, e.Interface.CommandContext(ctx, name, args...))
}

func (e *Exec) breakable(name string, cmd exec.Cmd) exec.Cmd {
	if !strings.Contains(name, "restore") {
		return cmd
	}
	return &restoreCmd{Cmd: cmd, exec: e}
}

// restoreCmd is a restore. One that is to fail gets an input that the tool
// refuses, so that its error is one that the tool has.
type restoreCmd struct {
	exec.Cmd
	exec *Exec
}

// SetStdin gives the restore its input; without one it is only asked for its version.
func (c *restoreCmd) SetStdin(in io.Reader) {
	if c.exec.RestoreFails > 0 {
		c.exec.RestoreFails--
		in = strings.NewReader("*filter\n-A FAULT -j FAULT\nCOMMIT\n")
	}
	if c.exec.KeepInputs {
		text, err := io.ReadAll(in)
		if err != nil {
			panic(fmt.Sprintf("the input of a restore cannot be read: %v", err)) // it is in memory
		}
		c.exec.Inputs = append(c.exec.Inputs, text)
		in = bytes.NewReader(text)
	}
	c.Cmd.SetStdin(in)
}
