package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/scenarios"
)

// faultyExec runs a node's tools, can make restores fail and keep their inputs.
type faultyExec struct {
	exec.Interface
	restoreFails int
	keepInputs   bool
	inputs       [][]byte
}

// Command runs a tool.
func (e *faultyExec) Command(name string, args ...string) exec.Cmd {
	return e.breakable(name, e.Interface.Command(name, args...))
}

// CommandContext runs a tool.
func (e *faultyExec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.breakable(name, e.Interface.CommandContext(ctx, name, args...))
}

func (e *faultyExec) breakable(name string, cmd exec.Cmd) exec.Cmd {
	if !strings.Contains(name, "restore") {
		return cmd
	}
	return &restoreCmd{Cmd: cmd, exec: e}
}

// restoreCmd is a restore. One that is to fail gets an input that the tool
// refuses, so that its error is one that the tool has.
type restoreCmd struct {
	exec.Cmd
	exec *faultyExec
}

// SetStdin gives the restore its input; without one it is only asked for its version.
func (c *restoreCmd) SetStdin(in io.Reader) {
	if c.exec.restoreFails > 0 {
		c.exec.restoreFails--
		in = strings.NewReader("*filter\n-A FAULT -j FAULT\nCOMMIT\n")
	}
	if c.exec.keepInputs {
		text, err := io.ReadAll(in)
		if err != nil {
			panic(fmt.Sprintf("the input of a restore cannot be read: %v", err)) // it is in memory
		}
		c.exec.inputs = append(c.exec.inputs, text)
		in = bytes.NewReader(text)
	}
	c.Cmd.SetStdin(in)
}

// Fault makes something go wrong on one node.
func (s *session) Fault(_ context.Context, f scenarios.Fault) error {
	n := s.nodes[f.Node]
	n.exec.restoreFails += f.RestoreFails
	for _, table := range f.Flush {
		for _, family := range families(s.cluster.IPFamily) {
			for _, option := range []string{"-F", "-X"} {
				if _, err := n.run("", tool(family, ""), "-t", table, option); err != nil {
					return fmt.Errorf("fault: %w", err)
				}
			}
		}
	}
	for _, line := range f.Run {
		if _, err := n.run("", strings.Fields(line)...); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}

// families lists the one or two families of a cluster.
func families(f scenarios.IPFamily) []scenarios.IPFamily {
	if f == scenarios.FamilyDual {
		return []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6}
	}
	return []scenarios.IPFamily{f}
}
