package ruleset

import (
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// FreshCounts counts from the hooks, in a table that an edit has just begun to look at, how many rules lead to each chain. It is an errno
// if the kernel would refuse the table.
func FreshCounts(rs *Ruleset, t *Table) (map[string][netfilter.NumHooks]int32, syscall.Errno) {
	e := rs.Edit(t.kind, 0, &Surroundings{})
	errno := e.fullUpdate()
	counts := map[string][netfilter.NumHooks]int32{}
	for c := range t.Chains() {
		counts[c.Name] = e.SlotOf(c.Name).reached
	}
	return counts, errno
}

// ChainState is what a state says of a chain.
type ChainState = chainState

// StateOf is the state of a table of that name, whatever its chains are.
func StateOf(name string, chains ...ChainState) StateTable {
	w := stateTypes().Writer(nil, 0)
	w.Write(&tableState{Chains: chains})
	return StateTable{Name: name, chains: w.Record(), rules: stateTypes().Writer(nil, 0).Record()}
}

// StateOfRecord is the state of a table of that name, with any record in the place of that of the chains.
func StateOfRecord(name string, record []byte) StateTable {
	return StateTable{Name: name, chains: record}
}
