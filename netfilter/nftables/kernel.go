package nftables

import (
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Kernel is the nf_tables of a network namespace. It is safe for concurrent use.
type Kernel struct {
	clock    clock.PassiveClock
	nextTurn func() uint64
	space    *netfilter.Namespace // nil for a kernel that is in none
	lock     sync.RWMutex         // written by transactions and by overlays that are committed
	state    atomic.Pointer[State]
	speller  atomic.Pointer[Speller]
	// noFlowtables: the kernel was built without them.
	noFlowtables bool
	// What goes on being counted even if a transaction is undone: tables, and chains without a name.
	tableHandle, chainNames uint64
}

// New is a kernel without tables. Its clock times elements; nextTurn gives base chains their turns (netfilter.Namespace.NextTurn).
func New(c clock.PassiveClock, nextTurn func() uint64) *Kernel {
	k := &Kernel{clock: c, nextTurn: nextTurn}
	k.state.Store((&State{Generation: 1}).sealed())
	return k
}

// OmitFlowtables makes it a kernel that was built without flowtables (CONFIG_NF_FLOW_TABLE). It is for a kernel that has no tables yet.
func (k *Kernel) OmitFlowtables() {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.noFlowtables = true
}

// sealed completes a new state.
func (s *State) sealed() *State {
	s.rulesets = [2]Ruleset{{s, netfilter.IPv4}, {s, netfilter.IPv6}}
	return s
}

// Clock is what times the elements of sets.
func (k *Kernel) Clock() clock.PassiveClock { return k.clock }

// State is what the kernel holds now.
func (k *Kernel) State() *State { return k.state.Load() }

// Commit carries out the changes in their order, all or none: if it gives refusals, none. It gives all of them, as the kernel does, which
// goes on behind a change that it refuses.
func (k *Kernel) Commit(changes []Change) []Refusal { return k.transact(changes, true) }

// Check says what Commit would refuse, and changes nothing.
func (k *Kernel) Check(changes []Change) []Refusal { return k.transact(changes, false) }
