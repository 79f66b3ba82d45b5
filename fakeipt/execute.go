package fakeipt

import (
	"fmt"
	"io"

	"github.com/chainwalk/chainwalk/netfilter"
)

// execution carries commands out on a table that is being edited.
type execution struct {
	caller
	edit        *tableEdit
	cells       slab[ruleCell]
	lastMatches []Match
	room        []Match   // for the matches of rules
	out         []byte    // what the commands print
	labels      int       // of connections, in rules that -v prints
	namesakes   *[]string // chains of the table that have the name of a target; nil: not looked for yet
}

// print writes what the commands print.
func (x *execution) print(stdout io.Writer) error {
	for ; x.labels > 0; x.labels-- {
		x.warn(noLabelNames)
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
		return e.createChain(c.chain)
	case 'X':
		return x.deleteChains(c)
	case 'E':
		return e.renameChain(c.chain, c.newName)
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
	if c.spec.counters && e.dialect == netfilter.Legacy {
		counters.Set(c.spec.packets, c.spec.bytes)
	}
	return e.setPolicy(c.chain, c.policy, counters)
}

func (x *execution) deleteChains(c *command) error {
	e := x.edit
	if c.chainGiven {
		if s, err := e.chain(c.chain); e.dialect == netfilter.Legacy || err == nil && s.hook == 0 {
			x.tell(c, "Deleting", c.chain)
		}
		return e.deleteChain(c.chain)
	}
	if !e.exists {
		return nil
	}
	for _, name := range e.userChains() {
		x.tell(c, "Deleting", name)
	}
	return e.deleteAllChains()
}

// tell prints what -v prints about a chain.
func (x *execution) tell(c *command, deed, chain string) {
	if c.verbose > 0 {
		x.out = fmt.Appendf(x.out, "%s chain `%s'\n", deed, chain)
	}
}

// chainsOf are the chains that a command deals with: the one that it names, or else all.
func (x *execution) chainsOf(c *command, deed string, all func() []*chainSlot) ([]*chainSlot, error) {
	if !c.chainGiven {
		return all(), nil
	}
	s, err := x.edit.chain(c.chain)
	if err != nil {
		if x.edit.dialect == netfilter.Legacy {
			x.tell(c, deed, c.chain)
		}
		return nil, err
	}
	return []*chainSlot{s}, nil
}

func (x *execution) flush(c *command) error {
	e := x.edit
	if (c.chainGiven || c.verbose > 0) && e.dialect == netfilter.NFT {
		e.makeBuiltins(c.chain, c.chainGiven)
	}
	chains, err := x.chainsOf(c, "Flushing", e.allChains)
	if err != nil || !e.exists || !e.known && !c.chainGiven && c.verbose == 0 {
		return err
	}
	for _, s := range chains {
		x.tell(c, "Flushing", s.name)
		e.flushChain(s)
	}
	return nil
}

// announceFlush prints what a restore with -v prints about the chains that it is to take away (legacy).
func (x *execution) announceFlush(c *command) {
	for _, s := range x.edit.allChains() {
		x.tell(c, "Flushing", s.name)
	}
	for _, name := range x.edit.userChains() {
		x.tell(c, "Deleting", name)
	}
}

func (x *execution) zero(c *command) error {
	e := x.edit
	if c.op == 'Z' && c.number > 0 {
		return x.zeroRule(c)
	}
	chains, err := x.chainsOf(c, "Zeroing", e.madeChains)
	if err != nil {
		return err
	}
	for _, s := range chains {
		x.tell(c, "Zeroing", s.name)
		e.zero(s, -1)
	}
	return nil
}

// zeroRule is -Z with the number of a rule.
func (x *execution) zeroRule(c *command) error {
	e := x.edit
	s, err := e.chain(c.chain)
	switch {
	case err != nil && e.dialect == netfilter.NFT:
		return errBadRule
	case err != nil:
		return err
	case c.number > len(s.currentRules()) && e.dialect == netfilter.NFT:
		return nil
	case c.number > len(s.currentRules()):
		return errCounterIndex
	}
	e.zero(s, c.number-1)
	return nil
}
