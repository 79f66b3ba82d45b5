package fakeipt

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// toolsVersion is the version of the tools that is imitated.
const toolsVersion = "1.8.9"

// Options are what New takes. The zero value is the legacy tools of version 1.8.9 with the real clock.
type Options struct {
	Dialect netfilter.Dialect
	// Version is what the tools say theirs is; "" is 1.8.9.
	Version string
	// Clock dates the comments of iptables-save.
	Clock clock.PassiveClock
	// Beside is a kernel of the other dialect in the same network namespace: the two share the objects that rules name,
	// wait for one another, and the nft tools warn of rules of the legacy tools.
	Beside *Kernel
	// Etc has the files in which the C library looks names up: hosts, networks, passwd and group, as /etc has them. Nil: localhost and root
	// are all that is known. What stands in none of the files is told as on a host without a resolver.
	Etc fs.FS
	// Gate is asked before a tool looks at the kernel, after it has read its command line. An error keeps the tool out. It must not wait
	// for another tool.
	Gate func(Visit) error
}

// Visit is a tool that is about to look at a kernel.
type Visit struct {
	Family netfilter.Family
	// Objects is set for a tool that is not about one family: about objects that rules name, or a rule that names what one of either family
	// has made.
	Objects bool
	// Locks is set if the real tool takes the lock of the legacy tools first.
	Locks bool
	// Wait is the number of seconds that it waits for the lock, 0 for as long as it takes.
	Wait int
	// Table is the only table that a legacy tool looks at, "" if that may be any.
	Table string
	// Chains are the only chains of the table that it looks at as long as it changes nothing, and of all but the first no more than whether
	// they are there. Without any it may look at all of them.
	Chains []string
}

// GateError keeps a tool out of the kernel.
type GateError struct {
	// Text is what the tool prints on its standard error, with line ends.
	Text string
	// Status is its exit status.
	Status int
}

// LockHeld is what a legacy tool says that has waited so many seconds for the lock in vain.
func LockHeld(lockFile string, seconds int) *GateError {
	return &GateError{Status: statusResource, Text: fmt.Sprintf("Can't lock %s: Resource temporarily unavailable\n"+
		"Another app is currently holding the xtables lock. Stopped waiting after %ds.\n", lockFile, seconds)}
}

// Error is the text.
func (g *GateError) Error() string { return strings.TrimSpace(g.Text) }

// Kernel is the netfilter configuration of one network namespace, and the tools
// that change it. It is safe for concurrent use: tools wait for one another as the
// real ones do for their lock, and readers of Ruleset never wait.
type Kernel struct {
	dialect netfilter.Dialect
	version string
	clock   clock.PassiveClock
	acct    *nfacct.Table
	sets    *ipset.Table
	beside  *Kernel
	gate    func(Visit) error
	etc     fs.FS
	idle    idleParsers

	lock     *sync.Mutex    // held by a tool that reads and then writes
	turns    *atomic.Uint64 // the registrations of hooks so far, of both dialects
	rulesets [2]atomic.Pointer[Ruleset]
	// accounting is set once a rule has asked for the packets and bytes of connections, and labels once one may have had a label of theirs.
	accounting, labels atomic.Bool
	// rateMatches is set once a rule may have had --hashlimit-rate-match.
	rateMatches atomic.Bool
}

// ForcesAccounting says that some rule has asked for the packets and bytes of connections, since when the kernel counts those
// of all new ones (net/netfilter/xt_connbytes.c).
func (k *Kernel) ForcesAccounting() bool {
	return k.accounting.Load() || k.beside != nil && k.beside.accounting.Load()
}

// New returns a kernel on which no tool has run.
func New(o Options) *Kernel {
	k := &Kernel{dialect: cmp.Or(o.Dialect, netfilter.Legacy), version: o.Version, clock: o.Clock, acct: nfacct.NewTable(), gate: o.Gate, etc: o.Etc,
		lock:  &sync.Mutex{},
		turns: &atomic.Uint64{}}
	if o.Beside != nil {
		k.acct, k.sets, k.lock, k.turns = o.Beside.acct, o.Beside.sets, o.Beside.lock, o.Beside.turns
		k.beside, o.Beside.beside = o.Beside, k
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
	for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		k.rulesets[indexOf(f)].Store(&Ruleset{family: f, dialect: k.dialect})
	}
	return k
}

func indexOf(f netfilter.Family) int {
	if f == netfilter.IPv6 {
		return 1
	}
	return 0
}

// Dialect is the kind of tools the kernel has.
func (k *Kernel) Dialect() netfilter.Dialect { return k.dialect }

// Beside is the kernel of the other dialect in the same network namespace (Options.Beside, of either of them); nil if there is none.
func (k *Kernel) Beside() *Kernel { return k.beside }

// Ruleset is the family's ruleset as it is now. It never changes; later commits make others.
func (k *Kernel) Ruleset(f netfilter.Family) *Ruleset { return k.rulesets[indexOf(f)].Load() }

// allRulesets are the rulesets of both families, and those of the kernel beside.
func (k *Kernel) allRulesets() []*Ruleset {
	all := []*Ruleset{k.Ruleset(netfilter.IPv4), k.Ruleset(netfilter.IPv6)}
	if k.beside != nil {
		all = append(all, k.beside.Ruleset(netfilter.IPv4), k.beside.Ruleset(netfilter.IPv6))
	}
	return all
}

// NFAcct are the accounting objects that -m nfacct names.
func (k *Kernel) NFAcct() *nfacct.Table { return k.acct }

// Sets are the sets that -m set and -j SET name.
func (k *Kernel) Sets() *ipset.Table { return k.sets }

// store makes a table the current one.
func (k *Kernel) store(f netfilter.Family, t *Table) {
	k.register(t)
	k.rulesets[indexOf(f)].Store(k.Ruleset(f).with(t))
}

// Adopt gives the kernel a ruleset that another one has, in the place of its own for that family. Both must have the same dialect, and the
// objects that rules name must be there.
func (k *Kernel) Adopt(rs *Ruleset) error {
	if rs.dialect != k.dialect {
		return fmt.Errorf("a ruleset of the %s tools cannot be that of a kernel with the %s tools", rs.dialect, k.dialect)
	}
	for _, t := range rs.tables {
		k.turns.Store(max(k.turns.Load(), slices.Max(t.registered[:])))
	}
	k.labels.Store(true)
	k.rateMatches.Store(true)
	k.rulesets[indexOf(rs.family)].Store(rs)
	return nil
}

// drop takes a table away, which the nft tools do when they flush it.
func (k *Kernel) drop(f netfilter.Family, kind *tableKind) {
	old := k.Ruleset(f)
	n := &Ruleset{family: f, dialect: k.dialect}
	for _, t := range old.tables {
		if t.kind != kind {
			n.tables = append(n.tables, t)
		}
	}
	k.rulesets[indexOf(f)].Store(n)
}

// ensure makes the table be there, as the legacy tools do by looking at it.
func (k *Kernel) ensure(f netfilter.Family, kind *tableKind) {
	if k.dialect == netfilter.Legacy && k.Ruleset(f).Table(kind.name) == nil {
		k.store(f, newTable(kind))
	}
}
