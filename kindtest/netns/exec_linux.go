package netns

import (
	"context"
	"strings"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/scenarios"
)

// variantExec runs programs in a namespace, the iptables tools in one of their variants.
type variantExec struct {
	exec.Interface
	tool scenarios.Tool
}

func newExec(ns *namespace.Namespace, tool scenarios.Tool) *variantExec {
	return &variantExec{ns.Exec(), tool}
}

// variant is the name of a tool's variant: iptables-save is iptables-nft-save.
func (e *variantExec) variant(name string) string {
	for _, family := range []string{"iptables", "ip6tables"} {
		if suffix, ok := strings.CutPrefix(name, family); ok && (suffix == "" || suffix == "-save" || suffix == "-restore") {
			return family + "-" + string(e.tool) + suffix
		}
	}
	return name
}

// Command makes a command that runs in the namespace.
func (e *variantExec) Command(name string, args ...string) exec.Cmd {
	return e.Interface.Command(e.variant(name), args...)
}

// CommandContext makes a command that runs in the namespace.
func (e *variantExec) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return e.Interface.CommandContext(ctx, e.variant(name), args...)
}
