package fakeipt

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// toolsVersion is the version of the tools that is imitated.
const toolsVersion = "1.8.9"

// Options are what New takes. The zero value is the legacy tools of version 1.8.9 in a namespace of their own with the real clock.
type Options struct {
	Dialect netfilter.Dialect
	// Version is what the tools say theirs is; "" is 1.8.9.
	Version string
	// Namespace is where the tools run: with others there they share the objects that rules name, wait for one another, and those of nft warn
	// of rules of the legacy tools. It has no tools of the dialect yet. Nil is one of their own.
	Namespace *netfilter.Namespace
	// Clock dates the comments of iptables-save. It is the clock of a namespace of their own; a Namespace that is given has one.
	Clock clock.PassiveClock
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
	return &GateError{Status: xtables.StatusResource, Text: fmt.Sprintf("Can't lock %s: Resource temporarily unavailable\n"+
		"Another app is currently holding the xtables lock. Stopped waiting after %ds.\n", lockFile, seconds)}
}

// Error is the text.
func (g *GateError) Error() string { return strings.TrimSpace(g.Text) }

// Kernel is the tools of one dialect in a network namespace, and the rulesets that they have given the kernel there.
// It is safe for concurrent use: tools wait for one another as the real ones do for their lock, and readers of Ruleset never wait.
type Kernel struct {
	namespace *netfilter.Namespace
	dialect   netfilter.Dialect
	version   string
	gate      func(Visit) error
	etc       fs.FS
	idle      idleParsers
	rulesets  [2]atomic.Pointer[ruleset.Ruleset]
	// rateMatches is set once a rule may have had --hashlimit-rate-match.
	rateMatches  atomic.Bool
	guests       guestTables
	surroundings ruleset.Surroundings
}

// New returns tools of which none has run.
func New(o Options) *Kernel {
	k := &Kernel{namespace: o.Namespace, dialect: cmp.Or(o.Dialect, netfilter.Legacy), version: cmp.Or(o.Version, toolsVersion), gate: o.Gate,
		etc: o.Etc}
	if k.namespace == nil {
		k.namespace = netfilter.New(o.Clock)
	}
	k.surroundings = ruleset.Surroundings{Namespace: k.namespace, RateMatches: &k.rateMatches, Rulesets: k.allRulesets}
	for _, f := range netfilter.Families() {
		k.rulesets[indexOf(f)].Store(ruleset.New(f, k.dialect))
	}
	k.namespace.Join(k)
	return k
}

// Kernels are the tools of iptables' dialects in a namespace, in the order in which they came there; without a namespace there are none.
func Kernels(n *netfilter.Namespace) []*Kernel {
	if n == nil {
		return nil
	}
	var kernels []*Kernel
	for _, t := range n.Tools() {
		if k, is := t.(*Kernel); is {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// First is the first of Kernels; nil if there is none.
func First(n *netfilter.Namespace) *Kernel {
	if kernels := Kernels(n); len(kernels) > 0 {
		return kernels[0]
	}
	return nil
}

func indexOf(f netfilter.Family) int {
	if f == netfilter.IPv6 {
		return 1
	}
	return 0
}

// Dialect is the kind of tools the kernel has.
func (k *Kernel) Dialect() netfilter.Dialect { return k.dialect }

// Namespace is where the tools run.
func (k *Kernel) Namespace() *netfilter.Namespace { return k.namespace }

// Ruleset is the family's ruleset as it is now. It never changes; later commits make others.
func (k *Kernel) Ruleset(f netfilter.Family) *ruleset.Ruleset { return k.rulesets[indexOf(f)].Load() }

// Rules is Ruleset.
func (k *Kernel) Rules(f netfilter.Family) netfilter.Ruleset { return k.Ruleset(f) }

// allRulesets are the rulesets of both families, first the kernel's own, then those of the other dialect.
func (k *Kernel) allRulesets() []*ruleset.Ruleset {
	var all []*ruleset.Ruleset
	for _, of := range append([]*Kernel{k}, k.others()...) {
		for _, f := range netfilter.Families() {
			all = append(all, of.Ruleset(f))
		}
	}
	return all
}

// others are the tools of the other dialect in the namespace.
func (k *Kernel) others() []*Kernel {
	return slices.DeleteFunc(Kernels(k.namespace), func(other *Kernel) bool { return other == k })
}

// store makes a table the current one.
func (k *Kernel) store(f netfilter.Family, t *ruleset.Table) {
	t.Register(k.dialect, k.namespace.NextTurn)
	if k.dialect == netfilter.NFT {
		t.NumberTable(k.namespace.NextTable)
	}
	k.rulesets[indexOf(f)].Store(k.Ruleset(f).With(t))
}

// Adopt gives the kernel a ruleset that another one has, in the place of its own for that family. Both must have the same dialect, and the
// objects that rules name must be there.
func (k *Kernel) Adopt(rs *ruleset.Ruleset) error {
	if rs.Dialect() != k.dialect {
		return fmt.Errorf("a ruleset of the %s tools does not fit a kernel with the %s tools", rs.Dialect(), k.dialect)
	}
	for _, t := range rs.Tables() {
		k.namespace.PassTurn(t.LastTurn())
		k.namespace.PassTable(t.Handle())
	}
	k.namespace.AddLabels()
	k.rateMatches.Store(true)
	k.rulesets[indexOf(rs.Family())].Store(rs)
	return nil
}

// edit begins to change a table, of which it expects to look at so many chains. native is the table if it is not the tools' own.
func (k *Kernel) edit(f netfilter.Family, kind *ruleset.Kind, native *nativeTable, expect int) *ruleset.Edit {
	rs := k.Ruleset(f)
	if native != nil && native.table != nil {
		rs = rs.With(native.table)
	}
	return rs.Edit(kind, expect, &k.surroundings)
}

// commit checks an edit and makes its table the current one.
func (k *Kernel) commit(f netfilter.Family, e *ruleset.Edit, native *nativeTable) error {
	t, err := e.Commit()
	switch {
	case err != nil:
		return err
	case native != nil:
		return k.commitNative(native, e, t)
	case t != nil:
		k.store(f, t)
	case e.Flushed:
		// The nft tools take a table away that they flush.
		k.rulesets[indexOf(f)].Store(k.Ruleset(f).Without(e.Kind))
	}
	return nil
}

// ensure makes the table be there, as the legacy tools do by looking at it.
func (k *Kernel) ensure(f netfilter.Family, kind *ruleset.Kind) {
	if k.dialect == netfilter.Legacy && k.Ruleset(f).Table(kind.Name) == nil {
		k.store(f, ruleset.NewTable(kind))
	}
}

// Register makes a built-in chain the one that was registered last, so that packets meet it before that of the other dialect. It is for
// rules that were loaded in another order than the one in which they came to be. A chain that the kernel has not is an error.
func (k *Kernel) Register(f netfilter.Family, table, chain string) error {
	k.namespace.Lock()
	defer k.namespace.Unlock()
	old := k.Ruleset(f).Table(table)
	if old == nil || old.Registered(chain) == 0 {
		return fmt.Errorf("the kernel has no chain %s in a table %s of the %s tools", chain, table, k.dialect)
	}
	k.store(f, old.WithoutTurn(chain))
	return nil
}
