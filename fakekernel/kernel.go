package fakekernel

import (
	"io"
	"sync/atomic"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/internal/toolexec"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Options are what New takes. The zero value is a kernel with the legacy tools and the real clock.
type Options struct {
	// Dialect is that of the tools whose names tell none, such as iptables-save. Empty is legacy.
	Dialect netfilter.Dialect
	// Both has the tools of the other dialect beside them, with rules of their own. Their names tell which they are: iptables-nft-save.
	Both bool
	// Clock dates what tools print, and times the elements of sets; nil is the real one.
	Clock clock.PassiveClock
	// Lock is the lock of the legacy tools; nil is one that nobody else holds.
	Lock *Lock
}

// Kernel is a netfilter.Namespace with tools of a dialect. It is safe for concurrent use.
type Kernel struct{ tools *fakeipt.Kernel }

// New returns a kernel in which no tool has run.
func New(o Options) *Kernel {
	options := fakeipt.Options{Dialect: o.Dialect, Clock: o.Clock}
	if o.Lock != nil {
		options.Gate = o.Lock.enter
	}
	k := &Kernel{fakeipt.New(options)}
	if o.Both {
		k.Add(k.Dialect().Other())
	}
	return k
}

// Of is the kernel of a namespace, with the tools that came there first; nil if it has none.
func Of(n *netfilter.Namespace) *Kernel {
	if tools := fakeipt.First(n); tools != nil {
		return &Kernel{tools}
	}
	return nil
}

// Add puts the tools of a dialect beside those that are there. It does nothing if the namespace has them.
func (k *Kernel) Add(d netfilter.Dialect) {
	if k.toolsOf(d) != nil {
		return
	}
	fakeipt.New(fakeipt.Options{Dialect: d, Namespace: k.Namespace()})
}

// Dialect is that of the tools whose names tell none.
func (k *Kernel) Dialect() netfilter.Dialect { return k.tools.Dialect() }

// Namespace is what the tools work on: the Netfilter of a packetsim.HostConfig.
func (k *Kernel) Namespace() *netfilter.Namespace { return k.tools.Namespace() }

// Exec runs the tools by their names, nft among them. Programs of other names are not found.
func (k *Kernel) Exec() exec.Interface {
	known := func(name string) bool { return k.tools.Has(name) || fakenft.IsTool(name) }
	return &toolexec.Exec{Tools: everyTool{k}, Known: known, Prompt: true}
}

// everyTool runs the tools of every language.
type everyTool struct{ kernel *Kernel }

// Run runs a tool.
func (t everyTool) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) > 0 && fakenft.IsTool(argv[0]) {
		return t.kernel.NFTables().Run(argv, stdin, stdout, stderr)
	}
	return t.kernel.tools.Run(argv, stdin, stdout, stderr)
}

// NFTables is the tool nft in the kernel's namespace.
func (k *Kernel) NFTables() *fakenft.Tools {
	return fakenft.New(fakenft.Options{Namespace: k.Namespace()})
}

// Rules are what the kernel holds now of a family for its Dialect.
func (k *Kernel) Rules(f netfilter.Family) netfilter.RulesetView { return k.tools.Ruleset(f).View() }

// RulesOf are what the kernel holds now of a family for the tools of a dialect; empty if it has none of it.
func (k *Kernel) RulesOf(f netfilter.Family, d netfilter.Dialect) netfilter.RulesetView {
	if tools := k.toolsOf(d); tools != nil {
		return tools.Ruleset(f).View()
	}
	return netfilter.RulesetView{}
}

func (k *Kernel) toolsOf(d netfilter.Dialect) *fakeipt.Kernel {
	for _, tools := range fakeipt.Kernels(k.Namespace()) {
		if tools.Dialect() == d {
			return tools
		}
	}
	return nil
}

// Load puts the tables of what iptables-save has printed, with or without counters, in the place of those that the kernel has of them for
// its Dialect. Errors call the text by its name and say the line.
func (k *Kernel) Load(f netfilter.Family, name string, save io.Reader) error {
	return k.tools.Load(f, name, save)
}

// Lock is the lock that the legacy tools take, /run/xtables.lock, as somebody else can hold it. The zero value is free.
type Lock struct{ held atomic.Bool }

// Hold takes the lock, which must be free, until release.
func (l *Lock) Hold() (release func(), err error) {
	l.held.Store(true)
	return func() { l.held.Store(false) }, nil
}

// enter keeps a tool out that waits for the lock in vain. One that would wait for ever does not come back: it is let in.
func (l *Lock) enter(v fakeipt.Visit) error {
	if !l.held.Load() || !v.Locks || v.Wait == 0 {
		return nil
	}
	return fakeipt.LockHeld("/run/xtables.lock", v.Wait)
}
