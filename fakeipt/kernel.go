package fakeipt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"
)

// Version is the version of the tools that is imitated.
const Version = "1.8.9"

// Options are what New takes. The zero value is the legacy tools of Version with the real clock.
type Options struct {
	Dialect Dialect
	// Version is what the tools say theirs is; "" is Version.
	Version string
	// Clock dates the comments of iptables-save.
	Clock clock.PassiveClock
}

// Kernel is the netfilter configuration of one network namespace, and the tools
// that change it. It is safe for concurrent use: tools wait for one another as the
// real ones do for their lock, and readers of Ruleset never wait.
type Kernel struct {
	dialect Dialect
	version string
	clock   clock.PassiveClock
	objects *NFAcctTable

	lock     sync.Mutex // held by a tool that reads and then writes
	rulesets [2]atomic.Pointer[Ruleset]
}

// New returns a kernel on which no tool has run.
func New(o Options) *Kernel {
	k := &Kernel{dialect: o.Dialect, version: o.Version, clock: o.Clock, objects: newNFAcctTable()}
	if k.version == "" {
		k.version = Version
	}
	if k.clock == nil {
		k.clock = clock.RealClock{}
	}
	for _, f := range []Family{IPv4, IPv6} {
		k.rulesets[f.index()].Store(&Ruleset{family: f, dialect: k.dialect})
	}
	return k
}

func (f Family) index() int {
	if f == IPv6 {
		return 1
	}
	return 0
}

// Dialect is the kind of tools the kernel has.
func (k *Kernel) Dialect() Dialect { return k.dialect }

// Ruleset is the family's ruleset as it is now. It never changes; later commits make others.
func (k *Kernel) Ruleset(f Family) *Ruleset { return k.rulesets[f.index()].Load() }

// NFAcct are the accounting objects that -m nfacct names.
func (k *Kernel) NFAcct() *NFAcctTable { return k.objects }

// store makes a table the current one.
func (k *Kernel) store(f Family, t *Table) {
	k.rulesets[f.index()].Store(k.Ruleset(f).with(t))
}

// drop takes a table away, which the nft tools do when they flush it.
func (k *Kernel) drop(f Family, kind *tableKind) {
	old := k.Ruleset(f)
	n := &Ruleset{family: f, dialect: k.dialect}
	for _, t := range old.tables {
		if t.kind != kind {
			n.tables = append(n.tables, t)
		}
	}
	k.rulesets[f.index()].Store(n)
}

// load makes the table be there, as the legacy tools do by looking at it.
func (k *Kernel) load(f Family, kind *tableKind) {
	if k.dialect == Legacy && k.Ruleset(f).Table(kind.name) == nil {
		k.store(f, newTable(kind))
	}
}

// program is one run of a tool.
type program struct {
	kernel *Kernel
	family Family
	name   string // as messages have it
	argv0  string
	args   []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// statusNotFound is the exit status of a shell that finds no such program.
const statusNotFound = 127

// Run runs a tool and returns its exit status. argv[0] is iptables, iptables-save,
// iptables-restore, an ip6tables twin, one of these with "-legacy" or "-nft" behind
// the family's name, or nfacct; a folder in front of it does not matter.
func (k *Kernel) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, "fakeipt: no program named")
		return statusNotFound
	}
	if stdin == nil {
		stdin = bytes.NewReader(nil)
	}
	p := &program{kernel: k, argv0: argv[0], args: argv[1:], stdin: stdin, stdout: stdout, stderr: stderr}
	switch p.identify() {
	case toolCommand:
		return p.runCommand()
	case toolSave:
		return p.runSave()
	case toolRestore:
		return p.runRestore()
	case toolNFAcct:
		return p.runNFAcct()
	}
	fmt.Fprintf(stderr, "%s: not found\n", argv[0])
	return statusNotFound
}

// tool is the kind of a program.
type tool uint8

const (
	toolNone tool = iota
	toolCommand
	toolSave
	toolRestore
	toolNFAcct
)

// identify finds the tool and the family from the program's name.
func (p *program) identify() tool {
	base := path.Base(p.argv0)
	if base == "nfacct" {
		return toolNFAcct
	}
	rest, ok := strings.CutPrefix(base, "ip6tables")
	p.family = IPv6
	if !ok {
		if rest, ok = strings.CutPrefix(base, "iptables"); !ok {
			return toolNone
		}
		p.family = IPv4
	}
	rest = strings.TrimPrefix(rest, [...]string{"-legacy", "-nft"}[p.kernel.dialect])
	kind, ok := map[string]tool{"": toolCommand, "-save": toolSave, "-restore": toolRestore}[rest]
	if !ok {
		return toolNone
	}
	p.name = base
	if p.kernel.dialect == Legacy || kind == toolCommand {
		p.name = p.family.facts().tool + rest
	}
	return kind
}

// variant is what the tools put behind their version.
func (k *Kernel) variant() string { return [...]string{"legacy", "nf_tables"}[k.dialect] }

func (p *program) printVersion() int {
	fmt.Fprintf(p.stdout, "%s v%s (%s)\n", p.name, p.kernel.version, p.kernel.variant())
	return 0
}

// report prints an error of usage and returns the exit status. line is that of the input, -1 for a command line.
func (p *program) report(err *problem, line int) int {
	if !err.bare {
		fmt.Fprintf(p.stderr, "%s v%s (%s): ", p.name, p.kernel.version, p.kernel.variant())
	}
	if err.msg != "" {
		fmt.Fprintf(p.stderr, "%s\n", err.msg)
	}
	switch err.status {
	case statusParameter:
		if line >= 0 {
			fmt.Fprintf(p.stderr, "Error occurred at line: %d\n", line)
		}
		fmt.Fprintf(p.stderr, "Try `%s -h' or '%s --help' for more information.\n", p.name, p.name)
	case statusVersion:
		fmt.Fprintf(p.stderr, "Perhaps %s or your kernel needs to be upgraded.\n", p.family.facts().tool)
	}
	return err.status
}

// reportBatch prints what the kernel refused of a batch (nft).
func (p *program) reportBatch(failures []batchError, lines bool) int {
	var text []byte
	for _, f := range failures {
		if lines {
			text = fmt.Appendf(text, "\nline %d: ", f.line)
		} else {
			text = append(text, ' ')
		}
		what := "rule in chain"
		if f.kind == batchDeleteChain || f.kind == batchRenameChain {
			what = "chain"
		}
		text = fmt.Appendf(text, "%s failed (%s): %s %s", batchNames[f.kind], errnoText(f.errno), what, f.chain)
		if len(text) >= maxBatchText {
			text = text[:maxBatchText]
			break
		}
	}
	fmt.Fprintf(p.stderr, "%s v%s (%s): %s\n", p.name, p.kernel.version, p.kernel.variant(), text)
	return statusResource
}

// maxBatchText is the room the tool has for the message.
const maxBatchText = 1023

// fileOrStdin opens the input of a restore.
func (p *program) fileOrStdin(name string) (io.Reader, func(), error) {
	if name == "" {
		return p.stdin, func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}
