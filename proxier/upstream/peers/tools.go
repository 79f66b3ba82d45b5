package peers

import (
	"context"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/exec"
)

// tools are the programs of a kernel, whose restore can be made to fail.
type tools struct {
	exec.Interface
	failing map[string]bool // by the name of the tool
	// restored is set when rules are written, ensured when a single rule or chain is looked at, or a table listed, which full syncs do.
	restored, ensured bool
}

// failRestores makes the next restore of each family fail, and every transaction of nft, which has one name for both, until failing is
// cleared.
func (t *tools) failRestores() {
	t.failing = map[string]bool{"iptables-restore": true, "ip6tables-restore": true, nft: true}
}

const nft = "nft"

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
	name = path.Base(name)
	writes := strings.HasSuffix(name, "-restore") || name == nft && slices.Equal(args, []string{"-f", "-"})
	t.restored = t.restored || writes
	t.ensured = t.ensured || name == "iptables" || name == "ip6tables" || name == nft && slices.Contains(args, "list")
	if !writes || !t.failing[name] || strings.Contains(strings.Join(args, " "), "version") {
		return args
	}
	if name != nft {
		delete(t.failing, name)
	}
	return []string{"--not-an-option"}
}
