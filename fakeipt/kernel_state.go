package fakeipt

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// AppendState appends the tables of a family so that ReadState makes them again, just as they are.
func (k *Kernel) AppendState(dst []byte, f netfilter.Family) []byte {
	for _, t := range k.Ruleset(f).Tables() {
		dst = t.AppendState(dst)
	}
	return dst
}

// ReadState fills a kernel on which no tool has run with tables of a family. Objects that rules name are to be read before. With names of
// chains no more is read than the rules of the first of them, and which of the others and of the built-in chains are there.
func (k *Kernel) ReadState(f netfilter.Family, tables []ruleset.StateTable, chains []string) error {
	read := make([]*ruleset.Table, len(tables))
	// The legacy tools have the table first that was made last.
	for i, t := range slices.Backward(tables) {
		table, err := t.Read(chains)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		table.Register(k.dialect, k.namespace.NextTurn)
		k.namespace.PassTable(table.Handle())
		read[i] = table
	}
	rs := ruleset.New(f, k.dialect, read...)
	k.noteRules(rs)
	k.rulesets[indexOf(f)].Store(rs)
	return nil
}

// noteRules notes what the kernel keeps in mind of the rules that it has had.
func (k *Kernel) noteRules(rs *ruleset.Ruleset) {
	// What is said of labels is looked for in each rule.
	k.namespace.AddLabels()
	k.rateMatches.Store(true)
	for r := range rs.Rules {
		if slices.ContainsFunc(r.Matches, func(m xtables.Match) bool { _, counts := m.(*match.Connbytes); return counts }) {
			k.namespace.ForceAccounting()
		}
	}
}
