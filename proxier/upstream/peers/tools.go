package peers

import (
	"context"
	"strings"

	"k8s.io/utils/exec"
)

// tools are the programs of a kernel, whose restore can be made to fail.
type tools struct {
	exec.Interface
	failing map[string]bool // by the name of the tool
	// restored is set when a restore runs, ensured when a single rule or chain is looked at, which full syncs do.
	restored, ensured bool
}

// failRestores makes the next restore of each family fail, or those of both until failing is cleared.
func (t *tools) failRestores() {
	t.failing = map[string]bool{"iptables-restore": true, "ip6tables-restore": true}
}

// Command implements exec.Interface.
func (t *tools) Command(name string, args ...string) exec.Cmd {
	return t.Interface.Command(name, t.arguments(name, args)...)
}

// CommandContext implements exec.Interface.
func (t *tools) CommandContext(ctx context.Context, name string, args ...string) exec.Cmd {
	return t.Interface.CommandContext(ctx, name, t.arguments(name, args)...)
}

// arguments are the program's arguments: ones that it refuses if it is to fail.
func (t *tools) arguments(name string, args []string) []string {
	if strings.HasSuffix(name, "-restore") {
		t.restored = true
	}
	if name == "iptables" || name == "ip6tables" {
		t.ensured = true
	}
	if !t.failing[name] || strings.Contains(strings.Join(args, " "), "version") {
		return args
	}
	delete(t.failing, name)
	return []string{"--not-an-option"}
}
