package fakeipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
	"github.com/chainwalk/chainwalk/fakeipt/ipset"
	"github.com/chainwalk/chainwalk/fakeipt/nfacct"
	"k8s.io/utils/clock"
)

// toolsVersion is the version of the tools that is imitated.
const toolsVersion = "1.8.9"

// Options are what New takes. The zero value is the legacy tools of version 1.8.9 with the real clock.
type Options struct {
	Dialect Dialect
	// Version is what the tools say theirs is; "" is 1.8.9.
	Version string
	// Clock dates the comments of iptables-save.
	Clock clock.PassiveClock
	// Beside is a kernel of the other dialect in the same network namespace: the two share the objects that rules name,
	// wait for one another, and the nft tools warn of rules of the legacy tools.
	Beside *Kernel
	// Gate is asked before a tool looks at the kernel, after it has read its command line. An error keeps the tool out.
	Gate func(Visit) error
}

// Visit is a tool that is about to look at a kernel.
type Visit struct {
	Family Family
	// Objects is set for a tool that is about objects that rules name, and not about one family.
	Objects bool
	// Locks is set if the real tool takes the lock of the legacy tools first.
	Locks bool
	// Wait is the number of seconds that it waits for the lock, 0 for as long as it takes.
	Wait int
}

// GateError keeps a tool out of the kernel.
type GateError struct {
	// Text is what the tool prints on its standard error, with line ends.
	Text string
	// Status is its exit status.
	Status int
}

// Error is the text.
func (g *GateError) Error() string { return strings.TrimSpace(g.Text) }

// Kernel is the netfilter configuration of one network namespace, and the tools
// that change it. It is safe for concurrent use: tools wait for one another as the
// real ones do for their lock, and readers of Ruleset never wait.
type Kernel struct {
	dialect Dialect
	version string
	clock   clock.PassiveClock
	objects *nfacct.Table
	sets    *ipset.Table
	beside  *Kernel
	gate    func(Visit) error

	lock     *sync.Mutex // held by a tool that reads and then writes
	rulesets [2]atomic.Pointer[Ruleset]
}

// New returns a kernel on which no tool has run.
func New(o Options) *Kernel {
	k := &Kernel{dialect: o.Dialect, version: o.Version, clock: o.Clock, objects: nfacct.NewTable(), gate: o.Gate, lock: &sync.Mutex{}}
	if o.Beside != nil {
		k.objects, k.sets, k.lock, k.beside, o.Beside.beside = o.Beside.objects, o.Beside.sets, o.Beside.lock, o.Beside, k
	}
	if k.version == "" {
		k.version = toolsVersion
	}
	if k.clock == nil {
		k.clock = clock.RealClock{}
	}
	if k.sets == nil {
		k.sets = ipset.NewTable(k.clock)
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

// allRulesets are the rulesets of both families, and those of the kernel beside.
func (k *Kernel) allRulesets() []*Ruleset {
	all := []*Ruleset{k.Ruleset(IPv4), k.Ruleset(IPv6)}
	if k.beside != nil {
		all = append(all, k.beside.Ruleset(IPv4), k.beside.Ruleset(IPv6))
	}
	return all
}

// NFAcct are the accounting objects that -m nfacct names.
func (k *Kernel) NFAcct() *nfacct.Table { return k.objects }

// Sets are the sets that -m set and -j SET name.
func (k *Kernel) Sets() *ipset.Table { return k.sets }

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

	entered bool // the gate is open
}

// statusNotFound is the exit status of a shell that finds no such program.
const statusNotFound = 127

// Run runs a tool and returns its exit status. argv[0] is iptables, iptables-save,
// iptables-restore, an ip6tables twin, one of these with "-legacy" or "-nft" behind
// the family's name, nfacct or ipset; a folder in front of it does not matter.
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
		if status, ok := p.enter(Visit{Objects: true}); !ok {
			return status
		}
		return p.runNFAcct()
	case toolIPSet:
		if status, ok := p.enter(Visit{Objects: true}); !ok {
			return status
		}
		return p.runIPSet()
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
	toolIPSet
)

// identify finds the tool and the family from the program's name.
func (p *program) identify() tool {
	base := path.Base(p.argv0)
	switch base {
	case "nfacct":
		return toolNFAcct
	case "ipset":
		return toolIPSet
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

// enter asks the gate for admission. ok is false if the tool ends here.
func (p *program) enter(v Visit) (status int, ok bool) {
	if p.kernel.gate == nil || p.entered {
		return 0, true
	}
	p.entered = true
	v.Family = p.family
	v.Locks = v.Locks && p.kernel.dialect == Legacy
	err := p.kernel.gate(v)
	if err == nil {
		return 0, true
	}
	var refused *GateError
	if errors.As(err, &refused) {
		fmt.Fprint(p.stderr, refused.Text)
		return refused.Status, false
	}
	fmt.Fprintf(p.stderr, "%s: %v\n", path.Base(p.argv0), err)
	return statusResource, false
}

// warnOfLegacy is what the nft tools print about rules that they do not show.
func (p *program) warnOfLegacy(suffix string) {
	k := p.kernel
	if k.dialect != NFT || k.beside == nil || len(k.beside.Ruleset(p.family).tables) == 0 {
		return
	}
	tool := p.family.facts().tool
	fmt.Fprintf(p.stderr, "# Warning: %s-legacy tables present, use %s-legacy%s to see them\n", tool, tool, suffix)
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
		} else if text = append(text, ' '); len(text) > 1 {
			// Without lines the tool tells the first only.
			text = text[:len(text)-1]
			break
		}
		what := "rule in chain"
		if f.kind.isOfChain() {
			what = "chain"
		}
		text = fmt.Appendf(text, "%s failed (%s): %s %s", batchNames[f.kind], libc.Strerror(f.errno), what, f.chain)
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
func (p *program) fileOrStdin(files []string) (io.Reader, func(), error) {
	if len(files) == 0 {
		return p.stdin, func() {}, nil
	}
	f, err := os.Open(files[0])
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}
