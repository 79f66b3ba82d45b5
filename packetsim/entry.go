package packetsim

import (
	"cmp"
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// entry is one thing that a hook does with a packet (struct nf_hook_ops): a part of conntrack, NAT, or a chain of rules.
type entry struct {
	priority netfilter.Priority
	// turn is when it was registered: of two entries of one priority the later one is run first (nf_hook_entries_grow in
	// net/netfilter/core.c).
	turn uint64
	// run is false if the packet goes no further.
	run func(w *walk, s *skb) bool
	// what it is, for readers that do not walk.
	what HookEntry
}

// hookEntries are the entries of each hook, in the order in which they are run once they are sorted.
type hookEntries [netfilter.NumHooks][]entry

func (e *hookEntries) add(at hook, one entry) { e[at] = append(e[at], one) }

func (e *hookEntries) sort() {
	for _, entries := range e {
		slices.SortStableFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.turn, a.turn))
		})
	}
}

// earliest is the turn of the entry that was registered first.
func (e *hookEntries) earliest() uint64 {
	earliest := uint64(math.MaxUint64)
	for _, entries := range e {
		for i := range entries {
			earliest = min(earliest, entries[i].turn)
		}
	}
	return earliest
}

// run takes the packet through a hook. It is false if the packet goes no further.
func (e *hookEntries) run(w *walk, s *skb, at hook) bool {
	entries := e[at]
	for i := range entries {
		if !entries[i].run(w, s) || w.err != nil {
			return false
		}
	}
	return true
}

// addConntrack adds what conntrack has at the hooks, when it looks at the packets (ipv4_conntrack_ops in
// net/netfilter/nf_conntrack_proto.c). Packets are whole here, and connections have no helpers that would look into them: nothing is run
// at the priorities of either.
func (e *hookEntries) addConntrack(tracks bool) {
	if tracks {
		for _, at := range [...]hook{preRouting, output} {
			e.add(at, entry{priority: netfilter.PriorityConntrack, what: HookEntry{Kind: EntryConntrack},
				run: func(w *walk, s *skb) bool { return w.conntrack.track(s) }})
		}
	}
	for _, at := range [...]hook{input, postRouting} {
		e.add(at, entry{priority: netfilter.PriorityConfirm, what: HookEntry{Kind: EntryConfirm},
			run: func(w *walk, s *skb) bool { return w.conntrack.confirm(s) }})
	}
}

// addNAT adds the translation of addresses (nf_nat_ipv4_ops in net/netfilter/nf_nat_proto.c), which runs the chains of its own for the
// first packet of a connection. It is there since the first of its chains was registered (nf_nat_register_fn).
func (e *hookEntries) addNAT(chains *hookEntries, turn uint64) {
	for _, of := range [...]struct {
		side     conntrack.Side
		priority netfilter.Priority
		hooks    [2]hook
	}{
		{conntrack.Destination, netfilter.PriorityNATDst, [...]hook{preRouting, output}},
		{conntrack.Source, netfilter.PriorityNATSrc, [...]hook{input, postRouting}},
	} {
		for _, at := range of.hooks {
			own := chains[at]
			what := HookEntry{Kind: EntryNAT, Side: of.side, Chains: chainsOf(own)}
			e.add(at, entry{priority: of.priority, turn: turn, what: what,
				run: func(w *walk, s *skb) bool { return w.translateAt(s, of.side, own) }})
		}
	}
}
