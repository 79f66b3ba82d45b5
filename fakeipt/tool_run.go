package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// toolRun is one run of a tool.
type toolRun struct {
	kernel *Kernel
	family netfilter.Family
	name   string // as messages have it
	argv0  string
	args   []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	entered bool                        // the gate is open
	names   *libc.Names                 // made when a name is first looked up
	gone    map[*xtables.Extension]bool // those that the tool has warned of
}

// statusNotFound is the exit status of a shell that finds no such program.
const statusNotFound = 127

// Run runs a tool and returns its exit status. argv[0] is iptables, iptables-save,
// iptables-restore, an ip6tables twin, one of these with "-legacy" or "-nft" behind
// the family's name, nfacct or ipset; a folder in front of it does not matter. Names with "-legacy" or "-nft" run the
// namespace's tools of the other dialect, if it has them.
func (k *Kernel) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, "fakeipt: no program named")
		return statusNotFound
	}
	if stdin == nil {
		stdin = bytes.NewReader(nil)
	}
	run := &toolRun{kernel: k, argv0: argv[0], args: argv[1:], stdin: stdin, stdout: stdout, stderr: stderr}
	switch run.identify() {
	case toolCommand:
		return run.command()
	case toolSave:
		return run.save()
	case toolRestore:
		return run.restore()
	case toolNFAcct:
		if status, ok := run.enter(Visit{Objects: true}); !ok {
			return status
		}
		return run.nfacct()
	case toolIPSet:
		if status, ok := run.enter(Visit{Objects: true}); !ok {
			return status
		}
		return run.ipset()
	}
	if other := k.other(argv[0]); other != nil {
		return other.Run(argv, stdin, stdout, stderr)
	}
	fmt.Fprintf(stderr, "%s: not found\n", argv[0])
	return statusNotFound
}

// other is the other dialect's kernel in the namespace, if a program is one of its tools, or nil.
func (k *Kernel) other(name string) *Kernel {
	for _, other := range k.others() {
		if other.has(name) {
			return other
		}
	}
	return nil
}

// has says whether a program is one of the kernel's own tools.
func (k *Kernel) has(name string) bool {
	return (&toolRun{kernel: k, argv0: name}).identify() != toolNone
}

// toolKind is what a tool does, whatever its family and its dialect.
type toolKind uint8

const (
	toolNone toolKind = iota
	toolCommand
	toolSave
	toolRestore
	toolNFAcct
	toolIPSet
)

// identify finds the tool and the family from the program's name.
func (run *toolRun) identify() toolKind {
	base := path.Base(run.argv0)
	switch base {
	case "nfacct":
		return toolNFAcct
	case "ipset":
		return toolIPSet
	}
	rest, ok := strings.CutPrefix(base, "ip6tables")
	run.family = netfilter.IPv6
	if !ok {
		if rest, ok = strings.CutPrefix(base, "iptables"); !ok {
			return toolNone
		}
		run.family = netfilter.IPv4
	}
	rest = strings.TrimPrefix(rest, "-"+string(run.kernel.dialect))
	var kind toolKind
	switch rest {
	case "":
		kind = toolCommand
	case "-save":
		kind = toolSave
	case "-restore":
		kind = toolRestore
	default:
		return toolNone
	}
	run.name = base
	if run.kernel.dialect == netfilter.Legacy || kind == toolCommand {
		run.name = xtables.FactsOf(run.family).Tool + rest
	}
	return kind
}

// enter asks the gate for admission. ok is false if the tool ends here.
func (run *toolRun) enter(v Visit) (status int, ok bool) {
	if run.kernel.gate == nil || run.entered {
		return 0, true
	}
	run.entered = true
	v.Family = run.family
	v.Locks = v.Locks && run.kernel.dialect == netfilter.Legacy
	if run.kernel.dialect == netfilter.NFT || ruleset.FindKind(v.Table) == nil {
		v.Table, v.Chains = "", nil
	}
	err := run.kernel.gate(v)
	if err == nil {
		return 0, true
	}
	var refused *GateError
	if errors.As(err, &refused) {
		fmt.Fprint(run.stderr, refused.Text)
		return refused.Status, false
	}
	fmt.Fprintf(run.stderr, "%s: %v\n", path.Base(run.argv0), err)
	if run.kernel.dialect == netfilter.NFT && errors.Is(err, fs.ErrPermission) {
		return run.report(&xtables.Problem{Status: xtables.StatusResource,
			Msg: "Could not fetch rule set generation id: Permission denied (you must be root)"},
			-1), false
	}
	return xtables.StatusResource, false
}

// warnOfLegacy is what the nft tools print about rules that they do not show.
func (run *toolRun) warnOfLegacy(suffix string) {
	k := run.kernel
	hasLegacy := func(other *Kernel) bool {
		return other.dialect == netfilter.Legacy && len(other.Ruleset(run.family).Tables()) > 0
	}
	if k.dialect != netfilter.NFT || !slices.ContainsFunc(k.others(), hasLegacy) {
		return
	}
	tool := xtables.FactsOf(run.family).Tool
	fmt.Fprintf(run.stderr, "# Warning: %s-legacy tables present, use %s-legacy%s to see them\n", tool, tool, suffix)
}

// variant is what the tools put behind their version.
func (k *Kernel) variant() string {
	if k.dialect == netfilter.NFT {
		return "nf_tables"
	}
	return string(k.dialect)
}

func (run *toolRun) printVersion() int {
	fmt.Fprintf(run.stdout, "%s v%s (%s)\n", run.name, run.kernel.version, run.kernel.variant())
	return 0
}
