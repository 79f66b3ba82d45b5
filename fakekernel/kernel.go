package fakekernel

import (
	"io"
	"sync/atomic"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt"
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
	for _, there := range fakeipt.Kernels(k.Namespace()) {
		if there.Dialect() == d {
			return
		}
	}
	fakeipt.New(fakeipt.Options{Dialect: d, Namespace: k.Namespace()})
}

// Dialect is that of the tools whose names tell none.
func (k *Kernel) Dialect() netfilter.Dialect { return k.tools.Dialect() }

// Namespace is what the tools work on: the Netfilter of a packetsim.HostConfig.
func (k *Kernel) Namespace() *netfilter.Namespace { return k.tools.Namespace() }

// Exec runs the tools by their names. Programs of other names are not found.
func (k *Kernel) Exec() exec.Interface { return k.tools.Exec() }

// Rules are what the kernel holds now of a family for its Dialect.
func (k *Kernel) Rules(f netfilter.Family) netfilter.RulesetView { return k.tools.Ruleset(f).View() }

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
