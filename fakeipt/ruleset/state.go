package ruleset

import (
	"errors"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/record"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ErrOtherState says that a program whose matches and targets are other types has written a state.
var ErrOtherState = record.ErrOther

// StateTable is one table of a ruleset as AppendState has written it.
type StateTable struct {
	// Name is the table's, as -t has it.
	Name string
	// Tied says that some of its rules were checked together with those of other tables: no table can be read without the others then.
	Tied bool
	// Text is all that was written of the table. Tables are written one after the other, so that each can be written again as it stands.
	Text []byte

	rules, chains []byte // records: the chainRules, and a tableState
}

// tableState is what the state says of a table beside the rules.
type tableState struct {
	Made, Counted xtables.HookMask
	Handles       handles
	Chains        []chainState
}

// chainState is what the state says of a chain beside its rules.
type chainState struct {
	Name     string
	Policy   Policy
	Counters *netfilter.Counters // nil for a user-defined chain
	Refs     int32
	Reached  hookCounts
	Place    uint64 // of its rules, in the record of them
	Handle   uint64
}

// chainRules are the rules of a chain.
type chainRules struct{ Rules []*xtables.Rule }

// tied is a match or target that the kernel checks together with those of other tables.
type tied interface{ Tied() }

// AppendState appends the name and the two records, each behind its length; a byte behind the name says whether the table is tied.
func (t *Table) AppendState(dst []byte) []byte {
	state := tableState{Made: t.made, Counted: t.counted, Handles: t.handles, Chains: make([]chainState, 0, t.chains.count)}
	dst = appendSized(dst, t.kind.Name)
	tied := len(dst)
	dst = append(dst, 0)
	dst, end := beginSized(dst, t.RuleCount()*roomOfRule)
	rules := stateTypes().Writer(dst, t.RuleCount())
	for c := range t.Chains() {
		e := t.chains.get(c.Name)
		state.Chains = append(state.Chains,
			chainState{c.Name, c.Policy, c.Counters, e.refs, e.reached, uint64(rules.Len()), c.handle})
		if slices.ContainsFunc(c.Rules, isTied) {
			dst[tied] = 1
		}
		rules.Write(&chainRules{c.Rules})
	}
	dst, end = beginSized(end(rules.Record()), t.chains.count*roomOfChain)
	chains := stateTypes().Writer(dst, 0)
	chains.Write(&state)
	return end(chains.Record())
}

// The bytes for which room is made for a rule and for a chain, of which most have fewer.
const (
	roomOfRule  = 64
	roomOfChain = 64
)

// isTied says that the rule was checked together with those of other tables.
func isTied(r *xtables.Rule) bool {
	_, is := r.Target.(tied)
	return is || slices.ContainsFunc(r.Matches, func(m xtables.Match) bool { _, is := m.(tied); return is })
}

// StateTables takes what AppendState has appended apart.
func StateTables(text []byte) ([]StateTable, error) {
	var tables []StateTable
	for len(text) > 0 {
		t, rest, err := cutTable(text)
		if err != nil {
			return nil, err
		}
		tables, text = append(tables, t), rest
	}
	return tables, nil
}

func cutTable(text []byte) (t StateTable, rest []byte, err error) {
	name, rest, err := cutSized(text)
	if err != nil || len(rest) == 0 {
		return t, nil, errTableEnds
	}
	t.Name, t.Tied = string(name), rest[0] != 0
	if t.rules, rest, err = cutSized(rest[1:]); err != nil {
		return t, nil, err
	}
	if t.chains, rest, err = cutSized(rest); err != nil {
		return t, nil, err
	}
	size := len(text) - len(rest)
	t.Text = text[:size:size]
	return t, rest, nil
}

// errTableState is a state that is whole, but of no table that there can be.
var errTableState = errors.New("the chains do not belong to the table")

// Read makes the table.
func (s *StateTable) Read(chains []string) (*Table, error) {
	t := &Table{id: &TableID{}, kind: FindKind(s.Name), order: &chainOrder{}}
	var state tableState
	if err := readRecord(s.chains, &state); err != nil {
		return nil, err
	}
	if t.kind == nil {
		return nil, errTableState
	}
	rules, err := stateTypes().Reader(s.rules)
	if err != nil {
		return nil, err
	}
	t.made, t.counted, t.handles = state.Made, state.Counted, state.Handles
	t.chains = (&chainMap{}).edit(len(state.Chains))
	var builtins xtables.HookMask
	for i := range state.Chains {
		c := &state.Chains[i]
		hook := t.kind.hookOf(c.Name)
		if !c.fits(hook) {
			return nil, errTableState
		}
		builtins |= hook
		if chains != nil && hook == 0 && !slices.Contains(chains, c.Name) {
			continue
		}
		chain := &Chain{Name: c.Name, Policy: c.Policy, Counters: c.Counters, handle: c.Handle}
		if chains == nil || c.Name == chains[0] {
			rules.Seek(int(c.Place))
			if chain.Rules, err = readRules(rules); err != nil {
				return nil, err
			}
		}
		t.chains.set(chainEntry{chain: chain, hash: hashName(c.Name), refs: c.Refs, reached: c.Reached})
	}
	if builtins != t.kind.hooks {
		return nil, errTableState
	}
	return t, nil
}

// readRecord reads the only value of a record.
func readRecord(text []byte, v any) error {
	r, err := stateTypes().Reader(text)
	if err != nil {
		return err
	}
	return r.Read(v)
}

// fits says whether a chain can be the built-in one of that hook, or one without a hook.
func (c *chainState) fits(hook xtables.HookMask) bool {
	builtin := c.Policy == PolicyAccept || c.Policy == PolicyDrop
	return builtin == (hook != 0) && (c.Counters != nil) == builtin && (builtin || c.Policy == PolicyNone)
}

// readRules reads the rules of a chain.
func readRules(from *record.Reader) ([]*xtables.Rule, error) {
	var read chainRules
	if err := from.Read(&read); err != nil {
		return nil, err
	}
	for _, r := range read.Rules {
		if r == nil || r.Counters == nil || slices.Contains(r.Matches, nil) {
			return nil, errTableState
		}
	}
	return read.Rules, nil
}
