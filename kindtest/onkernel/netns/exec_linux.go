package netns

import (
	"context"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// variantExec runs programs in a namespace, the iptables tools in one of their variants.
type dialectExec struct {
	exec.Interface
	dialect netfilter.Dialect
}

func newExec(ns *namespace.Namespace, tool netfilter.Dialect) *dialectExec {
	return &dialectExec{ns.Exec(), tool}
}

// Command makes a command that runs in the namespace.
func (e *dialectExec) Command(name string, args ...string) exec.Cmd {
	return e.Interface.Command(tools.Variant(name, e.dialect), args...)
}

// CommandContext makes a command that runs in the namespace.
func (e *dialectExec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.Interface.CommandContext(ctx, tools.Variant(name, e.dialect), args...)
}
