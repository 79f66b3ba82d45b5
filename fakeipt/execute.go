package fakeipt

import (
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// execution carries commands out on a table that is being edited.
type execution struct {
	caller
	edit        *ruleset.Edit
	cells       xtables.Slab[ruleCell]
	lastMatches []xtables.Match
	room        []xtables.Match // for the matches of rules
	out         []byte          // what the commands print
	labels      int             // of connections, in rules that -v prints
	namesakes   *[]string       // chains of the table that have the name of a target; nil: not looked for yet
	native      *nativeTable    // the table, if it is not the tools' own
}

// onNative looks at a table that is not the tools' own before a command does, and says why the tools do not carry it out.
func (x *execution) onNative(c *command) error {
	n := x.native
	if n == nil {
		return nil
	}
	if c.op != 'L' && c.op != 'S' {
		return n.known()
	}
	chain := ""
	if c.chainGiven {
		chain = c.chain
	}
	if err := n.listable(chain); err != nil {
		return err
	}
	if n.others && !c.chainGiven {
		x.out = append(x.out, oddChains(n.kind.Name)...)
	}
	return nil
}

// print writes what the commands print.
func (x *execution) print(stdout io.Writer) error {
	for ; x.labels > 0; x.labels-- {
		x.Warn(match.NoLabelNames)
	}
	if len(x.out) == 0 {
		return nil
	}
	_, err := stdout.Write(x.out)
	x.out = x.out[:0]
	return err
}

// run carries one command out.
func (x *execution) run(c *command) error {
	e := x.edit
	switch c.op {
	case 'A', 'I', 'R', 'C':
		return x.ruleCommand(c)
	case 'D':
		if c.number > 0 {
			return x.deleteNumber(c)
		}
		return x.ruleCommand(c)
	case 'N':
		return e.CreateChain(c.chain)
	case 'X':
		return x.deleteChains(c)
	case 'E':
		return e.RenameChain(c.chain, c.newName)
	case 'P':
		return x.policy(c)
	case 'F':
		return x.flush(c)
	case 'Z':
		return x.zero(c)
	}
	return x.listAndZero(c)
}

func (x *execution) policy(c *command) error {
	e := x.edit
	counters := &netfilter.Counters{}
	if c.spec.counters && e.Dialect == netfilter.Legacy {
		counters.Set(c.spec.packets, c.spec.bytes)
	}
	return e.SetPolicy(c.chain, c.policy, counters)
}

func (x *execution) deleteChains(c *command) error {
	e := x.edit
	if c.chainGiven {
		if s, err := e.Chain(c.chain); e.Dialect == netfilter.Legacy || err == nil && s.Hook == 0 {
			x.tell(c, "Deleting", c.chain)
		}
		return e.DeleteChain(c.chain)
	}
	if !e.Exists {
		return nil
	}
	for _, name := range e.UserChains() {
		x.tell(c, "Deleting", name)
	}
	return e.DeleteAllChains()
}

// tell prints what -v prints about a chain.
func (x *execution) tell(c *command, deed, chain string) {
	if c.verbose > 0 {
		x.out = fmt.Appendf(x.out, "%s chain `%s'\n", deed, chain)
	}
}

// chainsOf are the chains that a command deals with: the one that it names, or else all.
func (x *execution) chainsOf(c *command, deed string, all func() []*ruleset.Slot) ([]*ruleset.Slot, error) {
	if !c.chainGiven {
		return all(), nil
	}
	s, err := x.edit.Chain(c.chain)
	if err != nil {
		if x.edit.Dialect == netfilter.Legacy {
			x.tell(c, deed, c.chain)
		}
		return nil, err
	}
	return []*ruleset.Slot{s}, nil
}

func (x *execution) flush(c *command) error {
	e := x.edit
	if (c.chainGiven || c.verbose > 0) && e.Dialect == netfilter.NFT {
		e.MakeBuiltins(c.chain, c.chainGiven)
	}
	chains, err := x.chainsOf(c, "Flushing", e.AllChains)
	if err != nil || !e.Exists || !e.Known && !c.chainGiven && c.verbose == 0 {
		return err
	}
	e.Emptied = e.Emptied || !c.chainGiven && c.verbose == 0
	for _, s := range chains {
		x.tell(c, "Flushing", s.Name)
		e.FlushChain(s)
	}
	return nil
}

// announceFlush prints what a restore with -v prints about the chains that it is to take away (legacy).
func (x *execution) announceFlush(c *command) {
	for _, s := range x.edit.AllChains() {
		x.tell(c, "Flushing", s.Name)
	}
	for _, name := range x.edit.UserChains() {
		x.tell(c, "Deleting", name)
	}
}

func (x *execution) zero(c *command) error {
	e := x.edit
	if c.op == 'Z' && c.number > 0 {
		return x.zeroRule(c)
	}
	chains, err := x.chainsOf(c, "Zeroing", e.MadeChains)
	if err != nil {
		return err
	}
	for _, s := range chains {
		x.tell(c, "Zeroing", s.Name)
		e.Zero(s, -1)
	}
	return nil
}

// zeroRule is -Z with the number of a rule.
func (x *execution) zeroRule(c *command) error {
	e := x.edit
	s, err := e.Chain(c.chain)
	switch {
	case err != nil && e.Dialect == netfilter.NFT:
		return ruleset.ErrBadRule
	case err != nil:
		return err
	case c.number > len(s.CurrentRules()) && e.Dialect == netfilter.NFT:
		return nil
	case c.number > len(s.CurrentRules()):
		return ruleset.ErrCounterIndex
	}
	e.Zero(s, c.number-1)
	return nil
}
