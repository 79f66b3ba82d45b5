package netfilter

import (
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter/ipset"
	"github.com/chainwalk/chainwalk/netfilter/nfacct"
)

// Namespace is the netfilter configuration of one network namespace: what the rules of every language share, and the tools of each
// language, which hold its rules. It is safe for concurrent use.
type Namespace struct {
	clock    clock.PassiveClock
	lock     sync.Mutex // held by a tool that reads and then writes
	turns    atomic.Uint64
	tables   atomic.Uint64
	sets     *ipset.Table
	accounts *nfacct.Table
	// accounting is set once a rule has asked for the packets and bytes of connections, and labels once one may have had a label of theirs.
	accounting, labels atomic.Bool
	joining            sync.Mutex
	tools              atomic.Pointer[[]Tools]
}

// Tools are a language's tools in a namespace, with the rules that they have given the kernel.
type Tools interface {
	// Rules are the rules of a family as they are now.
	Rules(Family) Ruleset
}

// Ruleset is what the kernel was given in one language for one family. It never changes: a commit makes another one, which differs by ==.
type Ruleset interface {
	// BaseChains are the chains of the ruleset that packets meet at the hooks, in no order.
	BaseChains() []BaseChain
	// CountSets adds how often rules name each set.
	CountSets(count map[string]int)
	// NoteAccounts notes the accounting objects that rules name.
	NoteAccounts(used map[string]bool)
}

// New returns a namespace in which no tool has run. Its clock times the elements of sets and dates what tools print; nil is the real one.
func New(c clock.PassiveClock) *Namespace {
	if c == nil {
		c = clock.RealClock{}
	}
	n := &Namespace{clock: c, sets: ipset.NewTable(c), accounts: nfacct.NewTable()}
	n.tools.Store(&[]Tools{})
	return n
}

// Clock is the namespace's clock.
func (n *Namespace) Clock() clock.PassiveClock { return n.clock }

// Lock waits for the tool that is at work, and keeps others from beginning until Unlock. Who only reads a ruleset needs no lock.
func (n *Namespace) Lock() { n.lock.Lock() }

// Unlock lets the next tool begin.
func (n *Namespace) Unlock() { n.lock.Unlock() }

// Sets are the sets that rules name.
func (n *Namespace) Sets() *ipset.Table { return n.sets }

// Accounts are the accounting objects that rules name.
func (n *Namespace) Accounts() *nfacct.Table { return n.accounts }

// NextTurn is the turn at which a base chain is registered now: greater than each one before.
func (n *Namespace) NextTurn() uint64 { return n.turns.Add(1) }

// PassTurn makes turns that come greater than one that another namespace has given.
func (n *Namespace) PassTurn(turn uint64) { n.turns.Store(max(n.turns.Load(), turn)) }

// NextTable is the handle of a table of nf_tables that is made now: greater than each one before.
func (n *Namespace) NextTable() uint64 { return n.tables.Add(1) }

// LastTable is the handle of the table that was made last; 0 if there was none.
func (n *Namespace) LastTable() uint64 { return n.tables.Load() }

// PassTable makes handles that come greater than one that was given before.
func (n *Namespace) PassTable(handle uint64) { n.tables.Store(max(n.tables.Load(), handle)) }

// ForceAccounting notes that a rule asks for the packets and bytes of connections.
func (n *Namespace) ForceAccounting() { n.accounting.Store(true) }

// ForcesAccounting says that some rule has asked for the packets and bytes of connections, since when the kernel counts those
// of all new ones (net/netfilter/xt_connbytes.c).
func (n *Namespace) ForcesAccounting() bool { return n.accounting.Load() }

// AddLabels notes that a rule may have a label of connections.
func (n *Namespace) AddLabels() { n.labels.Store(true) }

// HasLabels says whether some rule may have had a label of connections.
func (n *Namespace) HasLabels() bool { return n.labels.Load() }

// Join adds tools to the namespace.
func (n *Namespace) Join(t Tools) {
	n.joining.Lock()
	defer n.joining.Unlock()
	n.join(t)
}

func (n *Namespace) join(t Tools) {
	joined := append(slices.Clip(*n.tools.Load()), t)
	n.tools.Store(&joined)
}

// JoinOnce is the first of the tools that is says yes to; if there is none, those that made makes join the namespace.
func (n *Namespace) JoinOnce(is func(Tools) bool, made func() Tools) Tools {
	n.joining.Lock()
	defer n.joining.Unlock()
	for _, t := range n.Tools() {
		if is(t) {
			return t
		}
	}
	t := made()
	n.join(t)
	return t
}

// Tools are the tools of every language in the order in which they joined; not to be written to.
func (n *Namespace) Tools() []Tools { return *n.tools.Load() }

// NamedSets counts how often rules of every language name each set.
func (n *Namespace) NamedSets() map[string]int {
	count := map[string]int{}
	for _, t := range n.Tools() {
		for _, f := range Families() {
			t.Rules(f).CountSets(count)
		}
	}
	return count
}

// NamedAccounts are the accounting objects that rules of any language name.
func (n *Namespace) NamedAccounts() map[string]bool {
	used := map[string]bool{}
	for _, t := range n.Tools() {
		for _, f := range Families() {
			t.Rules(f).NoteAccounts(used)
		}
	}
	return used
}
