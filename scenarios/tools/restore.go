package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/utils/exec"
)

// Breakable runs tools, and can make restores fail.
type Breakable struct {
	exec.Interface
	// RestoreFails is how many of the next restores fail.
	RestoreFails int
}

// Command makes a command that runs a tool.
func (b *Breakable) Command(name string, args ...string) exec.Cmd {
	return withInput(name, b.Interface.Command(name, args...), b.input)
}

// CommandContext makes a command that runs a tool.
func (b *Breakable) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return withInput(name, b.Interface.CommandContext(ctx, name, args...), b.input)
}

// input gives a restore that is to fail an input that the tool refuses, so that
// its error is one that the tool has.
func (b *Breakable) input(in io.Reader) io.Reader {
	if b.RestoreFails == 0 {
		return in
	}
	b.RestoreFails--
	return strings.NewReader("*filter\n-A FAULT -j FAULT\nCOMMIT\n")
}

// Recorder runs tools, and keeps what restores are given.
type Recorder struct {
	exec.Interface
	// Inputs are those of the restores so far.
	Inputs [][]byte
}

// Command makes a command that runs a tool.
func (r *Recorder) Command(name string, args ...string) exec.Cmd {
	return withInput(name, r.Interface.Command(name, args...), r.input)
}

// CommandContext makes a command that runs a tool.
func (r *Recorder) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return withInput(name, r.Interface.CommandContext(ctx, name, args...), r.input)
}

func (r *Recorder) input(in io.Reader) io.Reader {
	text, err := io.ReadAll(in)
	if err != nil {
		panic(fmt.Sprintf("the input of a restore cannot be read: %v", err)) // it is in memory
	}
	r.Inputs = append(r.Inputs, text)
	return bytes.NewReader(text)
}

// withInput lets a function see and change the input of a command, if it is a restore.
func withInput(name string, cmd exec.Cmd, input func(io.Reader) io.Reader) exec.Cmd {
	if !strings.Contains(name, "restore") {
		return cmd
	}
	return &restore{Cmd: cmd, input: input}
}

// restore is a command that restores.
type restore struct {
	exec.Cmd
	input func(io.Reader) io.Reader
}

// SetStdin gives the restore its input; without one it is only asked for its version.
func (r *restore) SetStdin(in io.Reader) { r.Cmd.SetStdin(r.input(in)) }
