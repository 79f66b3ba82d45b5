package netns

import (
	"context"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/tools"
)

// variantExec runs programs in a namespace, the iptables tools in one of their variants.
type variantExec struct {
	exec.Interface
	tool scenarios.Tool
}

func newExec(ns *namespace.Namespace, tool scenarios.Tool) *variantExec {
	return &variantExec{ns.Exec(), tool}
}

// Command makes a command that runs in the namespace.
func (e *variantExec) Command(name string, args ...string) exec.Cmd {
	return e.Interface.Command(tools.Variant(name, e.tool), args...)
}

// CommandContext makes a command that runs in the namespace.
func (e *variantExec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.Interface.CommandContext(ctx, tools.Variant(name, e.tool), args...)
}
